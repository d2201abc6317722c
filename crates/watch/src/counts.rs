//! What was counted: of each thread its calls by number and file, and its other crossings. `None` is what a way of counting cannot see; it is never 0.

use std::time::Duration;

/// What was counted of all who were watched, from the beginning on.
#[derive(Clone, Debug, PartialEq)]
pub struct Counts {
    /// Each thread that was seen, the ended ones as well.
    pub threads: Vec<Thread>,
    /// For how long they were watched.
    pub watched: Duration,
    /// For how long of that it was counted: less, where it is counted in slices of time.
    pub counted: Duration,
    /// How often what was counted really happened: more often, where it is counted in slices. Switches, page faults and processor time are always of all the
    /// time.
    pub scale: f64,
    /// What there was no room for: threads, and calls by number and file, that are in no count.
    pub lost: u64,
}

impl Default for Counts {
    fn default() -> Counts {
        Counts { threads: Vec::new(), watched: Duration::ZERO, counted: Duration::ZERO, scale: 1.0, lost: 0 }
    }
}

impl Counts {
    /// What was counted since an earlier moment of the same watching.
    pub fn since(&self, earlier: &Counts) -> Counts {
        let before = |thread: &Thread| {
            let same = |one: &&Thread| {
                (one.number, one.process, &one.name) == (thread.number, thread.process, &thread.name)
            };
            earlier.threads.iter().find(same).cloned().unwrap_or_default()
        };
        Counts {
            threads: self.threads.iter().map(|thread| thread.since(&before(thread))).collect(),
            watched: self.watched.saturating_sub(earlier.watched),
            counted: self.counted.saturating_sub(earlier.counted),
            scale: self.scale,
            lost: self.lost.saturating_sub(earlier.lost),
        }
    }
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
    /// Processor time in user mode, as the kernel's ticks found it: sampled, 100 to 1000 times a second.
    pub user: Option<Duration>,
    /// Processor time in the kernel, as the kernel's ticks found it.
    pub system: Option<Duration>,
    /// Processor time, exactly.
    pub ran: Option<Duration>,
}

impl Thread {
    /// Adds what another thread did.
    pub fn add(&mut self, other: &Thread) {
        for calls in &other.calls {
            match self.calls.iter_mut().find(|same| (same.number, same.file) == (calls.number, calls.file)) {
                Some(same) => same.add(calls),
                None => self.calls.push(calls.clone()),
            }
        }
        self.moments.add(&other.moments);
        self.user = sum(self.user, other.user);
        self.system = sum(self.system, other.system);
        self.ran = sum(self.ran, other.ran);
    }
}

impl Thread {
    fn since(&self, earlier: &Thread) -> Thread {
        let before = |calls: &Calls| {
            let same = |one: &&Calls| (one.number, one.file) == (calls.number, calls.file);
            earlier.calls.iter().find(same).cloned().unwrap_or_default()
        };
        let calls =
            self.calls.iter().map(|calls| calls.since(&before(calls))).filter(|calls| calls.count > 0);
        let time = |now, then| less(now, then, Duration::saturating_sub);
        Thread {
            number: self.number,
            process: self.process,
            name: self.name.clone(),
            calls: calls.collect(),
            moments: self.moments.since(&earlier.moments),
            user: time(self.user, earlier.user),
            system: time(self.system, earlier.system),
            ran: time(self.ran, earlier.ran),
        }
    }
}

impl Calls {
    fn since(&self, earlier: &Calls) -> Calls {
        let count = |now, then| less(now, then, u64::saturating_sub);
        let time = |now, then| less(now, then, Duration::saturating_sub);
        Calls {
            number: self.number,
            file: self.file,
            count: self.count.saturating_sub(earlier.count),
            failed: count(self.failed, earlier.failed),
            results: count(self.results, earlier.results),
            inside: time(self.inside, earlier.inside),
            away: time(self.away, earlier.away),
            slept: count(self.slept, earlier.slept),
            woke_here: count(self.woke_here, earlier.woke_here),
            woke_across: count(self.woke_across, earlier.woke_across),
        }
    }

    /// Adds other calls of that number on that file.
    pub fn add(&mut self, other: &Calls) {
        self.count += other.count;
        self.failed = sum(self.failed, other.failed);
        self.results = sum(self.results, other.results);
        self.inside = sum(self.inside, other.inside);
        self.away = sum(self.away, other.away);
        self.slept = sum(self.slept, other.slept);
        self.woke_here = sum(self.woke_here, other.woke_here);
        self.woke_across = sum(self.woke_across, other.woke_across);
    }
}

impl Moments {
    fn since(&self, earlier: &Moments) -> Moments {
        let count = |now, then| less(now, then, u64::saturating_sub);
        Moments {
            voluntary: count(self.voluntary, earlier.voluntary),
            involuntary: count(self.involuntary, earlier.involuntary),
            woken_here: count(self.woken_here, earlier.woken_here),
            woken_across: count(self.woken_across, earlier.woken_across),
            minor: count(self.minor, earlier.minor),
            major: count(self.major, earlier.major),
            signals: count(self.signals, earlier.signals),
            interrupts: count(self.interrupts, earlier.interrupts),
            operations: count(self.operations, earlier.operations),
            exits: count(self.exits, earlier.exits),
            migrations: count(self.migrations, earlier.migrations),
        }
    }

    /// Adds another thread's.
    pub fn add(&mut self, other: &Moments) {
        self.voluntary = sum(self.voluntary, other.voluntary);
        self.involuntary = sum(self.involuntary, other.involuntary);
        self.woken_here = sum(self.woken_here, other.woken_here);
        self.woken_across = sum(self.woken_across, other.woken_across);
        self.minor = sum(self.minor, other.minor);
        self.major = sum(self.major, other.major);
        self.signals = sum(self.signals, other.signals);
        self.interrupts = sum(self.interrupts, other.interrupts);
        self.operations = sum(self.operations, other.operations);
        self.exits = sum(self.exits, other.exits);
        self.migrations = sum(self.migrations, other.migrations);
    }
}

/// What grew since; what was not known earlier was nothing then.
fn less<T>(now: Option<T>, then: Option<T>, of: fn(T, T) -> T) -> Option<T> {
    match (now, then) {
        (Some(now), Some(then)) => Some(of(now, then)),
        (now, _) => now,
    }
}

/// Of two sums of which one may be unknown what is known.
fn sum<T: std::ops::Add<Output = T>>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one + other),
        (one, other) => one.or(other),
    }
}

/// System calls of one number on one file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Calls {
    /// The number of the call (asm/unistd_64.h); [`u32::MAX`] is all of which the number was not told. Calls of other tables (of 32 bits, by `int 0x80` or a 32-bit
    /// program, and x32) are all together under one that this table has not: by the kernel's tracepoints the last of
    /// [`NUMBERS`](crate::kernel::layout::NUMBERS).
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
    /// How many they woke that had slept on another one.
    pub woke_across: Option<u64>,
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
    /// Exits of the virtual processor that it runs.
    pub exits: Option<u64>,
    /// Times that it went on on another processor.
    pub migrations: Option<u64>,
}
