//! A test in a process of its own, which may not make some calls.

use std::env;
use std::io::{Error, Read};
use std::process::{Command, Stdio};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::filter;

/// By which error number the calls are refused: tells the process that it is to be tried there.
const REFUSED: &str = "TOLLWAY_CHANNEL_REFUSED";

/// How long a process may take: a machine may be busy, but who waits for ever is found out.
const HANG_TIMEOUT: Timespec = Timespec { tv_sec: 600, tv_nsec: 0 };

/// Whether this is such a process.
pub fn is_apart() -> bool {
    env::var_os(REFUSED).is_some()
}

/// The error number by which calls are refused here.
pub fn errno() -> i32 {
    env::var(REFUSED).unwrap().parse().unwrap()
}

/// That futex_waitv(2) is refused here.
pub fn is_without_waitv() {
    // SAFETY: no words, and nothing is written.
    let slept = unsafe { libc::syscall(libc::SYS_futex_waitv, 0, 0, 0, 0, 0) };
    assert_eq!((slept, Error::last_os_error().raw_os_error()), (-1, Some(errno())));
}

/// Runs an ignored test in a process that may not make these calls.
pub fn succeeds_without(calls: &[i64], errno: i32, test: &str) {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--ignored", "--exact", test, "--nocapture"]).env(REFUSED, errno.to_string());
    command.stdout(Stdio::piped());
    filter::forbid(&mut command, calls, errno);
    let mut child = command.spawn().unwrap();
    let process = pidfd_open(Pid::from_child(&child), PidfdFlags::empty()).unwrap();
    if poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&HANG_TIMEOUT)) == Ok(0) {
        child.kill().unwrap();
        child.wait().unwrap();
        panic!("{test} waits for ever where {calls:?} say {errno}");
    }
    let status = child.wait().unwrap();
    let mut said = String::new();
    child.stdout.take().unwrap().read_to_string(&mut said).unwrap();
    // Of a name that is no test's none runs, which is a success.
    let has_run = said.contains("1 passed");
    assert!(status.success() && has_run, "{test} where {calls:?} say {errno}: {status}\n{said}");
}
