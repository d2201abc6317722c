//! Programs that are watched by the kernel's tracepoints.

use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use tollway_core::Error;
use tollway_host::requirement::skip_test;
use tollway_watch::kernel::Watch;
use tollway_watch::{Counts, FileKind, Moments};

/// What a thread has left to do in the kernel when its process' end is told.
const LAST_SWITCH: Duration = Duration::from_millis(50);

/// `None`, with the reason and the remedy, where this kernel or process cannot have it.
pub fn watch(children: bool, allowed: Option<f64>) -> Option<Watch> {
    match Watch::new(children, allowed) {
        Ok(watch) => Some(watch),
        Err(Error::Missing(missing)) => {
            skip_test(&["bpf"], &missing);
            None
        }
        Err(error) => panic!("{error}"),
    }
}

pub fn command(program: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).env_remove("LD_LIBRARY_PATH").stdin(Stdio::null()).stdout(Stdio::null());
    command
}

/// A program from its first instruction to its end.
#[allow(dead_code)]
pub fn counted(program: &Path, arguments: &[&str]) -> Option<Counts> {
    let mut watch = watch(true, None)?;
    let mut child = watch.start(&mut command(program, arguments)).unwrap();
    while child.try_wait().unwrap().is_none() {
        watch.tick().unwrap();
        sleep(Duration::from_millis(2));
    }
    sleep(LAST_SWITCH);
    let counts = watch.counts().unwrap();
    assert!(watch.absent().iter().all(|name| *name != "sys_enter"), "{:?}", watch.absent());
    Some(counts)
}

/// Calls of a number on files of a kind, and the sum of their results.
#[allow(dead_code)]
pub fn total(counts: &Counts, number: i64, kind: FileKind) -> (u64, u64) {
    let calls = counts.threads.iter().flat_map(|thread| &thread.calls);
    calls
        .filter(|calls| i64::from(calls.number) == number && calls.file.kind == kind)
        .fold((0, 0), |sum, calls| (sum.0 + calls.count, sum.1 + calls.results.unwrap()))
}

/// Calls of a number.
#[allow(dead_code)]
pub fn calls(counts: &Counts, number: i64) -> u64 {
    let calls = counts.threads.iter().flat_map(|thread| &thread.calls);
    calls.filter(|calls| i64::from(calls.number) == number).map(|calls| calls.count).sum()
}

#[allow(dead_code)]
pub fn sum(counts: &Counts, of: fn(&Moments) -> Option<u64>) -> u64 {
    counts.threads.iter().filter_map(|thread| of(&thread.moments)).sum()
}
