//! A program of the field, run to its end: for a bounded time, never beyond this process, and with all it says.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::fd::{BorrowedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::process::{
    Pid, PidfdFlags, Signal, getpid, getppid, pidfd_open, set_parent_process_death_signal,
};
use tollway_core::{Error, Result};
use tollway_host::cpu::{allowed_cpus, set_affinity};

/// Runs it on these processors and returns its standard output, once it has ended well.
///
/// # Errors
/// [`Error::System`] where it cannot be started, fails (with how, and the last line of its complaints), or has not ended
/// within `limit`: it is killed then.
pub fn output(command: &mut Command, cpus: &[u32], limit: Duration) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let failed = |doing: &str, error: &dyn std::fmt::Display| Error::system(format!("{doing} {name}"), error);
    let begin = || -> io::Result<(File, File)> { Ok((kept(&name)?, kept(&name)?)) };
    let (mut said, mut complained) = begin().map_err(|e| failed("keeping what is said by", &e))?;
    let started = said.try_clone().and_then(|out| Ok((out, complained.try_clone()?)));
    let (out, err) = started.map_err(|e| failed("keeping what is said by", &e))?;
    command.stdin(Stdio::null()).stdout(out).stderr(err);

    let own = allowed_cpus()?;
    set_affinity(cpus)?;
    let running = Running::start(command, Vec::new());
    set_affinity(&own)?;
    let mut running = running.map_err(|e| failed("starting", &e))?;

    let ended = running.wait(limit).map_err(|e| failed("waiting for", &e))?;
    let text = |file: &mut File| read(file).map_err(|e| failed("reading what was said by", &e));
    if ended.success() {
        return text(&mut said);
    }
    let complaints = text(&mut said)? + &text(&mut complained)?;
    Err(failed("running", &format!("{} ({ended})", last_words(&complaints))))
}

/// The most that a program may say, in bytes: what fio tells of a trial is some hundred KiB.
const MOST: u64 = 16 << 20;

/// A file in memory for what a program says: a pipe could fill up while nobody reads. It takes [`MOST`] bytes; who says more is told that it must not.
pub(crate) fn kept(name: &str) -> io::Result<File> {
    let file = File::from(memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?);
    file.set_len(MOST)?;
    fcntl_add_seals(&file, SealFlags::GROW | SealFlags::SHRINK)?;
    Ok(file)
}

