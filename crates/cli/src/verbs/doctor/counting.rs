//! Ways in which `tollway bill` can count a program's crossings on this machine: each is tried on a program
//! that does nothing.

use std::process::Command;

use serde::Serialize;
use tollway_core::{Error, Missing, Result};
use tollway_watch::kernel::Kernel;
use tollway_watch::proc::Proc;
use tollway_watch::traced::Traced;

/// A way, and whether it can be used here.
#[derive(Serialize)]
pub struct WayToCount {
    /// What `bill --by` calls it.
    pub by: &'static str,
    /// What it is and what it tells.
    pub title: &'static str,
    /// The privileges that it needs.
    pub privileges: &'static str,
    /// Why it cannot be used; `None` where it can.
    pub missing: Option<Missing>,
}

/// Tries all ways, the best first: in some hundredths of a second.
pub fn examine() -> Vec<WayToCount> {
    let way = |by, title, privileges, tried: Result<()>| {
        let missing = tried.err().map(|error| why(by, error));
        WayToCount { by, title, privileges, missing }
    };
    let of_another = "none for a program of one's own; root, or CAP_SYS_PTRACE, for another user's";
    vec![
        way(
            "kernel",
            "kernel (programs at tracepoints, bpf: all is seen)",
            "root, or CAP_BPF and CAP_PERFMON",
            by_kernel(),
        ),
        way("ptrace", "ptrace (each call is seen and slowed down)", of_another, by_ptrace()),
        way("proc", "proc (sums that /proc tells)", of_another, by_proc()),
    ]
}

fn by_kernel() -> Result<()> {
    Kernel::new(true)?.begin()
}

fn by_ptrace() -> Result<()> {
    let traced = Traced::start(&mut idle())?;
    traced.wait()?;
    match traced.counts()?.threads.is_empty() {
        true => Err(Error::system("counting by ptrace", "no thread of a program was seen")),
        false => Ok(()),
    }
}

fn by_proc() -> Result<()> {
    Proc::start(&mut idle())?.wait().map(drop)
}

/// A program that ends at once.
fn idle() -> Command {
    Command::new("true")
}

fn why(by: &str, error: Error) -> Missing {
    match error {
        Error::Missing(missing) => missing,
        other => Missing::new(
            format!("counting by {by}"),
            other.to_string(),
            "`tollway bill -- COMMAND` takes the next best way; run as root for the best one",
        ),
    }
}
