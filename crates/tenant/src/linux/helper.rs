//! QEMU's and file systems' own programs, run to their end: for a bounded time, and never beyond this program.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, getpid, getppid, pidfd_open, set_parent_process_death_signal,
};

use super::boot::in_memory;

/// How one ended, and what it said.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) status: ExitStatus,
    /// Standard output.
    pub(super) said: String,
    /// Standard error.
    pub(super) complained: String,
}

/// Runs it with nothing to read.
///
/// # Errors
/// It cannot be started, or has not ended within that time: it is killed then.
pub(super) fn run(command: &mut Command, limit: Duration) -> io::Result<Ended> {
    let kept = || in_memory("said", &[]).map(File::from).map_err(io::Error::other);
    let (mut said, mut complained) = (kept()?, kept()?);
    command.stdin(Stdio::null()).stdout(said.try_clone()?).stderr(complained.try_clone()?);
    let parent = getpid();
    let before_exec = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // The parent may have ended before the line above.
        if getppid() == Some(parent) { Ok(()) } else { Err(Errno::SRCH.into()) }
    };
    // SAFETY: what runs between fork and exec makes two system calls and does not allocate: errors made of a number do not.
    unsafe { command.pre_exec(before_exec) };
    let mut running = Running(command.spawn()?);
    let status = running.ends_within(limit)?;
    Ok(Ended { status, said: text(&mut said)?, complained: text(&mut complained)? })
}

fn text(file: &mut File) -> io::Result<String> {
    /// More than any of them says.
    const LONGEST: u64 = 64 << 10;
    let mut bytes = Vec::new();
    file.rewind()?;
    file.take(LONGEST).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// It does not outlive this.
struct Running(Child);

impl Running {
    fn ends_within(&mut self, limit: Duration) -> io::Result<ExitStatus> {
        let until = Instant::now() + limit;
        let end = pidfd_open(Pid::from_child(&self.0), PidfdFlags::empty())?;
        loop {
            let left = Timespec::try_from(until.saturating_duration_since(Instant::now()))
                .map_err(io::Error::other)?;
            match poll(&mut [PollFd::from_borrowed_fd(end.as_fd(), PollFlags::IN)], Some(&left)) {
                Ok(0) => {
                    let reason =
                        format!("it had not ended after {:.1} s and was killed", limit.as_secs_f64());
                    return Err(io::Error::new(io::ErrorKind::TimedOut, reason));
                }
                Ok(_) => return self.0.wait(),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Where it has been waited for, both do nothing.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, limit: Duration) -> io::Result<Ended> {
        run(Command::new("sh").args(["-c", script]), limit)
    }

    #[test]
    fn what_is_said_comes_back_and_how_it_ended() {
        let ended = shell("echo so; echo aside >&2; exit 3", Duration::from_secs(20)).unwrap();
        assert_eq!((&*ended.said, &*ended.complained, ended.status.code()), ("so\n", "aside\n", Some(3)));
        let none = run(&mut Command::new("/nowhere/at/all"), Duration::from_secs(1)).unwrap_err();
        assert_eq!(none.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn who_does_not_end_is_killed_and_gone() {
        let begun = Instant::now();
        let error = shell("exec sleep 63.5", Duration::from_millis(100)).unwrap_err();
        assert!(error.to_string().contains("0.1 s") && begun.elapsed() < Duration::from_secs(20), "{error}");
        let sleeping = std::fs::read_dir("/proc").unwrap().flatten().any(|entry| {
            std::fs::read(entry.path().join("cmdline")).is_ok_and(|words| words == b"sleep\x0063.5\x00")
        });
        assert!(!sleeping);
    }
}
