//! How a thread's calls follow each other: what lies between two of a kind, and how many of them are on files that are new.

use std::collections::BTreeMap;
use std::time::Duration;

use tollway_watch::{Calls, File, FileKind, Thread, numbers};

use crate::walks::AllWalks;

/// Shares of the way from hot to cold, and the processor time in nanoseconds in which other work goes about two thirds of each.
///
/// The first-level caches have some 1,300 lines together (32 and 48 KiB of 64 bytes; Intel and AMD since 2019): as fast as a core takes lines from the second
/// level, one in some 6 cycles, that is 2 µs. The second level has 16,384 (1 MiB), which come from the third one in some 50 cycles each: 200 µs. How much of the
/// way each is was seen in calls of real programs (METHODOLOGY, "Hot and cold"): those that come 7 to 60 µs apart are four tenths of the way on the median, and it does
/// not matter where in that range.
const NEAR: (f64, f64) = (0.4, 2_000.0);
const FAR: (f64, f64) = (0.6, 200_000.0);

/// Page faults of a program's start that are on its own pages and its libraries', and the most of all faults that are. Of the 51 that
/// `/bin/true` has (Debian 12) some 40 are: of its and the C library's text, which the kernel maps some at a time, and of their data, which is written to;
/// the others are of the stack and of new memory.
const FAULTS_OF_START: f64 = 40.0;
const MOST_OF_FILES: f64 = 0.8;

/// Bytes that the last cache holds for a program: 32 MiB, of a core complex of AMD's EPYC since 2019 (Intel's Xeons have 16 to 60 for
/// all cores of a socket).
const LAST_LEVEL: f64 = (32u64 << 20) as f64;

/// What one thread's calls are priced by besides what they are.
pub(crate) struct Rhythm {
    /// Nanoseconds that the thread ran without what watching took of them, where that is known.
    ran: Option<f64>,
    /// Calls by their number and what they are made on.
    counts: BTreeMap<(u32, FileKind), f64>,
    /// How often it closed each file.
    closed: BTreeMap<File, f64>,
    /// Files that it made by opening them.
    created: f64,
    /// Whether its process has other threads.
    pub has_others: bool,
    /// Whether it, or its whole process, has ended.
    pub has_ended: bool,
    /// Programs that it executed.
    executed: f64,
    /// The share of processes, of all that were watched, that began as a copy of another; `None` where none was begun.
    pub copies: Option<f64>,
    /// The least and the most that the share may be of what it reads from files' beginnings to their ends that is in no cache.
    pub far: [f64; 2],
    /// The share of its wake-ups after which it sleeps itself: those who ask and answer in turns wake as often as they sleep.
    pub wakes_in_turns: f64,
    /// The share of its sleeps before which it woke somebody.
    pub sleeps_in_turns: f64,
}

/// What the rhythm of each thread goes by that is of all of them together: asked once of thousands of short processes, and not
/// once of each.
pub(crate) struct Together {
    copies: Option<f64>,
    /// What watching takes of processor time for each call, in nanoseconds: the program does nothing else in it that its caches hold.
    counting: f64,
    /// How many threads each process has.
    threads: BTreeMap<u32, usize>,
    /// Of how many names their paths are.
    pub walks: AllWalks,
}

impl Together {
    /// Of all threads that were watched, and the processor time that this took of them, in nanoseconds.
    pub(crate) fn of(all: &[Thread], counting: f64) -> Together {
        let mut threads = BTreeMap::new();
        for thread in all {
            *threads.entry(thread.process).or_default() += 1;
        }
        let made: f64 = all.iter().map(made).sum();
        Together {
            copies: copies(all),
            counting: counting / made.max(1.0),
            threads,
            walks: AllWalks::of(all),
        }
    }

    /// Nanoseconds that a thread ran without what watching took of them; `None` where that is not known.
    pub(crate) fn ran(&self, thread: &Thread) -> Option<f64> {
        thread.ran.map(|ran| self.of_its_own(thread, ran))
    }

    fn of_its_own(&self, thread: &Thread, ran: Duration) -> f64 {
        (ran.as_secs_f64() * 1e9 - made(thread) * self.counting).max(0.0)
    }
}

/// Calls that a thread made.
fn made(thread: &Thread) -> f64 {
    thread.calls.iter().map(|calls| calls.count as f64).sum()
}

