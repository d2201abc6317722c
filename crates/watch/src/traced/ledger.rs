//! What the tracer counts and everybody may read.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use procfs::FromRead;
use procfs::process::Stat;

use super::workers::Workers;
use crate::{Calls, Counts, File, Moments, Paths, Thread, is_proc_own};

/// Numbers of page faults: without a disk, and with one.
type Faults = (u64, u64);

/// Files whose paths are kept: the first ones.
const NAMES: usize = 1 << 16;

/// Between the tracer and everybody else.
pub(super) struct Shared {
    ledger: Mutex<Ledger>,
    /// Told of the program's end, and of the tracer's.
    pub(super) changed: Condvar,
}

pub(super) struct Ledger {
    /// Whether /proc has the numbers that are known here.
    is_proc_own: bool,
    threads: Vec<Record>,
    workers: Workers,
    /// Paths of files that calls were made on.
    pub(super) names: BTreeMap<File, String>,
    began: Instant,
    /// For how long it was watched, once that is over.
    pub(super) over: Option<Duration>,
    /// How the program ended that was started, as wait(2) says it.
    pub(super) status: Option<i32>,
}

#[derive(Default)]
struct Tally {
    count: u64,
    failed: u64,
    results: u64,
    paths: Paths,
    paths_failed: Paths,
}

/// A thread under one number.
struct Record {
    number: u32,
    process: u32,
    name: String,
    calls: HashMap<(u32, File), Tally>,
    /// Signals and faults are known where /proc tells of the thread.
    is_in_proc: bool,
    signals: u64,
    before: Faults,
    faults: Option<Faults>,
    has_ended: bool,
}

impl Shared {
    pub(super) fn new() -> Shared {
        let (threads, began) = (Vec::new(), Instant::now());
        let (workers, names) = (Workers::default(), BTreeMap::new());
        let ledger =
            Ledger { is_proc_own: is_proc_own(), threads, workers, names, began, over: None, status: None };
        Shared { ledger: Mutex::new(ledger), changed: Condvar::new() }
    }

    pub(super) fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ledger {
    /// A thread from now on; where it is found from then on. One that is `new` had no faults before.
    pub(super) fn begin(&mut self, number: u32, process: u32, is_new: bool) -> usize {
        let mut record = Record {
            number,
            process,
            name: String::new(),
            calls: HashMap::new(),
            is_in_proc: self.is_proc_own,
            signals: 0,
            before: (0, 0),
            faults: None,
            has_ended: false,
        };
        if !is_new {
            record.look(record.number);
            record.before = record.faults.take().unwrap_or_default();
        }
        self.threads.push(record);
        self.threads.len() - 1
    }

    /// The faults up to now are not the program's.
    pub(super) fn faults_begin(&mut self, at: usize) {
        let record = &mut self.threads[at];
        record.look(record.number);
        record.before = record.faults.take().unwrap_or_default();
    }

    /// A call that came back with a result, or `None` for a failure; [`Some(0)`](Some) for a call that never comes back; with the path that it has, if any.
    pub(super) fn called(&mut self, at: usize, call: (u32, File), result: Option<i64>, path: Option<Paths>) {
        let tally = self.threads[at].calls.entry(call).or_default();
        tally.count += 1;
        tally.failed += u64::from(result.is_none());
        let paths = if result.is_some() { &mut tally.paths } else { &mut tally.paths_failed };
        *paths = *paths + path.unwrap_or_default();
        // One sum of results that wrapped would need addresses of mmap by the ten thousand.
        tally.results = tally.results.saturating_add(result.and_then(|r| u64::try_from(r).ok()).unwrap_or(0));
    }

    /// A call was made on a file that has this path.
    pub(super) fn named(&mut self, file: File, path: String) {
        if self.names.len() < NAMES {
            self.names.insert(file, path);
        }
    }

    pub(super) fn signalled(&mut self, at: usize) {
        self.threads[at].signals += 1;
    }

    /// A thread is about to end.
    pub(super) fn end(&mut self, at: usize) {
        self.end_as(at, self.threads[at].number);
    }

    /// A thread goes on under another number, and another record.
    pub(super) fn end_as(&mut self, at: usize, number: u32) {
        let record = &mut self.threads[at];
        record.look(number);
        record.has_ended = true;
    }

    /// A thread is no more, whether it was seen ending or not.
    pub(super) fn gone(&mut self, at: usize) {
        self.threads[at].has_ended = true;
    }

    /// Nothing is counted from now on. Whoever lives is looked at once more.
    pub(super) fn close(&mut self) {
        self.look();
        self.over.get_or_insert_with(|| self.began.elapsed());
    }

    /// Processes of which a thread is not known to have ended.
    pub(super) fn processes(&self) -> BTreeSet<u32> {
        self.threads.iter().filter(|record| !record.has_ended).map(|record| record.process).collect()
    }

    pub(super) fn counts(&mut self) -> Counts {
        self.look();
        let watched = self.over.unwrap_or_else(|| self.began.elapsed());
        Counts {
            threads: self.threads.iter().map(Record::thread).chain(self.workers.threads()).collect(),
            watched,
            counted: watched,
            ..Counts::default()
        }
    }

    /// Looks at the threads that the kernel has in a process, which are not traced. What they did before counts only where
    /// they `are_new`.
    pub(super) fn look_at_workers(&mut self, process: u32, is_traced: impl Fn(u32) -> bool, are_new: bool) {
        if self.is_proc_own {
            self.workers.look(process, is_traced, are_new);
        }
    }

    /// Looks once more at all that live.
    pub(super) fn look(&mut self) {
        if self.over.is_none() {
            let live = self.threads.iter().filter(|record| !record.has_ended);
            let traced: BTreeSet<u32> = live.map(|record| record.number).collect();
            for process in self.processes() {
                self.look_at_workers(process, |thread| traced.contains(&thread), true);
            }
            self.threads
                .iter_mut()
                .filter(|record| !record.has_ended)
                .for_each(|record| record.look(record.number));
        }
    }
}

impl Record {
    /// Its name and faults, as far as they can be asked; now under this number.
    fn look(&mut self, number: u32) {
        if !self.is_in_proc {
            return;
        }
        if let Ok(stat) = Stat::from_file(format!("/proc/{}/task/{}/stat", self.process, number)) {
            self.name = stat.comm;
            self.faults = Some((stat.minflt, stat.majflt));
        }
    }

    fn thread(&self) -> Thread {
        let looked_at = |paths: Paths| (paths.paths > 0).then_some(paths);
        let mut calls: Vec<Calls> = self
            .calls
            .iter()
            .map(|((number, file), tally)| Calls {
                number: *number,
                file: *file,
                count: tally.count,
                failed: Some(tally.failed),
                results: Some(tally.results),
                paths: looked_at(tally.paths),
                paths_failed: looked_at(tally.paths_failed),
                ..Calls::default()
            })
            .collect();
        calls.sort_unstable_by_key(|calls| (calls.number, calls.file));
        let faults = self
            .faults
            .map(|(minor, major)| (minor.checked_sub(self.before.0), major.checked_sub(self.before.1)));
        let moments = Moments {
            signals: self.is_in_proc.then_some(self.signals),
            minor: faults.and_then(|faults| faults.0),
            major: faults.and_then(|faults| faults.1),
            ..Moments::default()
        };
        Thread {
            number: self.number,
            process: self.process,
            name: self.name.clone(),
            is_kernel_worker: false,
            calls,
            moments,
            ..Thread::default()
        }
    }
}
