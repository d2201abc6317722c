//! What was counted: of each thread its calls by number and file, and its other crossings. `None` is what a way of counting cannot see; it is never 0.

use std::time::Duration;

/// What was counted of all who were watched, from the beginning on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counts {
    /// Each thread that was seen, the ended ones as well.
    pub threads: Vec<Thread>,
    /// For how long they were watched.
    pub watched: Duration,
    /// For how long of that it was counted: less, where it is counted in slices of time.
    pub counted: Duration,
    /// What there was no room for: threads, and calls by number and file, that are in no count.
    pub lost: u64,
}

/// A thread.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Thread {
    /// Its number.
    pub number: u32,
    /// Its process' number.
    pub process: u32,
    /// The name that the kernel keeps of it (`comm`), the last one that it had; empty where it ended too soon to be asked.
    pub name: String,
    /// Its system calls, by number and file.
    pub calls: Vec<Calls>,
    /// Its other crossings.
    pub moments: Moments,
    /// Processor time, in user mode.
    pub user: Option<Duration>,
    /// Processor time, in the kernel.
    pub system: Option<Duration>,
}

/// System calls of one number on one file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Calls {
    /// The number of the call (asm/unistd_64.h); [`u32::MAX`] is all of which the number was not told.
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
    /// How often they woke somebody.
    pub woke: Option<u64>,
}

/// A file that a call is made on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct File {
    /// What it is.
    pub kind: FileKind,
    /// Its inode's number; 0 where that is not known.
    pub inode: u64,
}

/// What a file is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FileKind {
    /// The call is on no file, or on none that is open.
    #[default]
    None,
    /// A pipe, with a name or without.
    Pipe,
    /// A Unix socket.
    Unix,
    /// A TCP socket.
    Tcp,
    /// A UDP socket.
    Udp,
    /// Another socket.
    Socket,
    /// A file of a file system.
    Regular,
    /// A folder.
    Folder,
    /// /dev/null.
    Null,
    /// /dev/zero.
    Zero,
    /// A terminal.
    Terminal,
    /// Another character device.
    Character,
    /// A block device.
    Block,
    /// A file without a name: an eventfd, a timerfd, an epoll.
    Anonymous,
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
    /// Signals that were delivered.
    pub signals: Option<u64>,
    /// Interrupts while it ran.
    pub interrupts: Option<u64>,
    /// Operations that it gave to io_uring.
    pub operations: Option<u64>,
    /// Times that it went on on another processor.
    pub migrations: Option<u64>,
}
