//! iperf3 as a child: never longer than it may, nor than the thread that started it, and heard to its end.

use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, getpid, getppid, pidfd_open, set_parent_process_death_signal,
};

use crate::engine::tool;

/// A child that is killed when this is dropped, or when the thread that started it ends.
#[derive(Debug)]
pub struct Process {
    child: Child,
    /// In memory: a pipe could fill up while nobody reads.
    said: File,
}

impl Process {
    /// Starts it, on the processors and in the network of the calling thread.
    pub fn start(command: &mut Command) -> io::Result<Process> {
        let said = tool::kept("iperf3")?;
        let both = (said.try_clone()?, said.try_clone()?);
        command.stdin(Stdio::null()).stdout(both.0).stderr(both.1);
        let parent = getpid();
        let before_exec = move || {
            set_parent_process_death_signal(Some(Signal::KILL))?;
            // The parent may have ended before the line above.
            if getppid() == Some(parent) { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::ESRCH)) }
        };
        // SAFETY: between fork and exec there are two system calls, and nothing is allocated.
        unsafe { command.pre_exec(before_exec) };
        Ok(Process { child: command.spawn()?, said })
    }

    /// Whether it has ended.
    pub fn has_ended(&mut self) -> io::Result<bool> {
        Ok(self.child.try_wait()?.is_some())
    }

    /// What it said once it has ended, and how; `None` where it has not within this time.
    pub fn hear(mut self, within: Duration) -> io::Result<Option<(String, ExitStatus)>> {
        // One of which it is known already that it has ended is no process any more.
        if !self.has_ended()? {
            let end = pidfd_open(Pid::from_child(&self.child), PidfdFlags::empty())?;
            let time = Timespec::try_from(within).map_err(io::Error::other)?;
            if poll(&mut [PollFd::new(&end, PollFlags::IN)], Some(&time))? == 0 {
                return Ok(None);
            }
        }
        let status = self.child.wait()?;
        Ok(Some((tool::read(&mut self.said)?, status)))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Where it has been waited for, both do nothing.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Instant;

    use super::*;

    fn is_gone(pid: u32) -> bool {
        let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        state.is_empty() || state.contains(") Z ")
    }

    #[test]
    fn more_than_a_pipe_holds_is_heard() {
        let mut shell = Command::new("sh");
        let process = Process::start(shell.args(["-c", "yes 0123456789 | head -n 20000; exit 3"])).unwrap();
        let (text, status) = process.hear(Duration::from_secs(20)).unwrap().unwrap();
        assert_eq!((text, status.code()), ("0123456789\n".repeat(20_000), Some(3)));
    }

    #[test]
    fn who_was_seen_to_end_is_heard() {
        let mut process = Process::start(Command::new("sh").args(["-c", "echo why; exit 4"])).unwrap();
        let begun = Instant::now();
        while !process.has_ended().unwrap() {
            assert!(begun.elapsed() < Duration::from_secs(20), "it still runs");
            thread::sleep(Duration::from_millis(1));
        }
        let (text, status) = process.hear(Duration::ZERO).unwrap().unwrap();
        assert_eq!((&*text, status.code()), ("why\n", Some(4)));
    }

    #[test]
    fn who_takes_too_long_is_gone_and_so_is_who_outlives_its_thread() {
        let slow = Process::start(Command::new("sleep").arg("60")).unwrap();
        let pid = slow.child.id();
        assert!(slow.hear(Duration::from_millis(50)).unwrap().is_none() && is_gone(pid));
        let orphan = thread::spawn(|| {
            let process = Process::start(Command::new("sleep").arg("60")).unwrap();
            let pid = process.child.id();
            std::mem::forget(process);
            pid
        });
        let (pid, begun) = (orphan.join().unwrap(), Instant::now());
        while !is_gone(pid) {
            assert!(begun.elapsed() < Duration::from_secs(20), "{pid} still runs");
            thread::sleep(Duration::from_millis(5));
        }
    }
}
