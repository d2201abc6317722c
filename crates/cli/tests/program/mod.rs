//! The program in a folder of its own, and what its tests ask of it.
#![allow(dead_code, reason = "each test program has this folder, and uses a part of it")]

pub mod namespaces;
pub mod priced;
pub mod rows;
pub mod turn;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use tollway_host::samplers::thread_time::process_of;
use tollway_store::{Store, Trial};

use crate::eventually::eventually;

/// Two points that take next to no time.
pub const SHORT: &str = r#"
[preset]
name = "short"
path = "crossings"

[trial]
window_ms = 0.3
warmup_ms = 0.05
runs      = 3
repeats   = 2

[[case]]
variant = ["getppid", "write-byte"]
"#;

/// A folder with a preset in it, and a store once something was measured.
pub struct Bench {
    folder: tempfile::TempDir,
}

impl Bench {
    /// A folder that has this preset as `short.toml`.
    pub fn with(preset: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("short.toml"), preset).unwrap();
        Bench { folder }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// `tollway` in that folder. Its agents inherit a variable by which they are found.
    pub fn tollway(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tollway"));
        self.set_up(&mut command);
        command.args(arguments);
        command
    }

    /// Another program with `tollway` among its arguments.
    pub fn set_up(&self, command: &mut Command) {
        command.current_dir(self.path()).env("TOLLWAY_TEST_FOLDER", self.path());
        command.env_remove("TOLLWAY_STORE").env_remove("NO_COLOR").env("RUST_BACKTRACE", "0");
        // What a terminal can do is the test's to say, and not that of the shell that runs it.
        command.env("TERM", "xterm-256color").env_remove("CLICOLOR").env_remove("CLICOLOR_FORCE");
        // This machine's own price list is not a test's.
        command.env("TOLLWAY_PRICES", self.file("prices"));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Where these tests are run under nohup(1), a terminal's end is nothing that ends a program.
        // SAFETY: a system call, which is allowed between fork and exec.
        unsafe {
            command.pre_exec(|| {
                libc::signal(libc::SIGHUP, libc::SIG_DFL);
                Ok(())
            })
        };
    }

    /// Runs it to its end, which is this exit code, without a panic; returns standard output and standard error.
    pub fn ends(&self, arguments: &[&str], code: i32) -> (String, String) {
        checked(&self.tollway(arguments).output().unwrap(), code)
    }

    /// Processes that belong to this folder.
    pub fn processes(&self) -> Vec<String> {
        let mark = format!("TOLLWAY_TEST_FOLDER={}", self.path().display());
        let of_folder = |pid: &str| {
            fs::read(format!("/proc/{pid}/environ"))
                .is_ok_and(|environment| environment.split(|b| *b == 0).any(|v| v == mark.as_bytes()))
        };
        let names = fs::read_dir("/proc").unwrap().filter_map(|e| e.ok()?.file_name().into_string().ok());
        names.filter(|name| name.bytes().all(|b| b.is_ascii_digit())).filter(|pid| of_folder(pid)).collect()
    }

    /// Waits until all that the program started has ended as well.
    pub fn nothing_stays_behind(&self) {
        eventually("no process stays behind", || self.processes().is_empty());
    }

    /// Processor time of each process that belongs to this folder.
    fn processor_times(&self) -> BTreeMap<i32, Duration> {
        let processes = self.processes().into_iter().filter_map(|pid| pid.parse().ok());
        processes.filter_map(|pid| Some((pid, process_of(pid).ok()?))).collect()
    }

    /// Waits until they have had the processors for so long from now on, whatever else these are at.
    pub fn works_for(&self, time: Duration) {
        let before = self.processor_times();
        let of = |pid: &i32| before.get(pid).copied().unwrap_or_default();
        let since = || self.processor_times().iter().map(|(pid, now)| now.saturating_sub(of(pid))).sum();
        eventually("the program works", || time <= since());
    }

    /// The trials of the newest run; none where there is no store yet.
    pub fn trials(&self) -> Vec<Trial> {
        let store = Store::open_read_only(self.file("tollway.db"));
        let newest = store.and_then(|store| match store.runs()?.first() {
            Some(run) => store.trials(run.id),
            None => Ok(Vec::new()),
        });
        newest.unwrap_or_default()
    }

    /// Waits until the newest run has so many trials.
    pub fn wait_for_trials(&self, count: usize) {
        eventually("it begins", || self.trials().len() >= count);
    }
}

/// Checks exit code and that nothing panicked.
pub fn checked(output: &Output, code: i32) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{err}\n{out}");
    assert!(!err.contains("panicked"), "{err}");
    (out, err)
}

/// Waits for the end of a program, which has little to say before: nobody reads that meanwhile.
#[track_caller]
pub fn ends(child: &mut Child) {
    eventually("the program ends", || child.try_wait().unwrap().is_some());
}

/// Whether a process catches SIGINT: one that has just begun does not yet.
pub fn takes_interruptions(process: u32) -> bool {
    has_signal(process, "SigCgt:", libc::SIGINT)
}

/// Whether a signal is in one of a process's masks. Source: proc_pid_status(5).
pub fn has_signal(process: u32, mask: &str, signal: i32) -> bool {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix(mask)).unwrap();
    u64::from_str_radix(mask.trim(), 16).unwrap() & 1 << (signal - 1) != 0
}

/// Says why something is not tested here; fails where TOLLWAY_REQUIRE wants it tested.
pub fn skip(what: &str, needs: &str, remedy: &str) {
    tollway_host::requirement::skip_test(&[needs], &format!("{what} → {remedy}"));
}
