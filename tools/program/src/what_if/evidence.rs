//! The evidence for changes that the lines of a bill, which are sums, no longer have: of each thread, process
//! and file.

use std::collections::{BTreeMap, BTreeSet};

use tollway_watch::{Counts, FileKind, Thread};

use super::channels::Channels;
use super::larger_reads::GATHERED;
use crate::bill::name_of;
use crate::rhythm::Together;
use crate::route::moves_bytes;

/// Processor time in nanoseconds below which a process is little more than its start and its end. By
/// wait4(2), Debian 12 on an AMD EPYC: `/bin/true` 0.8 ms, `cat`, `dd`, `grep`, `sh`, `bash` 1.0 to 1.4 ms,
/// `perl` 3.6 ms.
const SHORT: f64 = 10e6;
/// Page faults of a program's start: of its image, its libraries and its first memory. There `/bin/true` has
/// 51, `cat` 77, `grep` 101, `bash` 142, `perl` 212.
const FAULTS_OF_EXEC: f64 = 200.0;
/// Page faults that a fork brings: pages that parent and child have together are copied as either writes to
/// them. There `sh` has 10 a fork and `bash` 16, and their children 23 and 50.
const FAULTS_OF_FORK: f64 = 50.0;
/// Calls by which a program's start moves the end of its heap, or gives back memory (ld.so(8) unmaps its
/// cache). There these are 2 to 5.
const GIVEN_BACK_BY_EXEC: f64 = 5.0;
/// The share of processor time from which on a thread is said to run.
const RUNS: f64 = 0.01;

/// What was seen of threads, processes and files.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evidence {
    /// Who reads and who writes what goes through channels.
    pub(super) channels: Channels,
    /// Of calls that move bytes, by name and file: the share that is left where each file's bytes are moved
    /// 64 KiB at a time.
    pub(super) left: BTreeMap<(String, FileKind), f64>,
    /// The share of opens that open a file again that the same process had opened before.
    pub(super) reopened: f64,
    /// Threads that run for more than a hundredth of its processor time.
    pub(super) running: usize,
    /// What its processes do with memory beyond their start.
    pub(super) heaps: Vec<Heap>,
    /// Its processes that are short.
    pub(super) short: Short,
}

/// What a process does with memory beyond what its start does.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Heap {
    /// Page faults.
    pub faults: f64,
    /// Calls that give memory back, or move the heap's end.
    pub given_back: f64,
    /// Calls that ask for memory or give it back, all of them.
    pub calls: f64,
}

/// Processes that take little more than to start and to end.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Short {
    /// How many of them there are.
    pub processes: f64,
    /// Their page faults.
    pub faults: f64,
    /// Nanoseconds that their calls were in the kernel, as they were stamped.
    pub inside: f64,
    /// Their processor time, in nanoseconds, but what counting took of it.
    pub ran: f64,
}

impl Evidence {
    /// Of all that was counted. `all` is what threads did in all; files that are used again are looked for in
    /// what was counted, as it was: slices of time that stand for others would have each file used several
    /// times.
    pub(crate) fn of(counts: &Counts, all: &[Thread], together: &Together) -> Evidence {
        let mut processes: BTreeMap<u32, Vec<&Thread>> = BTreeMap::new();
        for thread in all {
            processes.entry(thread.process).or_default().push(thread);
        }
        let whole: f64 = all.iter().map(ran).sum();
        // An entry without a number is of several threads that have ended.
        let runs = all.iter().filter(|thread| ran(thread) > RUNS * whole);
        Evidence {
            channels: Channels::of(all),
            left: left(&counts.threads),
            reopened: reopened(&counts.threads),
            running: runs.map(|thread| if thread.number == 0 { 2 } else { 1 }).sum(),
            heaps: processes.values().filter(|threads| !is_short(threads)).map(|one| Heap::of(one)).collect(),
            short: Short::of(processes.values().filter(|threads| is_short(threads)), all, together),
        }
    }
}

impl Heap {
    fn of(threads: &[&Thread]) -> Heap {
        let (execs, forks) = (count(threads, &["execve", "execveat"]), count(threads, &FORKS));
        let faults = faults(threads) - FAULTS_OF_EXEC * execs.max(1.0) - FAULTS_OF_FORK * forks;
        let given_back = count(threads, &["munmap", "madvise", "brk"]) - GIVEN_BACK_BY_EXEC * execs.max(1.0);
        let calls = count(threads, &["munmap", "madvise", "mmap", "brk"]);
        Heap { faults: faults.max(0.0), given_back: given_back.max(0.0), calls }
    }
}