/// What was said to it. The place to which it was written is the same for all who have it.
pub(crate) fn read(file: &mut File) -> io::Result<String> {
    let said = file.stream_position()?;
    let mut bytes = Vec::new();
    file.rewind()?;
    file.take(said).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The last words of what a program said, for an error: one line, and not a long one.
pub(crate) fn last_words(said: &str) -> String {
    const LONGEST: usize = 200;
    let last = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
    last.trim().chars().filter(|c| !c.is_control()).take(LONGEST).collect()
}

/// Ends with the thread that started it, whatever kills that, and with this value.
pub(super) struct Running(Child);

impl Running {
    /// Starts it with these descriptors of ours, under their own numbers.
    pub(super) fn start(command: &mut Command, inherited: Vec<RawFd>) -> io::Result<Running> {
        let parent = getpid();
        let before_exec = move || {
            set_parent_process_death_signal(Some(Signal::KILL))?;
            for descriptor in &inherited {
                // SAFETY: it is open in who starts this, and only borrowed.
                fcntl_setfd(unsafe { BorrowedFd::borrow_raw(*descriptor) }, FdFlags::empty())?;
            }
            // It may have ended before the line above.
            if getppid() == Some(parent) { Ok(()) } else { Err(io::Error::from_raw_os_error(3)) }
        };
        // SAFETY: what runs between fork and exec makes system calls and does not allocate: errors made of a number
        // do not.
        unsafe { command.pre_exec(before_exec) };
        command.spawn().map(Running)
    }

    /// How it ended.
    fn wait(&mut self, limit: Duration) -> io::Result<ExitStatus> {
        let pid = Pid::from_child(&self.0);
        let end = pidfd_open(pid, PidfdFlags::empty())?;
        let deadline = Instant::now() + limit;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let timeout = Timespec::try_from(left).map_err(io::Error::other)?;
            match poll(&mut [PollFd::new(&end, PollFlags::IN)], Some(&timeout)) {
                Ok(0) if left.is_zero() => {
                    let reason =
                        format!("it had not ended after {:.1} s and was killed", limit.as_secs_f64());
                    return Err(io::Error::other(reason));
                }
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                Ok(_) => return self.0.wait(),
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

    fn shell(script: &str, limit: Duration) -> Result<String> {
        output(Command::new("sh").args(["-c", script]), &allowed_cpus()?, limit)
    }

    #[test]
    fn more_than_a_pipe_holds_comes_back_whole() {
        let text = shell("yes 0123456789 | head -n 20000; echo aside >&2", Duration::from_secs(20)).unwrap();
        assert_eq!(text, "0123456789\n".repeat(20_000));
    }

    #[test]
    fn who_says_too_much_fails_and_costs_no_memory() {
        let error = shell("yes; exit 4", Duration::from_secs(20)).unwrap_err().to_string();
        assert!(error.contains("Operation not permitted") && error.contains("exit status: 4"), "{error}");
        let long = format!("first\n\u{1b}[31m{}\n\n", "x".repeat(1000));
        assert_eq!(last_words(&long).chars().count(), 200);
        assert_eq!(last_words(" \n"), "it said nothing");
    }

    #[test]
    fn who_does_not_end_is_killed_and_gone() {
        let begun = Instant::now();
        let error = shell("exec sleep 61.5", Duration::from_millis(100)).unwrap_err();
        assert!(error.to_string().contains("0.1 s") && begun.elapsed() < Duration::from_secs(20), "{error}");
        let sleeping = std::fs::read_dir("/proc").unwrap().flatten().any(|entry| {
            std::fs::read(entry.path().join("cmdline")).is_ok_and(|words| words == b"sleep\x0061.5\x00")
        });
        assert!(!sleeping);
    }

    #[test]
    fn a_failure_says_why() {
        let error = shell("echo so far; echo no disk >&2; exit 3", Duration::from_secs(20)).unwrap_err();
        assert!(error.to_string().ends_with("no disk (exit status: 3)"), "{error}");
        let error = shell("kill -9 $$", Duration::from_secs(20)).unwrap_err();
        assert!(error.to_string().contains("it said nothing (signal: 9"), "{error}");
        let none =
            output(&mut Command::new("no-such-program"), &allowed_cpus().unwrap(), Duration::from_secs(1));
        assert!(matches!(none, Err(Error::System { .. })));
    }

    #[test]
    fn it_ends_with_the_thread_that_started_it() {
        let pid = std::thread::spawn(|| {
            let mut command = Command::new("sleep");
            let running = Running::start(command.arg("60"), Vec::new()).unwrap();
            let pid = running.0.id();
            std::mem::forget(running);
            pid
        })
        .join()
        .unwrap();
        let gone = || {
            let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            state.is_empty() || state.contains(") Z ")
        };
        let deadline = Instant::now() + Duration::from_secs(20);
        while !gone() {
            assert!(Instant::now() < deadline, "{pid} still runs");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn it_runs_where_it_is_told_and_we_stay_where_we_were() {
        let before = allowed_cpus().unwrap();
        let last = *before.last().unwrap();
        let command = &mut Command::new("grep");
        let list = command.args(["Cpus_allowed_list", "/proc/self/status"]);
        let text = output(list, &[last], Duration::from_secs(20)).unwrap();
        assert_eq!(text.split_whitespace().last(), Some(&*last.to_string()));
        assert_eq!(allowed_cpus().unwrap(), before);
    }
}
