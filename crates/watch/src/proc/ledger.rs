//! What was there at the first look and at the last one, of everybody who was seen.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::read::{Looked, Moved, Sums, Whole, descendants_of, nanoseconds, threads};
use crate::{Calls, Counts, File, Moments, Thread};

/// A thread that was seen.
struct Seen {
    before: Sums,
    last: Looked,
}

/// A process that was seen.
struct Process {
    before: (Sums, Sums),
    last: Whole,
    moved: Moved,
    /// It is there, be it as a zombie.
    lives: bool,
    /// Its threads, by number and start.
    threads: BTreeMap<(u32, u64), Seen>,
    /// How many there are.
    threads_now: usize,
}

/// All of them.
pub(super) struct Ledger {
    /// By number and start.
    processes: BTreeMap<(u32, u64), Process>,
    /// The number of the first.
    root: u32,
    children: bool,
    began: Instant,
    pub(super) over: Option<Duration>,
    /// Switches of the program that was started and of whom it waited for, voluntary and not: told at its end.
    switches: Option<(u64, u64)>,
}

impl Ledger {
    /// Of a process from now on; `None` where there is none.
    pub(super) fn new(process: u32, children: bool) -> Option<Ledger> {
        let began = Instant::now();
        let mut ledger =
            Ledger { processes: BTreeMap::new(), root: process, children, began, over: None, switches: None };
        ledger.meet(process, false);
        ledger.processes.values().next()?;
        if children {
            ledger.meet_descendants(false);
        }
        Some(ledger)
    }

    /// Takes a process in; what it did before is not counted unless it `is_new`.
    fn meet(&mut self, number: u32, is_new: bool) {
        let Some(whole) = Whole::at(number) else { return };
        let mut process = Process {
            before: Default::default(),
            last: whole,
            moved: Moved::of(number),
            lives: true,
            threads: BTreeMap::new(),
            threads_now: 0,
        };
        process.look(whole);
        process.look_at_threads(number, is_new);
        if !is_new {
            // The whole again, after its threads: what came between is then nobody's.
            process.look(Whole::at(number).unwrap_or(whole));
            process.before = (process.last.own, process.last.waited);
        }
        self.processes.insert((number, whole.started), process);
    }

    fn meet_descendants(&mut self, are_new: bool) {
        let living: Vec<u32> =
            self.processes.iter().filter(|(_, one)| one.lives).map(|((number, _), _)| *number).collect();
        descendants_of(&living).into_iter().for_each(|number| self.meet(number, are_new));
    }

    /// Looks at everybody who lives.
    pub(super) fn look(&mut self) {
        if self.over.is_some() {
            return;
        }
        for ((number, started), process) in self.processes.iter_mut().filter(|(_, process)| process.lives) {
            process.lives = false;
            // The whole first: what comes between is then missing for a moment, instead of being a thread's that never was.
            if let Some(whole) = Whole::at(*number).filter(|whole| whole.started == *started) {
                process.look(whole);
                process.lives = true;
                process.look_at_threads(*number, true);
            }
        }
        if self.children {
            self.meet_descendants(true);
        }
        if self.processes.values().all(Process::is_over) {
            self.close();
        }
    }

    /// Looks at those threads that the kernel has in processes, where a whole look has met one; says whether there are any.
    pub(super) fn look_at_workers(&mut self) -> bool {
        let mut is_any = false;
        let living = self.processes.iter_mut().filter(|(_, process)| process.lives && process.has_workers());
        for ((number, _), process) in living {
            is_any |= process.look_at_workers(*number);
        }
        is_any
    }

    pub(super) fn close(&mut self) {
        self.over.get_or_insert_with(|| self.began.elapsed());
    }

    /// The program has ended, and wait4(2) told how often it switched.
    pub(super) fn end(&mut self, voluntary: u64, involuntary: u64) {
        self.switches = Some((voluntary, involuntary));
        let ended = self.processes.iter_mut().filter(|((process, _), _)| *process == self.root);
        ended.for_each(|(_, process)| process.lives = false);
    }

    pub(super) fn counts(&mut self) -> Counts {
        self.look();
        let mut told = Vec::new();
        for ((number, _), process) in &self.processes {
            told.extend(process.threads.iter().map(|((thread, _), seen)| seen.thread(*thread, *number)));
            told.extend(self.rest(*number, process));
        }
        let watched = self.over.unwrap_or_else(|| self.began.elapsed());
        Counts { threads: told, watched, counted: watched, ..Counts::default() }
    }

