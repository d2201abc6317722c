//! What was counted: of each thread its calls by number and file, and its other crossings. `None` is what a way of counting cannot see; it is never 0.

mod file;
mod paths;
mod sums;

use std::collections::BTreeMap;
use std::time::Duration;

pub use file::{File, FileKind};
pub(crate) use paths::LOOKED_AT;
pub use paths::Paths;

/// What was counted of all who were watched, from the beginning on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counts {
    /// Each thread that was seen, the ended ones as well.
    pub threads: Vec<Thread>,
    /// What each of them did beyond that while it was not counted, estimated, in the same order; empty where
    /// everything was counted.
    pub extra: Vec<Thread>,
    /// By how much counts may be off: half of their 95 % intervals. What is not in it is exact.
    pub uncertainty: BTreeMap<Counted, f64>,
    /// For how long they were watched.
    pub watched: Duration,
    /// For how long of that it was counted: less, where it is counted in slices of time.
    pub counted: Duration,
    /// For how long of the rest it was counted how often each call was made, and nothing else.
    pub numbered: Duration,
    /// What counting took of the processor time of the watched, where that is known.
    pub cost: Duration,
    /// What there was no room for: threads, and calls by number and file, that are in no count.
    pub lost: u64,
}

/// What is counted only while counting is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Counted {
    /// Calls of a number on a kind of file.
    Call(u32, FileKind),
    /// Wake-ups of those that had slept on the same processor.
    WakesHere,
    /// Of those that had slept on another one, which was idle.
    WakesAcross,
    /// Of those that had slept on another one, which had something else to do.
    WakesBusy,
    /// Ends of sleeps by who ran on the same processor.
    WokenHere,
    /// By who ran on another one.
    WokenAcross,
    /// Page faults in user mode.
    FaultsInUser,
    /// Signals that were delivered.
    Signals,
    /// Interrupts, but for the timer's.
    Interrupts,
    /// The timer's interrupts.
    Ticks,
    /// Operations given to io_uring.
    Operations,
    /// Exits of virtual processors.
    Exits,
}

/// A thread.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Thread {
    /// Its number; 0 is several of one process and name that have ended.
    pub number: u32,
    /// Its process' number.
    pub process: u32,
    /// The name that the kernel keeps of it (`comm`), the last one that it had; empty where it ended too soon to be asked.
    pub name: String,
    /// It is the kernel's own in the process of a program, as those are that do the work of io_uring (`iou-sqp`, `iou-wrk`)
    /// and of vhost: it is never in user mode and makes no system calls, and all of its processor time is in the kernel.
    pub is_kernel_worker: bool,
    /// Its system calls, by number and file.
    pub calls: Vec<Calls>,
    /// Its other crossings.
    pub moments: Moments,
    /// Processor time in user mode, as the kernel's ticks found it: sampled, 100 to 1000 times a second.
    pub user: Option<Duration>,
    /// Processor time in the kernel, as the kernel's ticks found it.
    pub system: Option<Duration>,
    /// Processor time, exactly.
    pub ran: Option<Duration>,
}

/// System calls of one number on one file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Calls {
    /// The number of the call, as [`numbers`](crate::numbers) has them; [`u32::MAX`] is all of which the number was not told.
    pub number: u32,
    /// What the call's first argument leads to, where that is a descriptor.
    pub file: File,
    /// Calls that came back, and those that never do (`exit`, or `execve`, which comes back in another program).
    pub count: u64,
    /// Those of them that failed.
    pub failed: Option<u64>,
    /// Sum of their results that are more than 0: bytes, of calls that move some.
    pub results: Option<u64>,
    /// How long they were in the kernel and on a processor.
    pub inside: Option<Duration>,
    /// How long they were away from it.
    pub away: Option<Duration>,
    /// How often they left it to wait.
    pub slept: Option<u64>,
    /// How many they woke that had slept on the same processor.
    pub woke_here: Option<u64>,
    /// How many they woke that had slept on another one, which was idle.
    pub woke_across: Option<u64>,
    /// How many they woke that had slept on another one, which had something else to do.
    pub woke_busy: Option<u64>,
    /// Paths of those that did not fail, as far as they were looked at.
    pub paths: Option<Paths>,
    /// Paths of those that failed.
    pub paths_failed: Option<Paths>,
}

/// Crossings that are no system calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moments {
    /// Switches away because it had to wait.
    pub voluntary: Option<u64>,
    /// Switches away although it had work.
    pub involuntary: Option<u64>,
    /// Times that it was woken from the processor on which it then ran.
    pub woken_here: Option<u64>,
    /// Times that it was woken from another one.
    pub woken_across: Option<u64>,
    /// Page faults that no disk was asked for.
    pub minor: Option<u64>,
    /// Page faults that waited for a disk.
    pub major: Option<u64>,
    /// Page faults of both kinds in user mode: the others came within calls, as the kernel copies to memory or from it.
    pub in_user: Option<u64>,
    /// Those of them in user mode that read or executed, of pages of files mostly.
    pub reading: Option<u64>,
    /// Those in user mode that wrote to a page that may be read alone, which is copied.
    pub copying: Option<u64>,
    /// Signals that were delivered.
    pub signals: Option<u64>,
    /// Interrupts while it ran, but for the timer's: devices', and those of other processors.
    pub interrupts: Option<u64>,
    /// The timer's interrupts while it ran.
    pub ticks: Option<u64>,
    /// Operations that it gave to io_uring.
    pub operations: Option<u64>,
    /// Exits of the virtual processor that it runs.
    pub exits: Option<u64>,
    /// Times that it went on on another processor.
    pub migrations: Option<u64>,
}
