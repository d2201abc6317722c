//! Where the kernel lacks calls, or a sandbox forbids them: what needs them says so, and what can do without does.

mod filter;
mod no_ring;
mod one_word;

use std::env;
use std::io::Read;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// By which error number the calls are refused: tells the process that it is to be tried there.
const REFUSED: &str = "TOLLWAY_CHANNEL_REFUSED";

/// A kernel that has no such call, and a filter that does not allow it.
const ERRORS: [i32; 2] = [libc::ENOSYS, libc::EPERM];

/// The error number by which calls are refused here.
fn errno() -> i32 {
    env::var(REFUSED).unwrap().parse().unwrap()
}

/// How long a process may take: a machine may be busy, but who waits for ever is found out.
const PATIENT: Duration = Duration::from_secs(120);

/// Runs an ignored test in a process that may not make these calls.
fn succeeds_without(calls: &[i64], errno: i32, test: &str) {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--ignored", "--exact", test, "--nocapture"]).env(REFUSED, errno.to_string());
    command.stdout(Stdio::piped());
    filter::forbid(&mut command, calls, errno);
    let mut child = command.spawn().unwrap();
    let deadline = Instant::now() + PATIENT;
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break status,
            None if Instant::now() > deadline => {
                child.kill().unwrap();
                child.wait().unwrap();
                panic!("{test} waits for ever where {calls:?} say {errno}");
            }
            None => sleep(Duration::from_millis(2)),
        }
    };
    let mut said = String::new();
    child.stdout.take().unwrap().read_to_string(&mut said).unwrap();
    // Of a name that is no test's none runs, which is a success.
    let has_run = said.contains("1 passed");
    assert!(status.success() && has_run, "{test} where {calls:?} say {errno}: {status}\n{said}");
}