    /// What a process tells of its threads and children that ended and nobody saw, or not to their end.
    fn rest(&self, number: u32, process: &Process) -> Option<Thread> {
        let own = process.last.own - process.before.0;
        let threads = process.threads.values().fold(Sums::default(), |sum, seen| sum + seen.sums());
        let mut rest = own - threads;
        if self.children {
            let ended = self.processes.values().filter(|one| !one.lives && one.last.parent == number);
            let seen = ended.fold(Sums::default(), |sum, one| sum + one.last.own + one.last.waited);
            let waited = (process.last.waited - process.before.1) - seen;
            rest = rest + waited;
            // These the process' own have in them.
            rest.calls = rest.calls.saturating_sub(seen.calls);
            rest.bytes = rest.bytes.saturating_sub(seen.bytes);
        } else {
            (rest.calls, rest.bytes) = (0, 0);
        }
        // Both times of each thread are cut to whole ticks.
        if rest.user + rest.system <= 2 * process.threads.len() as u64 {
            (rest.user, rest.system) = (0, 0);
        }
        rest.ran = nanoseconds(rest.user + rest.system);
        let switches = self.switches.filter(|_| number == self.root).map(|all| self.unseen(all));
        let moments = Moments {
            voluntary: switches.map(|(voluntary, _)| voluntary),
            involuntary: switches.map(|(_, involuntary)| involuntary),
            minor: Some(rest.minor),
            major: Some(rest.major),
            ..Moments::default()
        };
        let is_any = rest != Sums::default() || switches.is_some_and(|switches| switches != (0, 0));
        is_any.then(|| thread(0, number, "", &rest, moments))
    }

    /// Of the switches of those that ended, those that nobody saw.
    fn unseen(&self, (voluntary, involuntary): (u64, u64)) -> (u64, u64) {
        let ended = self.processes.values().filter(|process| !process.lives);
        let seen = ended
            .flat_map(|process| process.threads.values())
            .fold(Sums::default(), |sum, seen| sum + seen.sums());
        (voluntary.saturating_sub(seen.voluntary), involuntary.saturating_sub(seen.involuntary))
    }
}

impl Process {
    fn look(&mut self, whole: Whole) {
        let moved = self.moved.read().unwrap_or(self.last.own);
        self.last = whole;
        (self.last.own.calls, self.last.own.bytes) = (moved.calls, moved.bytes);
    }

    fn look_at_threads(&mut self, number: u32, are_new: bool) {
        let now = threads(number);
        self.threads_now = now.len();
        for thread in now {
            let Some(looked) = Looked::at(number, thread) else { continue };
            let before = if are_new { Sums::default() } else { looked.sums };
            let key = (thread, looked.started);
            match self.threads.get_mut(&key) {
                Some(seen) => seen.look(looked),
                None => drop(self.threads.insert(key, Seen { before, last: looked })),
            }
        }
    }

    fn has_workers(&self) -> bool {
        self.threads.values().any(|seen| seen.last.is_kernel_worker)
    }

    /// Looks at its threads that are the kernel's own, and at those that are new; says whether there are any of the former.
    fn look_at_workers(&mut self, number: u32) -> bool {
        let mut is_any = false;
        for thread in threads(number) {
            let mut known = self.threads.range_mut((thread, 0)..=(thread, u64::MAX)).peekable();
            if known.peek().is_some() && known.all(|(_, seen)| !seen.last.is_kernel_worker) {
                continue;
            }
            let Some(looked) = Looked::at(number, thread).filter(|looked| looked.is_kernel_worker) else {
                continue;
            };
            is_any = true;
            match self.threads.get_mut(&(thread, looked.started)) {
                Some(seen) => seen.look(looked),
                None => {
                    let before = Sums::default();
                    self.threads.insert((thread, looked.started), Seen { before, last: looked });
                }
            }
        }
        is_any
    }

    /// Nothing of it will change.
    fn is_over(&self) -> bool {
        !self.lives || self.last.is_zombie && self.threads_now <= 1
    }
}

impl Seen {
    fn look(&mut self, looked: Looked) {
        let (calls, bytes) = (self.last.sums.calls, self.last.sums.bytes);
        self.last = looked;
        if !self.last.knows_calls {
            (self.last.sums.calls, self.last.sums.bytes) = (calls, bytes);
        }
    }

    fn sums(&self) -> Sums {
        self.last.sums - self.before
    }

    fn thread(&self, number: u32, process: u32) -> Thread {
        let sums = self.sums();
        let moments = Moments {
            voluntary: Some(sums.voluntary),
            involuntary: Some(sums.involuntary),
            minor: Some(sums.minor),
            major: Some(sums.major),
            ..Moments::default()
        };
        Thread {
            is_kernel_worker: self.last.is_kernel_worker,
            ..thread(number, process, &self.last.name, &sums, moments)
        }
    }
}

fn thread(number: u32, process: u32, name: &str, sums: &Sums, moments: Moments) -> Thread {
    let calls = Calls {
        number: u32::MAX,
        file: File::default(),
        count: sums.calls,
        results: Some(sums.bytes),
        ..Calls::default()
    };
    let (user, system) = sums.times();
    Thread {
        number,
        process,
        name: name.into(),
        is_kernel_worker: false,
        calls: if sums.calls == 0 { Vec::new() } else { vec![calls] },
        moments,
        user: Some(user),
        system: Some(system),
        ran: Some(user + system),
    }
}
