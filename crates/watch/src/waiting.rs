//! A program between its fork and its exec.

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::start::Held;

/// A program that has not begun: it waits to be watched.
pub(crate) struct Waiting {
    pub(crate) process: u32,
    go: PipeWriter,
    failure: PipeReader,
}

impl Waiting {
    /// Forks; the child execs when it is told to. [`Command::spawn`] would come back only after the exec, when something is missed already, and wait for the
    /// child itself if that fails, which does not go together with a tracer.
    pub(crate) fn fork(command: &mut Command) -> io::Result<Waiting> {
        let (go_ahead, go) = io::pipe()?;
        let (failure, fails) = io::pipe()?;
        // A signal before it goes would end it, and its start would fail.
        let held = Held::all();
        // SAFETY: the child calls what std's own child does, `exec`, and writes; both allocate at most, and libc's fork leaves the allocator usable. It never
        // returns from here.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                drop((go, failure));
                become_program(command, go_ahead, fails, held)
            }
            process => Ok(Waiting { process: process as u32, go, failure }),
        }
    }

    /// Tells it to become its program. Without this it ends by itself.
    ///
    /// # Errors
    /// It could not; it has ended then.
    pub(crate) fn go(mut self) -> io::Result<()> {
        self.go.write_all(&[1])?;
        let mut number = [0; 4];
        match self.failure.read(&mut number)? {
            4 => Err(io::Error::from_raw_os_error(i32::from_ne_bytes(number))),
            // The exec closed it.
            _ => Ok(()),
        }
    }
}

fn become_program(command: &mut Command, mut go_ahead: PipeReader, mut fails: PipeWriter, held: Held) -> ! {
    if go_ahead.read_exact(&mut [0]).is_ok() {
        drop(held);
        let error = command.exec();
        let _ = fails.write_all(&error.raw_os_error().unwrap_or(libc::EINVAL).to_ne_bytes());
    }
    // SAFETY: ends this process, without what the parent has registered for its own end.
    unsafe { libc::_exit(127) }
}