impl Rhythm {
    /// Of all that a thread did, which is one of these.
    pub(crate) fn of(thread: &Thread, all: &Together) -> Rhythm {
        let mut counts: BTreeMap<_, f64> = BTreeMap::new();
        for calls in &thread.calls {
            *counts.entry((calls.number, calls.file.kind)).or_default() += calls.count as f64;
        }
        let mut closed: BTreeMap<_, f64> = BTreeMap::new();
        for calls in thread.calls.iter().filter(|calls| numbers::name(calls.number) == Some("close")) {
            *closed.entry(calls.file).or_default() += calls.count as f64;
        }
        let creates = thread.calls.iter().filter(|calls| calls.file.kind == FileKind::Created);
        let created = creates.map(|calls| calls.count as f64).sum();
        let ticks = thread.user.zip(thread.system).map(|(user, system)| user + system);
        let ran = all.ran(thread).or_else(|| ticks.map(|ticks| all.of_its_own(thread, ticks)));
        let ran = ran.filter(|ran| *ran > 0.0);
        let has_others = thread.number == 0 || all.threads.get(&thread.process).is_some_and(|many| *many > 1);
        let done = |names: &[&str]| -> f64 {
            let calls = thread.calls.iter();
            let calls =
                calls.filter(|calls| numbers::name(calls.number).is_some_and(|name| names.contains(&name)));
            calls.map(|calls| calls.done() as f64).sum()
        };
        let woke = |calls: &Calls| {
            [calls.woke_here, calls.woke_across, calls.woke_busy].into_iter().flatten().sum::<u64>()
        };
        let (wakes, sleeps) =
            (thread.calls.iter().map(woke).sum::<u64>() as f64, thread.moments.voluntary.unwrap_or(0) as f64);
        let share = |of: f64| wakes.min(sleeps) / of.max(1.0);
        Rhythm {
            ran,
            counts,
            closed,
            created,
            has_others,
            has_ended: done(&["exit_group"]) > 0.0,
            executed: done(&["execve", "execveat"]),
            copies: all.copies,
            far: read_once(thread).map(|bytes| (bytes / LAST_LEVEL).min(1.0)),
            wakes_in_turns: share(wakes),
            sleeps_in_turns: share(sleeps),
        }
    }

    /// The share of these page faults that are on pages of files, as a program's start has them.
    pub(crate) fn faults_of_files(&self, faults: f64) -> f64 {
        if faults > 0.0 { (self.executed * FAULTS_OF_START / faults).min(MOST_OF_FILES) } else { 0.0 }
    }

    /// The share of such calls that are the first on their file since that was opened: it is opened as often as it is closed.
    pub(crate) fn begun_files(&self, calls: &Calls) -> f64 {
        let closed = self.closed.get(&calls.file).copied().unwrap_or(0.0);
        if calls.count > 0 { (closed / calls.count as f64).min(1.0) } else { 0.0 }
    }

    fn alike(&self, calls: &Calls) -> f64 {
        self.counts.get(&(calls.number, calls.file.kind)).copied().unwrap_or(0.0)
    }

    /// Processor time of the thread from one call of this kind (a number, and what it is made on) to the next, in nanoseconds, those calls in it.
    pub(crate) fn period(&self, calls: &Calls) -> Option<f64> {
        let alike = self.alike(calls);
        (alike > 0.0).then(|| self.ran.map(|ran| ran / alike)).flatten()
    }

    /// The share of such calls that are on files that are new, where calls on new files are dearer: as many that write or make durable as the
    /// thread made files are each taken to be on a new one, at most all.
    pub(crate) fn new_files(&self, calls: &Calls) -> f64 {
        let alike = self.alike(calls);
        if alike > 0.0 { (self.created / alike).min(1.0) } else { 0.0 }
    }
}

/// The share of processes that began as a copy: the others borrow their parent's memory, who sleeps meanwhile.
fn copies(all: &[Thread]) -> Option<f64> {
    let (mut copies, mut others) = (0.0, 0.0);
    for calls in all.iter().flat_map(|thread| &thread.calls) {
        let done = calls.done() as f64;
        match numbers::name(calls.number) {
            Some("fork") => copies += done,
            Some("vfork") => others += done,
            Some("clone" | "clone3") if calls.slept.unwrap_or(0) as f64 > 0.5 * calls.count as f64 => {
                others += done;
            }
            Some("clone") => copies += done,
            _ => {}
        }
    }
    (copies + others > 0.0).then(|| copies / (copies + others))
}

/// The least and the most bytes that a thread read of files without having read them before: what it read of each, by how often that was closed. Who moves
/// to another place in a file may go back to its beginning each time, or never.
fn read_once(thread: &Thread) -> [f64; 2] {
    let mut files: BTreeMap<_, (f64, f64, f64)> = BTreeMap::new();
    for calls in thread.calls.iter().filter(|calls| calls.file.kind == FileKind::Regular) {
        let (bytes, closed, moved) = files.entry(calls.file).or_default();
        match numbers::name(calls.number) {
            Some("read" | "readv") => *bytes += calls.results.unwrap_or(0) as f64,
            Some("close") => *closed += calls.count as f64,
            Some("lseek") => *moved += calls.count as f64,
            _ => {}
        }
    }
    let sum = |times: fn(f64, f64) -> f64| {
        files.values().map(|(bytes, closed, moved)| bytes / times(closed.max(1.0), *moved)).sum()
    };
    [sum(|closed, moved| closed + moved), sum(|closed, _| closed)]
}

