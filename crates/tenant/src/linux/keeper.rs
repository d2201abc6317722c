//! A thread that starts guests' processes and lives as long as this program.
//!
//! A guest's process dies with its coordinator, whatever kills that: PR_SET_PDEATHSIG. But that signal comes when the
//! *thread* that started the process ends (prctl(2)), so the thread has to be one that never does.

use std::io;
use std::os::fd::RawFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::OnceLock;
use std::sync::mpsc::{Sender, channel};
use std::thread;

type Job = (Command, Sender<io::Result<Child>>);

/// Starts a command whose process inherits these descriptors under their own numbers, leads a group of its own, and
/// is killed when this program ends.
pub(super) fn start(mut command: Command, inherited: Vec<RawFd>) -> io::Result<Child> {
    let coordinator = std::process::id().cast_signed();
    command.process_group(0);
    let before_exec = move || {
        for fd in &inherited {
            // SAFETY: fcntl on a number; the flags of a descriptor of the new process alone are changed.
            if unsafe { libc::fcntl(*fd, libc::F_SETFD, 0) } != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        // SAFETY: takes numbers only; see prctl(2).
        if unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) } != 0 {
            return Err(io::Error::last_os_error());
        }
        // It may have ended before the line above.
        // SAFETY: getppid has no conditions.
        if unsafe { libc::getppid() } != coordinator {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        Ok(())
    };
    // SAFETY: what runs between fork and exec makes three system calls, reads a vector made before, and does not
    // allocate: errors made of a number do not.
    unsafe { command.pre_exec(before_exec) };
    let gone = || io::Error::other("the thread that starts guests is gone");
    let (answer, started) = channel();
    keeper()?.send((command, answer)).map_err(|_| gone())?;
    started.recv().map_err(|_| gone())?
}

fn keeper() -> io::Result<&'static Sender<Job>> {
    static KEEPER: OnceLock<Sender<Job>> = OnceLock::new();
    if let Some(keeper) = KEEPER.get() {
        return Ok(keeper);
    }
    let (jobs, todo) = channel::<Job>();
    thread::Builder::new().name("guest-keeper".into()).spawn(move || {
        for (mut command, answer) in todo {
            // Who asked may be gone; the process is its own affair then.
            let _ = answer.send(command.spawn());
        }
    })?;
    // Where two threads come here at once, the second one's keeper ends with its sender.
    Ok(KEEPER.get_or_init(|| jobs))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_short_thread_started_outlives_it() {
        let mut child = thread::spawn(|| {
            let mut command = Command::new("sleep");
            command.arg("60");
            start(command, Vec::new()).unwrap()
        })
        .join()
        .unwrap();
        thread::sleep(std::time::Duration::from_millis(50));
        assert!(child.try_wait().unwrap().is_none(), "it was killed with the thread that asked for it");
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn what_cannot_be_started_is_an_error() {
        assert_eq!(
            start(Command::new("/nowhere/at/all"), Vec::new()).unwrap_err().kind(),
            io::ErrorKind::NotFound
        );
        assert!(start(Command::new("true"), vec![1_000_000]).is_err());
    }
}
