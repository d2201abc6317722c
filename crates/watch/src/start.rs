//! A program that is started to be watched: it stands still between its start and its first instruction.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

use rustix::io::{read, write};
use rustix::pipe::{PipeFlags, pipe_with};
use tollway_core::{Error, Result};

use crate::traced::refused;

/// Starts a program and has it watched while it stands still. It is bound to us in no way: whatever ends this process, it goes on.
///
/// # Errors
/// It cannot be started or watched; [`Missing`](Error::Missing) where ptrace(2), by which it is made to stand still, is refused.
pub(crate) fn started(command: &mut Command, watch: impl FnOnce(u32) -> Result<()>) -> Result<Child> {
    let name = command.get_program().to_string_lossy().into_owned();
    let failed = |e: io::Error| Error::system(format!("starting {name}"), e);
    // A spawn tells of a refused ptrace as of a refused exec: by a number, which may be the same.
    let (told, tell) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK).map_err(|e| failed(e.into()))?;
    let traced = move || {
        // SAFETY: one system call without addresses.
        match unsafe { libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) } {
            0 => Ok(()),
            _ => {
                let error = io::Error::last_os_error();
                let _ = write(&tell, &error.raw_os_error().unwrap_or(libc::EPERM).to_ne_bytes());
                Err(error)
            }
        }
    };
    // SAFETY: the closure makes two system calls and does not allocate: errors made of a number do not.
    unsafe { command.pre_exec(traced) };
    // Between the fork and its first instruction a signal would end it, or have it stand where nobody waits for that.
    let held = Held::all();
    let mut child = command.spawn().map_err(|error| {
        let mut number = [0; 4];
        match read(&told, &mut number) {
            Ok(4) => refused(None, &io::Error::from_raw_os_error(i32::from_ne_bytes(number))),
            _ => not_started(&name, &error),
        }
    })?;
    let stands = stopped(&child).and_then(|()| held.heeded_by(child.id())).map_err(failed);
    drop(held);
    let watched = stands.and_then(|()| watch(child.id()));
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

/// Signals wait for this thread, and for what it forks, until this is dropped: all but the one that tells of an exec.
pub(crate) struct Held(libc::sigset_t);

impl Held {
    pub(crate) fn all() -> Held {
        // SAFETY: numbers only, for which 0 is a value; both sets are ours and live through the calls.
        unsafe {
            let (mut all, mut before): (libc::sigset_t, libc::sigset_t) =
                (std::mem::zeroed(), std::mem::zeroed());
            libc::sigfillset(&raw mut all);
            libc::sigdelset(&raw mut all, libc::SIGTRAP);
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const all, &raw mut before);
            Held(before)
        }
    }

    /// Has a process that stands still and is traced by this thread heed signals as this thread did before.
    fn heeded_by(&self, process: u32) -> io::Result<()> {
        // The kernel's set is one word (arch/x86/include/asm/signal.h), which is the first of libc's.
        let size = size_of::<u64>();
        // SAFETY: the kernel reads one word of a set that is longer, and lives through the call.
        match unsafe {
            libc::ptrace(libc::PTRACE_SETSIGMASK, process as libc::pid_t, size, &raw const self.0)
        } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // SAFETY: the set is ours, and what was before is not asked for.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.0, std::ptr::null_mut()) };
    }
}

/// Why a program cannot be started: of what exec(2) refuses, apart from what this process lacks for a fork.
pub(crate) fn not_started(name: &str, error: &io::Error) -> Error {
    match error.raw_os_error() {
        None | Some(libc::EAGAIN | libc::ENOMEM | libc::EMFILE | libc::ENFILE | libc::ENOSYS) => {
            Error::system(format!("starting {name}"), error)
        }
        number => Error::NotStarted {
            program: name.into(),
            reason: error.to_string(),
            remedy: "write the path of a program, or of a script whose first line names one".into(),
            is_missing: number == Some(libc::ENOENT),
        },
    }
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

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;
    use crate::proc::Proc;

    /// As of Ctrl-C just then, which goes to the whole process group.
    #[test]
    fn a_signal_before_the_first_instruction_ends_the_program_and_not_its_start() {
        let interrupted = || {
            let mut command = Command::new("true");
            // SAFETY: system calls without addresses. A shell that starts the tests in the background ignores the signal.
            unsafe {
                command.pre_exec(|| {
                    libc::signal(libc::SIGINT, libc::SIG_DFL);
                    libc::raise(libc::SIGINT);
                    Ok(())
                })
            };
            command
        };
        let status = started(&mut interrupted(), |_| Ok(())).unwrap().wait().unwrap();
        assert_eq!(status.signal(), Some(libc::SIGINT));
        let status = Proc::start(&mut interrupted()).unwrap().wait().unwrap();
        assert_eq!(status.signal(), Some(libc::SIGINT));
    }
}
