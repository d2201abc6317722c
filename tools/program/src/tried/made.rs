//! Changes, made to a command before it starts.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use tollway_core::{Error, Missing, Result};

use super::clock_source::OtherSource;
use super::processor_limit::Limit;
use crate::args::Try;

/// A change that was made to a command that is not started yet; some last until this is dropped.
pub(super) enum Made {
    /// It is the command's own.
    Command,
    /// It is in a control group.
    Limit(#[expect(dead_code, reason = "it is lifted when this is dropped")] Limit),
    /// The machine has another clock source.
    Clock(#[expect(dead_code, reason = "it is set back when this is dropped")] OtherSource),
}

impl Made {
    /// Has a command start with a change.
    ///
    /// # Errors
    /// [`Missing`](Error::Missing) with what this machine or process lacks.
    pub fn of(command: &mut Command, change: Try) -> Result<Made> {
        match change {
            Try::OneCore => one_core(command)?,
            Try::HugePages => {
                huge_pages_are_there()?;
                tuned(command, "glibc.malloc.hugetlb=1");
            }
            Try::ReuseMemory => tuned(command, KEPT),
            Try::BatchClass => batch_class(command),
            Try::ProcessorLimit => return Limit::of_one_processor(command).map(Made::Limit),
            Try::Clock => return OtherSource::set().map(Made::Clock),
        }
        Ok(Made::Command)
    }
}

/// Where the kernel gives none, nothing would be tried (Documentation/admin-guide/mm/transhuge.rst of Linux).
fn huge_pages_are_there() -> Result<()> {
    const ENABLED: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
    let said = std::fs::read_to_string(ENABLED).unwrap_or_default();
    if said.contains("[always]") || said.contains("[madvise]") {
        return Ok(());
    }
    let reason = if said.is_empty() {
        "this kernel has none".into()
    } else {
        format!("{ENABLED} says {}", said.trim())
    };
    Err(Error::Missing(Missing::new("huge pages", reason, format!("as root: echo madvise > {ENABLED}"))))
}

/// Adds to what the user set.
fn tuned(command: &mut Command, setting: &str) {
    let own = std::env::var(TUNABLES).ok().filter(|own| !own.is_empty());
    command.env(TUNABLES, own.map_or(setting.to_string(), |own| format!("{own}:{setting}")));
}

fn one_core(command: &mut Command) -> Result<()> {
    let allowed = sched_getaffinity(None).map_err(|e| Error::system("asking for processors", e))?;
    let first = (0..CpuSet::MAX_CPU).find(|cpu| allowed.is_set(*cpu)).unwrap_or(0);
    let mut one = CpuSet::new();
    one.set(first);
    // SAFETY: the closure makes one system call and allocates nothing.
    unsafe { command.pre_exec(move || Ok(sched_setaffinity(None, &one)?)) };
    Ok(())
}

fn batch_class(command: &mut Command) {
    let set = || {
        let param = libc::sched_param { sched_priority: 0 };
        // SAFETY: the parameter is ours and is only read; between fork and exec nothing else is done here.
        match unsafe { libc::sched_setscheduler(0, libc::SCHED_BATCH, &raw const param) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    };
    // SAFETY: the closure makes one system call and does not allocate: errors made of a number do not.
    unsafe { command.pre_exec(set) };
}

/// Where the C library reads its settings (ld.so(8), and "Memory Allocation Tunables" of its manual).
const TUNABLES: &str = "GLIBC_TUNABLES";
/// Nothing is given back, nothing is mapped by itself, and 64 MiB are asked for at once.
pub(crate) const KEPT: &str = "glibc.malloc.trim_threshold=1073741824:glibc.malloc.mmap_threshold=1073741824:glibc.malloc.top_pad=67108864";
