//! Other people's programs, run by this one: for a bounded time, never beyond the thread that started them, and with all they say.

use std::fs::File;
use std::io::{self, Seek};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::process::{
    Pid, PidfdFlags, Signal, getpid, getppid, pidfd_open, set_parent_process_death_signal,
};
use rustix::thread::{CpuSet, sched_setaffinity};
use tollway_core::{Error, Result};

/// The most that a program may say, in bytes: what fio tells of a trial is some hundred KiB.
const MOST: u64 = 16 << 20;

/// What a program has of ours.
#[derive(Debug, Default)]
pub struct Given<'a> {
    /// Its standard input; nothing if `None`.
    pub input: Option<OwnedFd>,
    /// Descriptors that it has under the same numbers.
    pub descriptors: &'a [BorrowedFd<'a>],
    /// The processors on which it may run; those of the calling thread if there are none here.
    pub cpus: &'a [u32],
}

/// A program that runs: it is killed when this is dropped, or when the thread that started it ends, whatever ends that.
#[derive(Debug)]
pub struct Program {
    child: Child,
    said: Said,
    complained: Said,
}

/// How a program ended, and what it said.
#[derive(Debug)]
pub struct Ended {
    /// How.
    pub status: ExitStatus,
    /// Its standard output.
    pub said: String,
    /// Its standard error.
    pub complained: String,
}

impl Program {
    /// Starts it.
    ///
    /// # Errors
    /// It cannot be.
    pub fn start(command: &mut Command, given: Given<'_>) -> io::Result<Program> {
        let (said, complained) = (Said::nothing()?, Said::nothing()?);
        command.stdin(given.input.map_or(Stdio::null(), Stdio::from));
        command.stdout(said.for_writing()?).stderr(complained.for_writing()?);
        let inherited: Vec<_> = given.descriptors.iter().map(AsRawFd::as_raw_fd).collect();
        let cpus = (!given.cpus.is_empty()).then(|| set_of(given.cpus));
        let parent = getpid();
        let before_exec = move || {
            set_parent_process_death_signal(Some(Signal::KILL))?;
            for descriptor in &inherited {
                // SAFETY: who starts this has borrowed it until after exec, and a fork has what its parent has open.
                fcntl_setfd(unsafe { BorrowedFd::borrow_raw(*descriptor) }, FdFlags::empty())?;
            }
            if let Some(cpus) = &cpus {
                sched_setaffinity(None, cpus)?;
            }
            // The parent may have ended before the first line.
            if getppid() == Some(parent) { Ok(()) } else { Err(Errno::SRCH.into()) }
        };
        // SAFETY: what runs between fork and exec makes system calls and does not allocate: errors made of a number do not.
        unsafe { command.pre_exec(before_exec) };
        Ok(Program { child: command.spawn()?, said, complained })
    }

    /// Whether it has ended.
    ///
    /// # Errors
    /// The kernel does not say.
    pub fn has_ended(&mut self) -> io::Result<bool> {
        Ok(self.child.try_wait()?.is_some())
    }

