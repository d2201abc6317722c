//! Counts from /proc alone: without a right, without a cost for the program, with little detail.
//!
//! | what | from | how exact |
//! | --- | --- | --- |
//! | switches, voluntary and not | task/TID/status | every one, of each thread |
//! | page faults | task/TID/stat, stat | every one |
//! | processor time | task/TID/schedstat | nanoseconds; of a thread that runs, up to its last tick or switch |
//! | its parts in user mode and in the kernel | task/TID/stat | by samples: where a tick of the clock found the thread |
//! | calls that read or write, their bytes | task/TID/io | every `read`, `write` and their like (`pread64`, `readv`, `sendfile`), failed ones as well; not `recv` and `send` |
//!
//! What grows is read at the first look and at the last one. A thread that ends between two looks keeps what it had at the earlier one. What it did after that, and what a
//! thread did that no look met, its process tells in sum, and what a child did its parent tells once it has waited for it: faults, time (in ticks), reads
//! and writes, but not switches. They are told as a thread with the number 0. Of a program that is [started](Proc::start), wait4(2) tells the switches as well,
//! at its end, of it and of all for whom was waited. Lost is: switches of whoever ends unseen before that; all of a child that ends unseen and for which
//! nobody waits, or one who has left the tree (a daemon's child), or whose parent ignores SIGCHLD; a child that left the tree (two forks) before it was met.
//! This process does not become a subreaper to meet these: the program would see another parent of its orphans.
//!
//! Why not perf_event_open(2), which could also tell migrations, and count to the end of each thread: events that follow a thread are switched with it, which costs
//! more than the 1 % that counting may. A round of a pipe's ping-pong between two processes on one processor (two switches; Linux 6.18 in a virtual machine; least of
//! 12 runs of 200 000 rounds, in turns) took 5.1 µs without, 5.6 µs with one software event that children inherit (migrations), 5.7 µs with two (faults), 5.9 µs with five
//! (switches, migrations, faults, task-clock), and 7.2 µs with these five if not inherited: 11 to 41 % more. And without root, where perf_event_paranoid is 2,
//! only user mode may be counted, in which there are no switches and no migrations: both are 0 there. So there is no such way of counting here.

mod ledger;
mod read;

use std::fmt;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::process::{Pid, WaitId, WaitIdOptions, WaitOptions, waitid, waitpid};
use tollway_core::{Error, Result};

use crate::Counts;
use crate::living::has_own_proc;
use crate::start::not_started;
use crate::waiting::Waiting;
use ledger::Ledger;
pub(crate) use read::descendants_of;

/// What this way cannot see.
pub const UNSEEN: &str = "which calls are made, on which files, how long they take; calls other than reads and writes, and these of programs whose user is another; \
    wake-ups, signals, interrupts, migrations, operations given to io_uring; switches of threads and children that ended between two looks, unless tollway started the \
    program and it has ended; what a child did that ended between two looks and for which nobody waited.";

/// What this way costs.
pub const COST: &str = "nothing while nobody looks. A look reads four files of each thread that is watched, and one of each process of the machine to find children: about 15 µs \
    of this process' time for each. The program waits for none of it.";

/// Counts from /proc.
pub struct Proc {
    ledger: Mutex<Ledger>,
    /// The process that was started, and how it ended.
    program: Option<Pid>,
    status: Mutex<Option<ExitStatus>>,
}

impl fmt::Debug for Proc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proc").field("program", &self.program).finish_non_exhaustive()
    }
}

impl Proc {
    /// Starts a program and counts what it and its descendants do, from just before its exec on. Pipes that the command asks for lead nowhere: let it inherit, or
    /// give it files.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(command: &mut Command) -> Result<Proc> {
        let name = command.get_program().to_string_lossy().into_owned();
        let failed = |e: io::Error| Error::system(format!("starting {name}"), e);
        let waiting = Waiting::fork(command).map_err(failed)?;
        let program = Pid::from_raw(waiting.process as i32);
        let begun = Proc::of(waiting.process, true, program)
            .and_then(|proc| waiting.go().map(|()| proc).map_err(|e| not_started(&name, &e)));
        if begun.is_err() {
            let _ = waitpid(program, WaitOptions::empty());
        }
        begun
    }

    /// Counts what a process does from now on, and with `children` its descendants, those of now and those to come.
    ///
    /// # Errors
    /// There is none of this number, or [`Missing`](Error::Missing) where /proc has other numbers.
    pub fn attach(process: u32, children: bool) -> Result<Proc> {
        Proc::of(process, children, None)
    }

    fn of(process: u32, children: bool, program: Option<Pid>) -> Result<Proc> {
        has_own_proc(process).map_err(Error::Missing)?;
        let ledger = Ledger::new(process, children).ok_or_else(|| {
            Error::system(format!("reading /proc/{process}"), "there is no such process, or /proc hides it")
        })?;
        Ok(Proc { ledger: Mutex::new(ledger), program, status: Mutex::new(None) })
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The process that was started.
    pub fn program(&self) -> Option<u32> {
        self.program.and_then(|program| u32::try_from(program.as_raw_nonzero().get()).ok())
    }

    /// Looks once more, and says what was counted up to now. The more often this is called, the less is lost of threads that end.
    ///
    /// # Errors
    /// None: as other ways have them.
    pub fn counts(&self) -> Result<Counts> {
        Ok(self.ledger().counts())
    }

    /// Looks at those threads alone that the kernel has in the program for io_uring and vhost, as far as a whole look has met them; says whether there are
    /// any. These may have most of its time, and end with it: what came after the last look is then known in sum alone.
    pub fn look_at_workers(&self) -> bool {
        self.ledger().look_at_workers()
    }

    /// Whether all have ended: asks for a look.
    pub fn is_over(&self) -> bool {
        let mut ledger = self.ledger();
        ledger.look();
        ledger.over.is_some()
    }

    /// Waits for the end of the program that was started, and says how it ended. Its descendants may live on, and are counted.
    ///
    /// # Errors
    /// None was started.
    pub fn wait(&self) -> Result<ExitStatus> {
        let failed = |e: io::Error| Error::system("waiting for the program", e);
        let program = self.program.ok_or_else(|| failed(io::Error::other("none was started")))?;
        let mut known = self.status.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(status) = *known {
            return Ok(status);
        }
        // As long as nobody has waited for it, /proc still has what it did.
        while let Err(error) = waitid(WaitId::Pid(program), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT) {
            if error != rustix::io::Errno::INTR {
                return Err(failed(error.into()));
            }
        }
        let mut ledger = self.ledger();
        ledger.look();
        let (status, usage) = waited(program).map_err(failed)?;
        ledger.end(usage.ru_nvcsw as u64, usage.ru_nivcsw as u64);
        Ok(*known.insert(status))
    }
}

/// Waits for a child that has ended.
fn waited(child: Pid) -> io::Result<(ExitStatus, libc::rusage)> {
    let mut status = 0;
    // SAFETY: numbers only, for which 0 is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both are ours, and as large as the kernel's.
    match unsafe { libc::wait4(child.as_raw_nonzero().get(), &raw mut status, 0, &raw mut usage) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok((ExitStatus::from_raw(status), usage)),
    }
}
