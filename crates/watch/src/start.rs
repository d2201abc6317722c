//! A program that is started to be watched: it stands still between its start and its first instruction.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

use tollway_core::{Error, Result};

/// Starts a program and has it watched while it stands still. It is bound to us in no way: whatever ends this process, it goes on.
///
/// # Errors
/// It cannot be started or watched.
pub(crate) fn started(command: &mut Command, watch: impl FnOnce(u32) -> Result<()>) -> Result<Child> {
    let name = command.get_program().to_string_lossy().into_owned();
    let failed = |e: io::Error| Error::system(format!("starting {name}"), e);
    let traced = || {
        // SAFETY: one system call without addresses; between fork and exec nothing else is done here.
        match unsafe { libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    };
    // SAFETY: the closure makes one system call and does not allocate: errors made of a number do not.
    unsafe { command.pre_exec(traced) };
    let mut child = command.spawn().map_err(failed)?;
    let watched = stopped(&child).map_err(failed).and_then(|()| watch(child.id()));
    // SAFETY: no address is passed; the child is ours and stopped.
    let let_go = unsafe { libc::ptrace(libc::PTRACE_DETACH, child.id() as libc::pid_t, 0, 0) };
    if let Err(error) =
        watched.and(if let_go == 0 { Ok(()) } else { Err(failed(io::Error::last_os_error())) })
    {
        let _ = child.kill();
        let _ = child.wait();
        return Err(error);
    }
    Ok(child)
}

/// Waits until it stands still behind its exec (ptrace(2), PTRACE_TRACEME: a SIGTRAP after each).
fn stopped(child: &Child) -> io::Result<()> {
    let mut status = 0;
    loop {
        // SAFETY: the status is ours and the kernel writes one number there.
        match unsafe { libc::waitpid(child.id() as libc::pid_t, &raw mut status, libc::__WALL) } {
            -1 if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
            -1 => return Err(io::Error::last_os_error()),
            _ if libc::WIFSTOPPED(status) => return Ok(()),
            _ => return Err(io::Error::other("it ended before its first instruction")),
        }
    }
}