    /// What it has complained of so far.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn complaints(&self) -> io::Result<String> {
        self.complained.text()
    }

    /// Waits for its end.
    ///
    /// # Errors
    /// [`TimedOut`](io::ErrorKind::TimedOut) if it has not ended within this time: it is killed then.
    pub fn ends_within(mut self, limit: Duration) -> io::Result<Ended> {
        let status = match self.wait(limit)? {
            Some(status) => status,
            None => {
                let last = last_line(&self.complaints()?).map_or(String::new(), |last| format!(": {last}"));
                let long = limit.as_secs_f64();
                let reason = format!("it had not ended after {long:.1} s and was killed{last}");
                return Err(io::Error::new(io::ErrorKind::TimedOut, reason));
            }
        };
        Ok(Ended { status, said: self.said.text()?, complained: self.complained.text()? })
    }

    fn wait(&mut self, limit: Duration) -> io::Result<Option<ExitStatus>> {
        // One of which it is known already that it has ended is no process any more.
        if let Some(status) = self.child.try_wait()? {
            return Ok(Some(status));
        }
        let end = pidfd_open(Pid::from_child(&self.child), PidfdFlags::empty())?;
        let until = Instant::now() + limit;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let left = Timespec::try_from(left).map_err(io::Error::other)?;
            match poll(&mut [PollFd::new(&end, PollFlags::IN)], Some(&left)) {
                Ok(0) => return Ok(None),
                Ok(_) => return self.child.wait().map(Some),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // Where it has been waited for, both do nothing.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Ended {
    /// What it said, if it ended well; else how it ended and the last of its complaints, or of what it said.
    ///
    /// # Errors
    /// That it did not end well.
    pub fn well(self) -> io::Result<String> {
        if self.status.success() {
            return Ok(self.said);
        }
        let last = last_line(&self.complained).unwrap_or_else(|| last_words(&self.said));
        Err(io::Error::other(format!("{last} ({})", self.status)))
    }
}

/// Runs a program to its end; what it said.
///
/// # Errors
/// [`Error::System`] where it cannot be started, fails (with how, and the last line of its complaints), or has not ended within that
/// time: it is killed then.
pub fn output(command: &mut Command, given: Given<'_>, limit: Duration) -> Result<String> {
    // By its name alone: where it is differs from machine to machine.
    let name = Path::new(command.get_program()).file_name().unwrap_or_default().to_owned();
    let failed = |e: io::Error| Error::system(format!("running {}", name.display()), e);
    let program = Program::start(command, given).map_err(failed)?;
    program.ends_within(limit).and_then(Ended::well).map_err(failed)
}

/// The last words of what a program said, for an error: one line, not a long one, and without what a terminal would take for orders.
pub fn last_words(said: &str) -> String {
    last_line(said).unwrap_or_else(|| "it said nothing".into())
}

fn last_line(said: &str) -> Option<String> {
    const LONGEST: usize = 200;
    let last = said.lines().rfind(|line| !line.trim().is_empty())?;
    Some(last.trim().chars().filter(|c| !c.is_control()).take(LONGEST).collect())
}

fn set_of(cpus: &[u32]) -> CpuSet {
    let mut set = CpuSet::new();
    cpus.iter().map(|cpu| *cpu as usize).filter(|cpu| *cpu < CpuSet::MAX_CPU).for_each(|cpu| set.set(cpu));
    set
}

/// What a program says, in memory: a pipe could fill up while nobody reads. Who says more than [`MOST`] is told that it must not.
#[derive(Debug)]
struct Said(File);

impl Said {
    fn nothing() -> io::Result<Said> {
        let file = File::from(memfd_create("tollway-said", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?);
        file.set_len(MOST)?;
        fcntl_add_seals(&file, SealFlags::GROW | SealFlags::SHRINK)?;
        Ok(Said(file))
    }

    fn for_writing(&self) -> io::Result<Stdio> {
        self.0.try_clone().map(Stdio::from)
    }

    /// How much was said so far: the place to which it was written is the same for all who have the file.
    fn bytes(&self) -> io::Result<u64> {
        (&self.0).stream_position()
    }

    /// What was said so far; whoever still says something goes on after it.
    fn text(&self) -> io::Result<String> {
        let mut bytes = vec![0; self.bytes()? as usize];
        self.0.read_exact_at(&mut bytes, 0)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::fd::AsFd;
    use std::os::unix::process::ExitStatusExt;
    use std::thread;

    use super::*;
    use crate::cpu::allowed_cpus;
    use crate::eventually::eventually;

    /// Only a hang takes as long.
    const LONG: Duration = Duration::from_secs(600);

    fn shell(script: &str, limit: Duration) -> Result<String> {
        output(Command::new("sh").args(["-c", script]), Given::default(), limit)
    }

    fn sleeper() -> Program {
        Program::start(Command::new("sleep").arg("infinity"), Given::default()).unwrap()
    }

    fn is_gone(pid: u32) -> bool {
        let state = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        state.is_empty() || state.contains(") Z ")
    }

    #[test]
    fn more_than_a_pipe_holds_comes_back_whole() {
        let text = shell("yes 0123456789 | head -n 20000; echo aside >&2", LONG).unwrap();
        assert_eq!(text, "0123456789\n".repeat(20_000));
    }

    #[test]
    fn who_says_too_much_fails_and_costs_no_memory() {
        let error = shell("yes; exit 4", LONG).unwrap_err().to_string();
        assert!(error.contains("Operation not permitted") && error.contains("exit status: 4"), "{error}");
        let long = format!("first\n\u{1b}[31m{}\n\n", "x".repeat(1000));
        assert_eq!(last_words(&long).chars().count(), 200);
        assert_eq!(last_words(" \n"), "it said nothing");
    }

    #[test]
    fn what_is_said_and_what_is_complained_of_are_told_apart() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo so; echo aside >&2; exit 3"]);
        let program = Program::start(&mut command, Given::default()).unwrap();
        eventually("it has said something", || program.complained.bytes().unwrap() > 0);
        assert_eq!(program.complaints().unwrap(), "aside\n");
        let ended = program.ends_within(LONG).unwrap();
        assert_eq!((&*ended.said, &*ended.complained, ended.status.code()), ("so\n", "aside\n", Some(3)));
        assert_eq!(ended.well().unwrap_err().to_string(), "aside (exit status: 3)");
        let error = Program::start(&mut Command::new("/nowhere/at/all"), Given::default()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_failure_says_why() {
        let reason = |script| shell(script, LONG).unwrap_err().to_string();
        assert!(reason("echo so far; echo no disk >&2; exit 3").ends_with("no disk (exit status: 3)"));
        assert!(reason("echo so far; exit 3").ends_with("so far (exit status: 3)"));
        assert!(reason("kill -9 $$").contains("it said nothing (signal: 9"));
    }

    #[test]
    fn who_does_not_end_is_killed_and_gone_and_its_last_words_are_told() {
        let mut slow = Command::new("sh");
        slow.args(["-c", "echo no card >&2; exec sleep infinity"]);
        let slow = Program::start(&mut slow, Given::default()).unwrap();
        let pid = slow.child.id();
        eventually("it has said something", || slow.complained.bytes().unwrap() > 0);
        let error = slow.ends_within(Duration::from_millis(100)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(error.to_string().contains("0.1 s and was killed: no card"), "{error}");
        assert!(is_gone(pid));
    }

    #[test]
    fn who_was_seen_to_end_is_heard() {
        let mut program =
            Program::start(Command::new("sh").args(["-c", "echo why; exit 4"]), Given::default()).unwrap();
        eventually("it has ended", || program.has_ended().unwrap());
        let ended = program.ends_within(Duration::ZERO).unwrap();
        assert_eq!((&*ended.said, ended.status.code()), ("why\n", Some(4)));
    }

    #[test]
    fn it_ends_with_the_thread_that_started_it_and_with_its_value() {
        let orphan = thread::spawn(sleeper).join().unwrap();
        assert_eq!(orphan.ends_within(LONG).unwrap().status.signal(), Some(9));
        let forgotten = thread::spawn(|| {
            let program = sleeper();
            let pid = program.child.id();
            std::mem::forget(program);
            pid
        });
        let pid = forgotten.join().unwrap();
        eventually("it is gone", || is_gone(pid));
        let dropped = sleeper();
        let pid = dropped.child.id();
        drop(dropped);
        assert!(is_gone(pid));
    }

    #[test]
    fn it_has_what_it_is_given_and_we_stay_where_we_were() {
        let before = allowed_cpus().unwrap();
        let last = *before.last().unwrap();
        let word = |text: &str| {
            let file = memfd_create("given", MemfdFlags::CLOEXEC).unwrap();
            rustix::io::pwrite(&file, text.as_bytes(), 0).unwrap();
            file
        };
        let (input, other) = (word("read\n"), word("inherited\n"));
        let script =
            format!("cat; cat /proc/self/fd/{}; grep Cpus_allowed_list /proc/self/status", other.as_raw_fd());
        let given = Given { input: Some(input), descriptors: &[other.as_fd()], cpus: &[last] };
        let text = output(Command::new("sh").args(["-c", &script]), given, LONG).unwrap();
        assert_eq!(
            text.split_whitespace().collect::<Vec<_>>(),
            ["read", "inherited", "Cpus_allowed_list:", &last.to_string()]
        );
        assert_eq!(allowed_cpus().unwrap(), before);
    }
}
