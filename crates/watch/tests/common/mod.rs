//! The programs of programs/, for tests of every way of counting; and this program itself, as a process that
//! some of them start.
#![allow(dead_code, reason = "each test program has this file, and uses a part of it")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use procfs::FromRead;
use procfs::process::Io;
use tempfile::TempDir;
use tollway_host::requirement::skip_test;

/// Where `same` is, which everybody may run; `None` where there is no C compiler.
pub fn same() -> Option<&'static Path> {
    static BUILT: OnceLock<Option<(TempDir, PathBuf)>> = OnceLock::new();
    let built = BUILT.get_or_init(|| built("same"));
    built.as_ref().map(|(_, program)| program.as_path())
}

/// A program of programs/ in a folder of its own, which everybody may run; `None` where there is no C compiler.
pub fn built(name: &str) -> Option<(TempDir, PathBuf)> {
    match built_with(name, &["-pthread"]) {
        Ok(built) => Some(built),
        Err(reason) if reason.starts_with("cc: No such file") => {
            skip_test(&["cc"], &format!("{reason} → install gcc"));
            None
        }
        Err(reason) => panic!("{reason}"),
    }
}

/// The same with these options of the compiler.
///
/// # Errors
/// What the compiler says.
pub fn built_with(name: &str, options: &[&str]) -> Result<(TempDir, PathBuf), String> {
    let folder = TempDir::new().unwrap();
    for_everybody(folder.path());
    let program = folder.path().join(name);
    let source = format!("{}/tests/programs/{name}.c", env!("CARGO_MANIFEST_DIR"));
    let mut cc = Command::new("cc");
    let cc = cc.args(["-O1", "-Wall", "-Werror", "-o"]).arg(&program).arg(source).args(options);
    let done = cc.output().map_err(|error| format!("cc: {error}"))?;
    match done.status.success() {
        true => Ok((folder, program)),
        false => Err(format!("cc: {}", String::from_utf8_lossy(&done.stderr))),
    }
}

pub fn for_everybody(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
}

/// How many calls a process has made that read.
pub fn read_calls(process: u32) -> u64 {
    Io::from_file(format!("/proc/{process}/io")).map_or(0, |io| io.syscr)
}

/// A program that is killed when the test is over.
pub struct Killed(pub std::process::Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// This program as a process that runs one test, which does nothing but where such a process is told what.
pub fn helper(program: &Path, test: &str) -> Command {
    let mut command = Command::new(program);
    command.args(["--exact", test, "--nocapture"]).stdin(Stdio::null());
    command
}

/// What such a process says that has no rights, and is told a value by a variable; `None`, with the reason,
/// where this one cannot start it.
pub fn without_rights(test: &str, variable: &str, value: &Path) -> Option<String> {
    if !rustix::process::geteuid().is_root() {
        skip_test(&["root"], &"not root, so that all other tests are this one");
        return None;
    }
    let folder = TempDir::new().unwrap();
    for_everybody(folder.path());
    let exe = folder.path().join("helper");
    std::fs::copy(std::env::current_exe().unwrap(), &exe).unwrap();
    for_everybody(&exe);
    let mut command = Command::new("setpriv");
    command.args([
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
        "--inh-caps=-all",
        "--bounding-set=-all",
    ]);
    let helper = helper(&exe, test);
    command.arg(helper.get_program()).args(helper.get_args()).env(variable, value).current_dir("/");
    let output = command.stdin(Stdio::null()).output().expect("setpriv(1) of util-linux");
    Some([output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat())
}
