//! Who is traced from the first: a program that is started, or the threads of one that runs.

use std::fs;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::Command;

use procfs::FromRead;
use procfs::process::Status;
use tollway_core::{Error, Missing, Result};

use super::requests;
use super::tracer::Tracer;
use crate::proc::descendants;

/// A program that has not begun: it waits to be traced.
pub(super) struct Waiting {
    pub(super) process: u32,
    go: PipeWriter,
    failure: PipeReader,
}

impl Waiting {
    /// Forks; the child execs when it is told to. [`Command::spawn`] would come back only after the exec, and wait for the child itself if that fails: neither
    /// goes together with a tracer.
    pub(super) fn fork(command: &mut Command) -> io::Result<Waiting> {
        let (go_ahead, go) = io::pipe()?;
        let (failure, fails) = io::pipe()?;
        // SAFETY: the child calls what std's own child does, `exec`, and writes; both allocate at most, and libc's fork leaves the allocator usable. It never
        // returns from here.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                drop((go, failure));
                become_program(command, go_ahead, fails)
            }
            process => Ok(Waiting { process: process as u32, go, failure }),
        }
    }

    /// Tells it to become its program. Without this it ends by itself.
    ///
    /// # Errors
    /// It could not; it has ended then.
    pub(super) fn go(mut self) -> io::Result<()> {
        self.go.write_all(&[1])?;
        let mut number = [0; 4];
        match self.failure.read(&mut number)? {
            4 => Err(io::Error::from_raw_os_error(i32::from_ne_bytes(number))),
            // The exec closed it.
            _ => Ok(()),
        }
    }
}

fn become_program(command: &mut Command, mut go_ahead: PipeReader, mut fails: PipeWriter) -> ! {
    if go_ahead.read_exact(&mut [0]).is_ok() {
        let error = command.exec();
        let _ = fails.write_all(&error.raw_os_error().unwrap_or(libc::EINVAL).to_ne_bytes());
    }
    // SAFETY: ends this process, without what the parent has registered for its own end.
    unsafe { libc::_exit(127) }
}

/// Seizes all threads of a process, and with `children` all its descendants.
pub(super) fn seize(tracer: &mut Tracer, process: u32, children: bool) -> Result<()> {
    // Those who are not seized yet may make others: until nobody is new.
    loop {
        let mut processes = vec![process];
        if children {
            processes.extend(descendants(process));
        }
        let mut is_new = false;
        for process in processes {
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
        if tracer.has(thread) {
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
            Err(error) => return Err(refused(thread, &error)),
        }
    }
    Ok(is_new)
}

/// The thread that traces a thread; `None` if none does.
fn traced_by(thread: u32) -> Option<i32> {
    let status = Status::from_file(format!("/proc/{thread}/status")).ok()?;
    Some(status.tracerpid).filter(|tracer| *tracer != 0)
}

/// Why a thread may not be traced.
pub(super) fn refused(thread: u32, error: &io::Error) -> Error {
    let what = format!("tracing {thread}");
    if error.raw_os_error() != Some(libc::EPERM) {
        return Error::system(what, error);
    }
    let scope = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    let (reason, remedy) = match (traced_by(thread), scope.trim()) {
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
        _ => (error.to_string(), "run as the user whose program it is, or as root"),
    };
    Error::Missing(Missing::new(what, reason, remedy))
}
