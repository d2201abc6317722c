//! What the shell of another host does: it finds a folder, takes the agent from its standard input, runs it as a keeper
//! and removes what is left, however that ends.
//!
//! The keeper removes its own file as soon as it runs; the shell stays for what may be before that. Whatever a login
//! shell is, it is asked for nothing but `exec sh -c '…'`: one line, no quote and no backslash within.

use std::env;

use rustix::rand::{GetRandomFlags, getrandom};
use tollway_core::{Error, Result};

/// The environment variable that names the folder of the other host in which the agent is put for a moment.
pub const FOLDER: &str = "TOLLWAY_SSH_FOLDER";

/// What a line of the shell begins with that says why it does not go on.
pub(super) const REFUSED: &str = "tollway-refused";

/// Seconds that the copy may take before the shell gives up: a network may vanish without a word.
const COPYING: u32 = 300;

/// Kernels from this on have what agents use (pidfd_open(2): Linux 5.3).
const OLDEST: (u32, u32) = (5, 3);

const SCRIPT: &str = r#"umask 077; w=REFUSED;
for p in uname cut tr df mkdir chmod rm rmdir timeout head wc; do command -v $p >/dev/null 2>&1 || { echo "$w program $p" >&2; exit 1; }; done;
s=$(uname -sm); [ "$s" = "Linux x86_64" ] || { echo "$w system $s" >&2; exit 1; };
r=$(uname -r); m=${r%%.*}; n=$(echo "$r" | cut -d. -f2 | cut -d- -f1 | tr -dc 0-9);
[ "$m" -gt MAJOR ] || [ "$m" -eq MAJOR -a "${n:-0}" -ge MINOR ] || { echo "$w kernel $r" >&2; exit 1; };
d=; y=; gone() { [ -z "$d" ] || { rm -f "$d/agent"; rmdir "$d" 2>/dev/null; }; };
trap gone 0; trap "exit 1" 1 2 15;
f="GIVEN";
if [ -n "$f" ]; then set -- "$f"; else set -- "$TMPDIR" /tmp /var/tmp /dev/shm "$HOME"; fi;
for f; do
[ -n "$f" ] || continue;
k=$(df -Pk "$f" 2>/dev/null | { read a; read a b c k a; echo "$k"; });
[ -n "$k" ] || { y="$y, $f: it is not there"; continue; };
[ "$k" -ge KIB ] || { y="$y, $f: $k KiB are free and KIB wanted"; continue; };
t=$f/NAME; mkdir "$t" 2>/dev/null || { y="$y, $f: it may not be written to"; continue; };
d=$t; echo "exit 0" > "$d/agent" && chmod 700 "$d/agent";
"$d/agent" 2>/dev/null && break;
y="$y, $f: no program may run there (noexec)"; gone; d=; done;
[ -n "$d" ] || { echo "$w folder ${y#, }" >&2; exit 1; };
timeout COPYING head -c BYTES > "$d/agent";
h=$(wc -c < "$d/agent"); [ "$h" -eq BYTES ] || { echo "$w folder ${d%/*}: $h of BYTES bytes could be written" >&2; exit 1; };
"$d/agent" keep "$d"; exit $?"#;

/// The command for an agent of so many bytes.
///
/// # Errors
/// [`Error::Input`] where [`FOLDER`] names what could not be a folder.
pub(super) fn command(bytes: u64) -> Result<String> {
    let given = env::var(FOLDER).unwrap_or_default();
    with_folder(bytes, &given, &name()?)
}

/// What the agent's folder is called there. Nobody foresees it; where somebody has such a folder nevertheless, mkdir refuses.
fn name() -> Result<String> {
    let mut number = [0; 8];
    let drawn = getrandom(&mut number, GetRandomFlags::empty());
    drawn.map_err(|e| Error::system("drawing a number for the name of the agent's folder", e))?;
    Ok(format!("tollway.{:016x}", u64::from_ne_bytes(number)))
}