/// How cold a call is that comes every `period` nanoseconds and takes `itself` where it is hot: 0 is hot, 1 as cold as the cold tolls.
///
/// What was done in between replaces what the call had in the caches, some part of what is left in each stretch of time: in those near the core soon, in those
/// farther away later. The mean is all that is known: calls that come in bursts are hotter than that.
pub(crate) fn coldness(period: f64, itself: f64) -> f64 {
    let between = (period - itself).max(0.0);
    [NEAR, FAR].iter().map(|(share, time)| share * (1.0 - (-between / time).exp())).sum()
}

#[cfg(test)]
mod tests {
    use tollway_watch::File;

    use super::*;

    fn calls(name: &str, count: u64) -> Calls {
        let number = (0..400).find(|number| numbers::name(*number) == Some(name)).unwrap();
        Calls { number, count, ..Calls::default() }
    }

    #[test]
    fn what_follows_at_once_is_hot_and_what_comes_late_is_cold() {
        assert!(coldness(300.0, 300.0) == 0.0 && coldness(200.0, 300.0) == 0.0);
        assert!(coldness(600.0, 300.0) < 0.1 && coldness(2e6, 300.0) > 0.99);
        let between = [7_000.0, 60_000.0].map(|period| coldness(period, 300.0));
        assert!(between.iter().all(|cold| (0.35..0.6).contains(cold)), "{between:?}");
    }

    #[test]
    fn a_period_is_of_all_calls_of_a_kind() {
        let write = calls("write", 10);
        let all = vec![write.clone(), calls("read", 1), write.clone()];
        let thread = Thread { calls: all, ran: Some(Duration::from_micros(40)), ..Thread::default() };
        assert_eq!(Rhythm::of(&thread, &Together::of(&[], 0.0)).period(&write), Some(2_000.0));
        // Watching has taken 1 µs of each of the 21 calls.
        let watched = Together::of(std::slice::from_ref(&thread), 21_000.0);
        let period = Rhythm::of(&thread, &watched).period(&write).unwrap();
        assert_eq!(period, 950.0);
        assert_eq!(Rhythm::of(&Thread { ran: None, ..thread }, &Together::of(&[], 0.0)).period(&write), None);
    }

    #[test]
    fn what_was_read_of_many_files_is_in_no_cache() {
        let on = |name: &str, inode: u64, count: u64, bytes: u64| Calls {
            file: File { kind: FileKind::Regular, inode, ..File::default() },
            results: Some(bytes),
            ..calls(name, count)
        };
        let far = |calls: Vec<Calls>| {
            Rhythm::of(&Thread { calls, ..Thread::default() }, &Together::of(&[], 0.0)).far
        };
        let files = (0..2_000).flat_map(|inode| [on("read", inode, 2, 8 << 10), on("close", inode, 1, 0)]);
        assert_eq!(far(files.collect()), [16_000.0 / 32_768.0; 2]);
        // One file that is read a thousand times is in the caches from the second time on.
        assert_eq!(far(vec![on("read", 1, 2_000, 32 << 20), on("close", 1, 1_000, 0)]), [0.001; 2]);
        assert_eq!(far(vec![on("read", 1, 1_000, 1 << 30)]), [1.0; 2]);
        // Who goes to another place as often may read all of a file, or its beginning again and again.
        assert_eq!(far(vec![on("read", 1, 1_000, 1 << 30), on("lseek", 1, 1_023, 0)]), [1.0 / 32.0, 1.0]);
        assert_eq!(far(vec![on("pread64", 1, 1_000, 1 << 30), on("write", 2, 1_000, 1 << 30)]), [0.0; 2]);
    }

    #[test]
    fn as_many_files_are_new_as_were_made() {
        let made = Calls { file: File { kind: FileKind::Created, ..File::default() }, ..calls("openat", 10) };
        let all = vec![calls("openat", 40), made, calls("fdatasync", 40), calls("pwrite64", 5)];
        let rhythm = Rhythm::of(&Thread { calls: all.clone(), ..Thread::default() }, &Together::of(&[], 0.0));
        assert_eq!([2, 3].map(|at| rhythm.new_files(&all[at])), [0.25, 1.0]);
    }
}
