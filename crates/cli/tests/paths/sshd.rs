//! A real sshd on loopback, with keys and files of its own, as the other host of a test.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, geteuid, kill_process};
use tollway_core::{Missing, Requirement};
use tollway_host::requirement;
use tollway_tenant::linux::static_agent;

use crate::eventually::eventually;
use crate::program::Bench;

/// Where Debian has it.
const SSHD: &str = "/usr/sbin/sshd";

/// Where sshd of Debian wants a folder when root starts it (its option --with-privsep-path).
const SEPARATION: &str = "/run/sshd";

/// Whether the programs and the agent are here; of the first that is not it is said why the test does nothing.
pub fn is_possible() -> bool {
    let programs = [("ssh", "openssh-client"), ("ssh-keygen", "openssh-client")];
    let lacking = programs
        .iter()
        .find_map(|(name, package)| {
            requirement::check(&Requirement::Program((*name).into(), (*package).into())).err()
        })
        .or_else(|| {
            let sshd = || Missing::new("sshd", format!("it is not {SSHD}"), "apt-get install openssh-server");
            (!Path::new(SSHD).is_file()).then(sshd)
        });
    if let Some(missing) = lacking {
        requirement::skip_test(&["sshd"], &missing);
        return false;
    }
    match static_agent::find(Some(tollway_agent::BUILD)) {
        Ok(_) => true,
        Err(missing) => {
            requirement::skip_test(&["agent"], &missing);
            false
        }
    }
}

/// Whether this test may make a mount namespace.
pub fn is_root() -> bool {
    if !geteuid().is_root() {
        requirement::skip_test(&["root"], &"this is not root → run as root");
    }
    geteuid().is_root()
}

/// What the other host is besides.
#[derive(Default)]
pub struct Surroundings {
    /// A shell command before sshd begins, in a mount namespace of its own.
    pub first: Option<String>,
    /// What sshd is run by, such as `taskset -c 0`.
    pub by: String,
    /// Environment of sessions.
    pub environment: Vec<(String, String)>,
    /// One more line of sshd_config(5).
    pub setting: String,
}

/// The other host. Ended with all its sessions when it is dropped.
pub struct Sshd {
    folder: PathBuf,
    port: u16,
    listener: Child,
}

impl Sshd {
    /// One whose sessions belong to this bench, and have its folder `there` for what is temporary.
    pub fn start(bench: &Bench, surroundings: &Surroundings) -> Sshd {
        let folder = bench.file("ssh");
        fs::create_dir(&folder).unwrap();
        fs::create_dir(bench.file("there")).unwrap();
        for key in ["host", "mine", "foreign"] {
            let made = Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-f"])
                .arg(folder.join(key))
                .status();
            assert!(made.unwrap().success());
        }
        fs::copy(folder.join("mine.pub"), folder.join("allowed")).unwrap();
        if geteuid().is_root() && !Path::new(SEPARATION).exists() {
            fs::create_dir(SEPARATION).unwrap();
            fs::set_permissions(SEPARATION, fs::Permissions::from_mode(0o755)).unwrap();
        }
        // Somebody may take the port before sshd does: then there is another.
        let (listener, port) = (0..5).find_map(|_| listening(bench, &folder, surroundings)).expect("sshd");
        let key = fs::read_to_string(folder.join("host.pub")).unwrap();
        fs::write(folder.join("known"), format!("[127.0.0.1]:{port} {key}")).unwrap();
        fs::write(folder.join("nobody-known"), "").unwrap();
        Sshd { folder, port, listener }
    }

    /// How it is named on a command line.
    pub fn address(&self) -> String {
        let user = Command::new("id").arg("-un").output().unwrap().stdout;
        format!("ssh:{}@127.0.0.1:{}", String::from_utf8(user).unwrap().trim(), self.port)
    }

    /// The client with the right key.
    pub fn client(&self) -> String {
        self.client_with("mine", "known")
    }

    /// The client with that key and those hosts that it knows. A host that falls silent is given up after 8 s.
    pub fn client_with(&self, key: &str, known: &str) -> String {
        let folder = self.folder.display();
        format!(
            "ssh -F none -i {folder}/{key} -o IdentitiesOnly=yes -o IdentityAgent=none -o GlobalKnownHostsFile=none \
             -o UserKnownHostsFile={folder}/{known} -o StrictHostKeyChecking=yes -o ServerAliveInterval=1 \
             -o ServerAliveCountMax=8"
        )
    }

    /// Sends this signal to the processes of its sessions that carry what is said.
    pub fn signal_sessions(&self, signal: Signal) {
        let sessions = self.sessions();
        assert!(!sessions.is_empty(), "nobody is connected");
        for session in sessions {
            // One that has ended by the end of another needs no signal.
            let _ = kill_process(session, signal);
        }
    }

    /// Those that encipher and, of another user than root, those that watch them.
    fn sessions(&self) -> Vec<Pid> {
        let is_sshd = |pid: &u32| {
            fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.starts_with("sshd"))
        };
        let watching = children_of(self.listener.id());
        let all = watching.iter().flat_map(|pid| children_of(*pid)).chain(watching.iter().copied());
        all.filter(is_sshd).filter_map(|pid| Pid::from_raw(pid.cast_signed())).collect()
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        let sessions = self.sessions();
        // An error means that it has ended.
        let _ = self.listener.kill();
        let _ = self.listener.wait();
        for session in sessions {
            let _ = kill_process(session, Signal::CONT).and_then(|()| kill_process(session, Signal::TERM));
        }
    }
}

/// sshd on a free port; nothing where it did not come to listen there.
fn listening(bench: &Bench, folder: &Path, surroundings: &Surroundings) -> Option<(Child, u16)> {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let at = folder.display();
    let mut settings = format!(
        "ListenAddress 127.0.0.1:{port}\nHostKey {at}/host\nAuthorizedKeysFile {at}/allowed\nStrictModes no\nUsePAM no\n\
         PidFile none\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin prohibit-password\n\
         PrintMotd no\nLogLevel ERROR\n{}\nSetEnv TOLLWAY_TEST_FOLDER={}",
        surroundings.setting,
        bench.path().display()
    );
    let there = ("TMPDIR".to_owned(), bench.file("there").display().to_string());
    let environment = &surroundings.environment;
    let theirs =
        environment.iter().chain(environment.iter().all(|(name, _)| *name != there.0).then_some(&there));
    for (name, value) in theirs {
        settings += &format!(" {name}={value}");
    }
    let file = folder.join("sshd_config");
    fs::write(&file, settings + "\n").unwrap();
    let sshd = format!("{} {SSHD} -D -e -f {}", surroundings.by, file.display());
    let mut command = match &surroundings.first {
        Some(first) => {
            let mut command = Command::new("unshare");
            command.args(["--mount", "sh", "-c", &format!("{first} && exec {sshd}")]);
            command
        }
        None => {
            let mut command = Command::new("sh");
            command.args(["-c", &format!("exec {sshd}")]);
            command
        }
    };
    let log = fs::File::create(folder.join("log")).unwrap();
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap();
    let mut listens = false;
    eventually("sshd listens or ends", || {
        listens = TcpStream::connect(("127.0.0.1", port)).is_ok();
        listens || child.try_wait().unwrap().is_some()
    });
    if listens {
        return Some((child, port));
    }
    println!("{}", fs::read_to_string(folder.join("log")).unwrap());
    None
}

/// The children of a process.
fn children_of(pid: u32) -> Vec<u32> {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    children.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}
