//! Traces the threads of a process that runs.

use std::fs;
use std::io;
use std::thread::sleep;
use std::time::Duration;

use procfs::FromRead;
use procfs::process::{Stat, Status};
use tollway_core::{Error, Missing, Result};

use super::requests;
use super::tracer::Tracer;
use crate::is_proc_own;
use crate::living::is_kernel_worker;
use crate::proc::descendants_of;

/// Seizes all threads of a process, and with `children` all its descendants.
pub(super) fn seize(tracer: &mut Tracer, process: u32, children: bool) -> Result<()> {
    // Those who are not seized yet may make others: until nobody is new.
    loop {
        let mut processes = vec![process];
        if children {
            processes.extend(descendants_of(&[process]));
        }
        let mut is_new = false;
        for process in processes {
            tracer.add_workers(process);
            is_new |= threads(tracer, process, children)?;
        }
        if !is_new {
            return Ok(());
        }
    }
}

/// Whether there was one who was not traced.
fn threads(tracer: &mut Tracer, process: u32, children: bool) -> Result<bool> {
    let mut is_new = false;
    for thread in fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten() {
        let Some(thread) = thread.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        if tracer.has(thread) || is_worker(process, thread) {
            continue;
        }
        match requests::seize(thread, children) {
            Ok(()) => {
                tracer.add(thread, process);
                // Its calls are heard of only after it stood once.
                let _ = requests::interrupt(thread);
                is_new = true;
            }
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
            // Born to one of them, and so traced from birth.
            Err(_) if traced_by(thread) == Some(rustix::thread::gettid().as_raw_nonzero().get()) => {}
            Err(_) if is_ending(thread) => {}
            Err(error) => return Err(refused(Some(thread), &error)),
        }
    }
    Ok(is_new)
}

/// Whether a thread is the kernel's own: it makes no calls, and stands still for nobody.
fn is_worker(process: u32, thread: u32) -> bool {
    let stat = Stat::from_file(format!("/proc/{process}/task/{thread}/stat"));
    stat.is_ok_and(|stat| is_kernel_worker(stat.flags, thread == process))
}

/// Whether a thread is, or within milliseconds becomes, one that has ended: the kernel refuses these as it does others' (kernel/ptrace.c, `ptrace_attach`).
fn is_ending(thread: u32) -> bool {
    let has_ended = || match Stat::from_file(format!("/proc/{thread}/stat")) {
        Ok(stat) => matches!(stat.state, 'Z' | 'X'),
        Err(_) => true,
    };
    (0..20).any(|look| {
        sleep(Duration::from_micros(if look == 0 { 0 } else { 500 }));
        has_ended()
    })
}

/// The thread that traces a thread; `None` if none does.
fn traced_by(thread: u32) -> Option<i32> {
    let status = is_proc_own().then(|| Status::from_file(format!("/proc/{thread}/status")).ok())??;
    Some(status.tracerpid).filter(|tracer| *tracer != 0)
}

/// Why a thread, or a program that is to be started, may not be traced.
pub(crate) fn refused(thread: Option<u32>, error: &io::Error) -> Error {
    let what = thread.map_or("tracing a program".into(), |thread| format!("tracing {thread}"));
    if !matches!(error.raw_os_error(), Some(libc::EPERM | libc::EACCES | libc::ENOSYS)) {
        return Error::system(what, error);
    }
    if !requests::are_answered() {
        return Error::Missing(Missing::new(
            what,
            format!("ptrace(2) is refused here whomever it is asked of, as by a seccomp filter: {error}"),
            "run outside of this container or sandbox, or have its seccomp profile allow ptrace",
        ));
    }
    let scope = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    let (reason, remedy) = match (thread.and_then(traced_by), scope.trim()) {
        (Some(tracer), _) => (
            format!("it is traced already, by {tracer}, and can be by one only"),
            "end that tracer (strace, a debugger)",
        ),
        (None, "1") => (
            format!("{error} (ptrace_scope is 1: only who started a program may trace it)"),
            "let tollway start the program; or run as root, or as root: sysctl kernel.yama.ptrace_scope=0",
        ),
        (None, "2") => {
            (format!("{error} (ptrace_scope is 2: only root may)"), "run as root, or with CAP_SYS_PTRACE")
        }
        (None, "3") => (
            format!("{error} (ptrace_scope is 3: nobody may)"),
            "boot without kernel.yama.ptrace_scope=3; it cannot be lowered",
        ),
        // Root of a container is root already.
        _ => (
            error.to_string(),
            "run as the user whose program it is, or as root with CAP_SYS_PTRACE (docker, podman: `--cap-add SYS_PTRACE`)",
        ),
    };
    Error::Missing(Missing::new(what, reason, remedy))
}