impl Short {
    /// Of processes that are short: of those that were begun meanwhile, not more than there were forks. The
    /// others sleep.
    fn of<'t>(
        short: impl Iterator<Item = &'t Vec<&'t Thread>>,
        all: &[Thread],
        together: &Together,
    ) -> Short {
        let forks = count(&all.iter().collect::<Vec<_>>(), &FORKS);
        let mut sum = Short::default();
        for threads in short {
            sum.processes += 1.0;
            sum.faults += faults(threads);
            sum.ran += threads.iter().filter_map(|thread| together.ran(thread)).sum::<f64>();
            let calls = threads.iter().flat_map(|thread| &thread.calls);
            sum.inside +=
                calls.filter_map(|calls| calls.inside).map(|inside| inside.as_secs_f64() * 1e9).sum::<f64>();
        }
        // Forks that are counted in slices of time are an estimate; where they are for most, they are for all.
        let begun = match forks / sum.processes.max(1.0) {
            most if most > 0.5 => 1.0,
            some => some,
        };
        Short {
            processes: sum.processes * begun,
            faults: sum.faults * begun,
            inside: sum.inside * begun,
            ran: sum.ran * begun,
        }
    }
}

/// Calls that begin a process, and the two of them that begin threads as well.
pub(super) const FORKS: [&str; 4] = ["fork", "vfork", "clone", "clone3"];

fn ran(thread: &Thread) -> f64 {
    thread.ran.map_or(0.0, |ran| ran.as_secs_f64() * 1e9)
}

/// Where it is not known how long it ran it is not short.
fn is_short(threads: &[&Thread]) -> bool {
    threads.iter().all(|thread| thread.ran.is_some())
        && threads.iter().map(|thread| ran(thread)).sum::<f64>() < SHORT
}

fn faults(threads: &[&Thread]) -> f64 {
    threads.iter().filter_map(|thread| thread.moments.minor).sum::<u64>() as f64
}

/// How often calls of these names were made and did not fail.
fn count(threads: &[&Thread], names: &[&str]) -> f64 {
    let calls = threads.iter().flat_map(|thread| &thread.calls);
    calls.filter(|calls| names.contains(&name_of(calls))).map(|calls| calls.done() as f64).sum()
}

/// The share of calls that are left where each process moves each file's bytes 64 KiB at a time: a file has
/// one call at the least, and of a file system's one the read that finds its end as well.
fn left(threads: &[Thread]) -> BTreeMap<(String, FileKind), f64> {
    let mut by_file: BTreeMap<_, (f64, f64)> = BTreeMap::new();
    for thread in threads {
        for calls in thread.calls.iter().filter(|calls| moves_bytes(name_of(calls))) {
            let of = by_file.entry((thread.process, name_of(calls), calls.file)).or_default();
            *of = (of.0 + calls.done() as f64, of.1 + calls.results.unwrap_or(0) as f64);
        }
    }
    let mut sums: BTreeMap<_, (f64, f64)> = BTreeMap::new();
    for ((_, call, file), (before, bytes)) in by_file {
        let end = if file.kind == FileKind::Regular && super::is_read(call) { 1.0 } else { 0.0 };
        let fewer = match (file.kind, file.inode) {
            // There was no room to tell these apart, so they are many.
            (FileKind::Regular, 0) => before,
            _ => ((bytes / GATHERED).ceil() + end).min(before),
        };
        let sum = sums.entry((call.to_string(), file.kind)).or_default();
        *sum = (sum.0 + before, sum.1 + fewer);
    }
    let share = |(before, after): (f64, f64)| if before > 0.0 { after / before } else { 1.0 };
    sums.into_iter().map(|(of, sum)| (of, share(sum))).collect()
}

/// The share of opens that open again what the same process had open before: an open does not tell which file
/// it is of, but the close of it does. Whatever is closed of one file more than once was opened again, or is
/// a second descriptor of it; so it is not more than the opens beyond one for each file.
fn reopened(threads: &[Thread]) -> f64 {
    #[derive(Default)]
    struct Process {
        opens: f64,
        closes: BTreeMap<tollway_watch::File, f64>,
        used: BTreeSet<tollway_watch::File>,
    }
    let mut processes: BTreeMap<u32, Process> = BTreeMap::new();
    for thread in threads {
        let process = processes.entry(thread.process).or_default();
        for calls in &thread.calls {
            let is_file = matches!(calls.file.kind, FileKind::Regular | FileKind::Folder);
            let is_open = name_of(calls).starts_with("open");
            if is_open {
                process.opens += calls.done() as f64;
            }
            // The folder of an open is where it begins to look.
            if is_file && calls.file.inode != 0 && !is_open {
                process.used.insert(calls.file);
                if name_of(calls) == "close" {
                    *process.closes.entry(calls.file).or_default() += calls.done() as f64;
                }
            }
        }
    }
    let opens: f64 = processes.values().map(|process| process.opens).sum();
    let again = processes.values().map(|process| {
        let closed: f64 = process.closes.values().map(|closes| (closes - 1.0).max(0.0)).sum();
        closed.min((process.opens - process.used.len() as f64).max(0.0))
    });
    let again: f64 = again.sum();
    if opens > 0.0 { again / opens } else { 0.0 }
}