fn with_folder(bytes: u64, given: &str, name: &str) -> Result<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    if !(given.is_empty() || given.starts_with('/') && given.chars().all(plain)) {
        return Err(Error::Input {
            place: format!("{FOLDER}={given}"),
            reason: "it is no absolute path of plain letters".into(),
            remedy: "name a folder of the other host, such as /var/tmp".into(),
        });
    }
    let kib = bytes.div_ceil(1024) + 16;
    let script = SCRIPT
        .replace('\n', " ")
        .replace("REFUSED", REFUSED)
        .replace("MAJOR", &OLDEST.0.to_string())
        .replace("MINOR", &OLDEST.1.to_string())
        .replace("GIVEN", given)
        .replace("NAME", name)
        .replace("KIB wanted", &format!("{kib} are wanted"))
        .replace("KIB ]", &format!("{kib} ]"))
        .replace("COPYING", &COPYING.to_string())
        .replace("BYTES", &bytes.to_string());
    Ok(format!("exec sh -c '{script}'"))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;
    use std::path::Path;
    use std::process::{Command, Output, Stdio};

    use super::*;

    const NAME: &str = "tollway.0123456789abcdef";

    /// Runs the command as a login shell would, with these bytes as the agent; other programs are found in `first`.
    fn run(command: &str, agent: &[u8], temporary: &Path, first: Option<&Path>) -> Output {
        let path = env::var("PATH").unwrap();
        let path = first.map_or(path.clone(), |first| format!("{}:{path}", first.display()));
        let mut shell = Command::new("sh");
        shell.args(["-c", command]).env("TMPDIR", temporary).env("PATH", path);
        let mut shell =
            shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // Where it refuses it does not read.
        let _ = shell.stdin.take().unwrap().write_all(agent);
        shell.wait_with_output().unwrap()
    }

    fn is_empty(folder: &Path) -> bool {
        fs::read_dir(folder).unwrap().count() == 0
    }

    #[test]
    fn it_runs_what_it_is_sent_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let agent = b"echo \"$1 ${2##*/}\"; ls -ld \"$2\" \"$0\"; exit 7\n";
        let output = run(&with_folder(agent.len() as u64, "", NAME).unwrap(), agent, folder.path(), None);
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(said.starts_with("keep tollway."), "{said}");
        assert_eq!(said.matches("rwx------").count(), 2, "{said}");
        assert_eq!(output.status.code(), Some(7));
        assert!(is_empty(folder.path()));
    }

    #[test]
    fn a_folder_of_that_name_that_somebody_has_is_left_alone() {
        assert_ne!(name().unwrap(), name().unwrap());
        let folder = tempfile::tempdir().unwrap();
        let theirs = folder.path().join(NAME);
        fs::create_dir(&theirs).unwrap();
        fs::write(theirs.join("agent"), "of somebody else").unwrap();
        let output =
            run(&with_folder(9, folder.path().to_str().unwrap(), NAME).unwrap(), b"", folder.path(), None);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains("it may not be written to"), "{said}");
        assert_eq!(fs::read(theirs.join("agent")).unwrap(), b"of somebody else");
    }

    #[test]
    fn a_copy_that_is_cut_is_not_run() {
        let folder = tempfile::tempdir().unwrap();
        let output = run(&with_folder(100, "", NAME).unwrap(), b"echo it runs\n", folder.path(), None);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains("13 of 100 bytes"), "{said}");
        assert!(output.stdout.is_empty() && is_empty(folder.path()));
    }

    #[test]
    fn a_folder_without_room_or_that_is_not_there_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let output = run(&with_folder(1 << 60, "", NAME).unwrap(), b"", folder.path(), None);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.starts_with("tollway-refused folder /") && said.contains("KiB are free"), "{said}");
        let output = run(&with_folder(9, "/nowhere/at-all", NAME).unwrap(), b"", folder.path(), None);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains("/nowhere/at-all: it is not there"), "{said}");
        assert!(is_empty(folder.path()));
    }

    #[test]
    fn temporary_folder_that_does_not_serve_is_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let (agent, file) = (b"echo ${2%/*}\n", folder.path().join("file"));
        fs::write(&file, "").unwrap();
        for temporary in [Path::new("/nowhere/at-all"), Path::new(""), &file] {
            let name = name().unwrap();
            let output = run(&with_folder(agent.len() as u64, "", &name).unwrap(), agent, temporary, None);
            let other = String::from_utf8_lossy(&output.stdout).trim().to_owned();
            assert!(output.status.success() && other.starts_with('/'), "{temporary:?}: {output:?}");
            assert!(!Path::new(&other).starts_with(folder.path()) && !Path::new(&other).join(&name).exists());
        }
        // The one that a person named is the only one.
        let output = run(&with_folder(9, "/nowhere/at-all", NAME).unwrap(), b"", folder.path(), None);
        assert_eq!(output.stderr, b"tollway-refused folder /nowhere/at-all: it is not there\n");
    }

    #[test]
    fn program_that_the_shell_there_lacks_is_named() {
        let (folder, programs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let command = with_folder(9, "", NAME).unwrap();
        let shell = ["/bin/sh", "/usr/bin/sh"].into_iter().find(|shell| Path::new(shell).exists()).unwrap();
        for name in ["sh", "uname", "cut", "tr"] {
            let found = if name == "sh" { shell.into() } else { Path::new("/usr/bin").join(name) };
            std::os::unix::fs::symlink(found, programs.path().join(name)).unwrap();
        }
        let output =
            Command::new(shell).args(["-c", &command]).env("PATH", programs.path()).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "tollway-refused program df\n");
        assert!(is_empty(folder.path()));
    }

    #[test]
    fn another_system_and_an_old_kernel_are_told() {
        let (folder, programs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let uname = programs.path().join("uname");
        for (system, release, told) in [
            ("Linux aarch64", "6.1.0", Some("system Linux aarch64")),
            ("FreeBSD amd64", "14.1-RELEASE", Some("system FreeBSD amd64")),
            ("Linux x86_64", "5.2.21-rc1", Some("kernel 5.2.21-rc1")),
            ("Linux x86_64", "4.19.0-27-amd64", Some("kernel 4.19.0")),
            ("Linux x86_64", "5.3-foo", None),
            ("Linux x86_64", "7.0", None),
        ] {
            let text = format!("#!/bin/sh\n[ $1 = -r ] && echo '{release}' || echo '{system}'\n");
            fs::write(&uname, text).unwrap();
            Command::new("chmod").arg("700").arg(&uname).status().unwrap();
            let output =
                run(&with_folder(7, "", NAME).unwrap(), b"exit 9\n", folder.path(), Some(programs.path()));
            let said = String::from_utf8(output.stderr).unwrap();
            match told {
                Some(told) => assert!(said.contains(told), "{said}"),
                None => assert_eq!(output.status.code(), Some(9), "{said}"),
            }
        }
        assert!(is_empty(folder.path()));
    }

    #[test]
    fn what_could_break_out_of_the_command_is_refused() {
        for given in ["relative", "/a b", "/a'b", "/a$(x)", "/a\"b", "/a\\b", "/a\nb"] {
            let error = with_folder(1, given, NAME).unwrap_err().to_string();
            assert!(error.contains(FOLDER), "{error}");
        }
        let command = with_folder(1, "/var/tmp", NAME).unwrap();
        assert_eq!(command.matches('\'').count(), 2);
        assert!(!command.contains(['\n', '\\', '!']), "{command}");
        assert!(
            ["MAJOR", "MINOR", "KIB", "BYTES", "COPYING", "GIVEN", "NAME", "REFUSED"]
                .iter()
                .all(|w| !command.contains(w))
        );
    }
}
