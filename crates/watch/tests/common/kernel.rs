//! Programs that are watched by the kernel's tracepoints.

use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use tollway_core::Error;
use tollway_host::requirement::skip_test;
use tollway_watch::kernel::Watch;
use tollway_watch::{Counts, FileKind, Moments};

use crate::eventually::eventually;
use crate::pause::pause;

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

/// Does what is due until a program has ended, and all that it did is known: of a program that waits for its
/// children.
pub fn to_the_end(watch: &mut Watch, child: &mut Child) -> ExitStatus {
    /// How late its end may be seen.
    const LATE: Duration = Duration::from_millis(2);
    let status = loop {
        let due = watch.tick().unwrap();
        match child.try_wait().unwrap() {
            Some(status) => break status,
            None => pause(due.min(LATE)),
        }
    };
    settles(watch);
    status
}

/// Waits until all is known of those that have ended, and does what is due: who ended while it was not
/// counted has left a second later.
pub fn settles(watch: &mut Watch) {
    eventually("all is known of those that have ended", || {
        watch.tick().unwrap();
        watch.is_settled()
    });
}

/// A program from its first instruction to its end.
pub fn counted(program: &Path, arguments: &[&str]) -> Option<Counts> {
    let mut watch = watch(true, None)?;
    let mut child = watch.start(&mut command(program, arguments)).unwrap();
    to_the_end(&mut watch, &mut child);
    let counts = watch.counts().unwrap();
    assert!(watch.absent().iter().all(|name| *name != "sys_enter"), "{:?}", watch.absent());
    Some(counts)
}

/// Calls of a number on files of a kind, and the sum of their results.
pub fn total(counts: &Counts, number: i64, kind: FileKind) -> (u64, u64) {
    let calls = counts.threads.iter().flat_map(|thread| &thread.calls);
    calls
        .filter(|calls| i64::from(calls.number) == number && calls.file.kind == kind)
        .fold((0, 0), |sum, calls| (sum.0 + calls.count, sum.1 + calls.results.unwrap()))
}

/// Calls of a number.
pub fn calls(counts: &Counts, number: i64) -> u64 {
    let calls = counts.threads.iter().flat_map(|thread| &thread.calls);
    calls.filter(|calls| i64::from(calls.number) == number).map(|calls| calls.count).sum()
}

pub fn sum(counts: &Counts, of: fn(&Moments) -> Option<u64>) -> u64 {
    counts.threads.iter().filter_map(|thread| of(&thread.moments)).sum()
}
