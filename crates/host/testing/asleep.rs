//! Threads that are asleep, as the kernel sees them: a test that wants to wake a sleeper looks whether there is one.
#![allow(dead_code, reason = "each test binary has this file, and uses a part of it")]

use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::thread;
use std::time::Duration;

use crate::eventually::eventually;

/// A thread of any process.
#[derive(Clone, Debug, PartialEq)]
pub struct Thread(String);

impl Thread {
    /// The one that asks.
    pub fn here() -> Thread {
        // SAFETY: it takes nothing.
        Thread::of(std::process::id(), unsafe { libc::gettid() } as u32)
    }

    pub fn of(process: u32, thread: u32) -> Thread {
        Thread(format!("/proc/{process}/task/{thread}"))
    }

    /// Its file of that name; empty when the thread has ended.
    fn file(&self, name: &str) -> String {
        fs::read_to_string(format!("{}/{name}", self.0)).unwrap_or_default()
    }

    /// The call in which it sleeps and its six arguments; none unless it does. proc_pid_stat(5): the state comes
    /// after the name, which may have anything in it. proc_pid_syscall(5): who has not left its processor is running.
    /// Where only a debugger may see the call, the state says enough of whether it sleeps.
    fn sleeping(&self) -> Option<Vec<u64>> {
        let stat = self.file("stat");
        if !stat.rsplit_once(')').is_some_and(|(_, state)| state.starts_with(" S")) {
            return None;
        }
        let call = self.file("syscall");
        if call.starts_with("running") {
            return None;
        }
        let number = |word: &str| match word.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => word.parse().ok(),
        };
        Some(call.split_whitespace().filter_map(number).collect())
    }

    /// Whether a signal has it stand still.
    pub fn is_stopped(&self) -> bool {
        self.file("stat").rsplit_once(')').is_some_and(|(_, state)| state.starts_with(" T"))
    }

    pub fn is_asleep(&self) -> bool {
        self.sleeping().is_some()
    }

    /// For how long it has had a processor: the first number of its schedstat (Documentation/scheduler/sched-stats.rst).
    pub fn ran(&self) -> Duration {
        let stat = self.file("schedstat");
        Duration::from_nanos(stat.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or_default())
    }

    /// The name that it was given, of which the kernel keeps 15 bytes (pthread_setname_np(3)).
    pub fn name(&self) -> String {
        self.file("comm").trim_end().into()
    }

    pub fn has_ended(&self) -> bool {
        self.file("stat").is_empty()
    }

    /// Waits until it is.
    #[track_caller]
    pub fn falls_asleep(&self) {
        eventually("a thread sleeps", || self.is_asleep());
    }

    /// Whether it sleeps in a call that no time ends: it uses no processor until somebody wakes it.
    pub fn is_asleep_without_limit(&self) -> bool {
        let Some(call) = self.sleeping() else { return false };
        let [number, _, _, third, fourth, ..] = call[..] else { return false };
        match number as i64 {
            libc::SYS_futex | libc::SYS_futex_waitv => fourth == 0,
            libc::SYS_poll => third as i32 == -1,
            libc::SYS_ppoll => third == 0,
            libc::SYS_epoll_wait | libc::SYS_epoll_pwait => fourth as i32 == -1,
            _ => false,
        }
    }

    /// Whether it sleeps in a read of that descriptor.
    fn is_asleep_in_read(&self, descriptor: i32) -> bool {
        let read = [libc::SYS_read as u64, descriptor as u64];
        self.sleeping().is_some_and(|call| call.is_empty() || call.starts_with(&read))
    }

    /// How often it has gone to sleep.
    fn sleeps(&self) -> String {
        let status = self.file("status");
        status.lines().find(|line| line.starts_with("voluntary_ctxt_switches")).unwrap_or_default().into()
    }
}

/// Waits until all of these sleep at one moment, each until somebody wakes it: then none of them wakes another.
#[track_caller]
pub fn all_are_idle(threads: &[Thread]) {
    let sleeps = || threads.iter().map(Thread::sleeps).collect::<Vec<_>>();
    eventually("nobody has anything to do, and all sleep", || {
        let before = sleeps();
        threads.iter().all(Thread::is_asleep_without_limit) && sleeps() == before
    });
}

/// All threads of a process.
pub fn threads_of(process: u32) -> Vec<Thread> {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let numbers = tasks.filter_map(|task| task.file_name().to_str()?.parse().ok());
    numbers.map(|thread| Thread::of(process, thread)).collect()
}

/// Waits until every thread of another process sleeps.
#[track_caller]
pub fn process_falls_asleep(process: u32) {
    eventually("a process sleeps", || {
        let threads = threads_of(process);
        !threads.is_empty() && threads.iter().all(Thread::is_asleep)
    });
}

/// How often the threads of another process have gone to sleep.
pub fn sleeps_of(process: u32) -> u64 {
    let of =
        |thread: Thread| thread.sleeps().rsplit_once('\t').and_then(|(_, times)| times.parse::<u64>().ok());
    threads_of(process).into_iter().filter_map(of).sum()
}

/// Waits until every thread of this process but the one that asks sleeps. Only where no other test runs in it.
#[track_caller]
pub fn others_fall_asleep() {
    let me = Thread::here();
    eventually("all other threads sleep", || {
        threads_of(std::process::id()).iter().all(|thread| *thread == me || thread.is_asleep())
    });
}

/// Makes the calling thread sleep once per call, at most `times`: in one read(2), until another thread has
/// seen it asleep and has run `meanwhile`. A timer may expire before a displaced thread has gone to sleep.
pub fn sleeper(times: u32, mut meanwhile: impl FnMut() + Send + 'static) -> impl FnMut() {
    let (mut read, mut written) = io::pipe().unwrap();
    let (this, descriptor) = (Thread::here(), read.as_raw_fd());
    thread::spawn(move || {
        for _ in 0..times {
            eventually("a thread sleeps", || this.is_asleep_in_read(descriptor));
            meanwhile();
            written.write_all(&[0]).unwrap();
        }
    });
    move || read.read_exact(&mut [0]).unwrap()
}
