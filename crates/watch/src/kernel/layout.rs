//! What programs in the kernel and this one share: where which number stands. All are of 64 bits where nothing else is said.

/// What each processor knows.
pub mod processor {
    /// The thread that was found there last, 32 bits, and its slot, 32 bits; slot 0 is one that is not watched.
    pub const LAST: i16 = 0;
    /// Bytes.
    pub const SIZE: usize = 8;
}

/// Whether a processor is idle: a word for each.
pub mod idle {
    /// It has something to do; another number than this is that it has not, or that it is not known.
    pub const BUSY: i32 = 1;
    /// It has not.
    pub const IDLE: i32 = 2;
}

/// What is known of a thread: one slot.
pub mod thread {
    /// The number that it was first watched under and its process' number, 32 bits each: as this process has
    /// them, in its PID namespace.
    pub const NUMBER: i16 = 0;
    /// When it entered the system call in which it is; 0 outside, or where nobody saw it.
    pub const ENTERED: i16 = 8;
    /// Which that is, by its number of [`numbers`](crate::numbers).
    pub const CALL: i16 = 16;
    /// How long it was away from the processor in that call.
    pub const AWAY: i16 = 24;
    /// How often it went to sleep in that call.
    pub const SLEPT: i16 = 32;
    /// How many it woke in that call that had slept on the same processor; those that an interrupt woke meanwhile are among them.
    pub const WOKE_HERE: i16 = 40;
    /// How many it woke in that call that had slept on another one, which was idle.
    pub const WOKE_ACROSS: i16 = 48;
    /// The file of that call: the topmost bits of its mode (S_IFMT of stat.h, shifted by 12); 0 is none.
    pub const TYPE: i16 = 56;
    /// The number of its inode.
    pub const INODE: i16 = 64;
    /// Of a socket its family and, from bit 16 on, its protocol; of a device its number; else the number of its file system. As the kernel has them.
    pub const WHAT: i16 = 72;
    /// When it left its processor in a call; 0 while it runs.
    pub const OUT: i16 = 80;
    /// The processor of who woke it, and 1; 0 if nobody did since it left.
    pub const WOKEN_BY: i16 = 88;
    /// The processor on which it ran last, and 1; 0 where that is not known.
    pub const LAST: i16 = 96;
    /// Not 0 if a signal broke its last call off, and it has made none since.
    pub const BROKEN_OFF: i16 = 264;
    /// Not 0 if the call that it comes back from next is counted already: with its parent's, where it comes back from
    /// the call that made it, or when it began, where calls were counted by their numbers then.
    pub const COUNTED: i16 = 104;
    /// Switches away because it had to wait.
    pub const VOLUNTARY: i16 = 112;
    /// Switches away although it had work.
    pub const INVOLUNTARY: i16 = 120;
    /// Wake-ups from the processor on which it then ran.
    pub const WOKEN_HERE: i16 = 128;
    /// Wake-ups from another one.
    pub const WOKEN_ACROSS: i16 = 136;
    /// Times that it went on on another processor.
    pub const MIGRATIONS: i16 = 144;
    /// Page faults in user mode.
    pub const FAULTS: i16 = 152;
    /// Interrupts while it ran, but for the timer's.
    pub const INTERRUPTS: i16 = 160;
    /// Signals delivered.
    pub const SIGNALS: i16 = 168;
    /// Operations given to io_uring.
    pub const OPERATIONS: i16 = 176;
    /// Exits of the virtual processor that it runs.
    pub const EXITS: i16 = 184;
    /// When it ended; 0 before. What follows is of that moment.
    pub const DIED: i16 = 192;
    /// Page faults without a disk, in its life.
    pub const MINOR: i16 = 200;
    /// Page faults that waited for a disk, in its life.
    pub const MAJOR: i16 = 208;
    /// Processor time in user mode in its life, as the kernel's ticks found it.
    pub const USER: i16 = 216;
    /// Processor time in the kernel in its life, as the kernel's ticks found it.
    pub const SYSTEM: i16 = 224;
    /// Processor time in its life, exactly once it has [`LEFT`].
    pub const RAN: i16 = 232;
    /// Its name, 16 bytes.
    pub const NAME: i16 = 240;
    /// Switches in its life because it had to wait.
    pub const VOLUNTARY_IN_ALL: i16 = 272;
    /// Switches in its life although it had work.
    pub const INVOLUNTARY_IN_ALL: i16 = 280;
    /// Calls that read in its life.
    pub const READS: i16 = 288;
    /// Calls that write in its life.
    pub const WRITES: i16 = 296;
    /// Not 0 once it has left its processor for ever: nobody writes to the slot any more.
    pub const GONE: i16 = 256;
    /// Calls that came back: all together, as what follows.
    pub const CALLS: i16 = 304;
    /// Those that failed.
    pub const FAILED: i16 = 312;
    /// Nanoseconds in calls, on a processor; of those whose beginning was seen.
    pub const IN_CALLS: i16 = 320;
    /// Nanoseconds in them, away from it.
    pub const AWAY_IN_CALLS: i16 = 328;
    /// How many its calls woke that had slept on the same processor.
    pub const WAKES_HERE: i16 = 336;
    /// How many they woke that had slept on another one.
    pub const WAKES_ACROSS: i16 = 344;
    /// When it left its processor for ever; 0 before. Its processor time is complete then, and not before.
    pub const LEFT: i16 = 352;
    /// The address of what the kernel knows it by, from its end on.
    pub const TASK: i16 = 360;
    /// How many it woke in that call that had slept on another processor, which had something else to do.
    pub const WOKE_BUSY: i16 = 368;
    /// The timer's interrupts while it ran; others are [`INTERRUPTS`].
    pub const TICKS: i16 = 376;
    /// Since when it has been running, in this stretch of counting; 0 while it does not run, or where nothing of
    /// it was seen yet in this stretch: then it has been running since [`whole::SINCE`](super::whole::SINCE),
    /// if it has not [`STOPPED`] since then.
    pub const RUNNING_SINCE: i16 = 384;
    /// Nanoseconds on a processor while it was counted, without the present run.
    pub const RAN_COUNTED: i16 = 392;
    /// The same while calls were counted by their numbers.
    pub const RAN_NUMBERED: i16 = 448;
    /// Calls that it began while these were counted by their numbers.
    pub const NUMBERED: i16 = 456;
    /// When it was last seen to leave a processor, or began: the kernel does not tell of all switches.
    pub const STOPPED: i16 = 464;
    /// Nanoseconds that the program at the ends of calls took, of those that it timed and that were the first of their number on
    /// their file; of others as [`call::PROGRAM_TIME`](super::call::PROGRAM_TIME).
    pub const FIRST_TIME: i16 = 472;
    /// How many of these it timed.
    pub const FIRST_TIMED: i16 = 480;
    /// Nanoseconds that the program at the beginnings of calls took while these were counted by their numbers, of those that it timed.
    pub const NUMBERS_TIME: i16 = 400;
    /// How many it timed.
    pub const NUMBERS_TIMED: i16 = 408;
    /// Page faults in user mode that read or executed.
    pub const READING_FAULTS: i16 = 488;
    /// Those that wrote to a page which is there.
    pub const COPYING_FAULTS: i16 = 496;
    /// Its number and its process' number, 32 bits each, in the first PID namespace, which are those that
    /// programs find it by. Another thread than the first gets the first one's number by an exec: both are
    /// the same then.
    pub const GLOBAL: i16 = 416;
    /// Of a call that opens a file, where its path's address is: a place among its registers. 0 of others.
    pub const OPENS: i16 = 432;
    /// Nanoseconds that it took to keep the names of files that it opened.
    pub const NAMING: i16 = 440;
    /// Its flags (`PF_` of include/linux/sched.h) when it ended, 32 bits.
    pub const FLAGS: i16 = 424;
    /// Not 0 once it has made a call of another table than x86-64's, 32 bits.
    pub const OTHER_TABLE: i16 = 428;
    /// Bytes: whole cache lines.
    pub const SIZE: usize = 512;
}

/// How often a thread began each call while calls were counted by their numbers: a word for each of x86-64's.
pub mod numbered {
    /// All calls of other tables, and those of greater numbers.
    pub const OTHERS: u32 = 511;
    /// Bytes.
    pub const SIZE: usize = 8 * (OTHERS as usize + 1);
}

/// Which calls are counted together.
pub mod key {
    /// The slot, 32 bits.
    pub const SLOT: i16 = 0;
    /// The number, 16 bits.
    pub const NUMBER: i16 = 4;
    /// As [`thread::TYPE`](super::thread::TYPE), 16 bits.
    pub const TYPE: i16 = 6;
    /// As [`thread::INODE`](super::thread::INODE).
    pub const INODE: i16 = 8;
    /// As [`thread::WHAT`](super::thread::WHAT).
    pub const WHAT: i16 = 16;
    /// Bytes.
    pub const SIZE: usize = 24;
}

/// What is known of such calls.
pub mod call {
    /// Those that came back.
    pub const COUNT: i16 = 0;
    /// Those of them whose beginning was seen: the times, sleeps and wake-ups are theirs.
    pub const TIMED: i16 = 8;
    /// Those that failed.
    pub const FAILED: i16 = 16;
    /// Nanoseconds in the kernel, on a processor.
    pub const INSIDE: i16 = 24;
    /// Nanoseconds in the kernel, away from it.
    pub const AWAY: i16 = 32;
    /// Sum of the results that are more than 0: bytes, of calls that move some.
    pub const RESULTS: i16 = 40;
    /// How often they went to sleep.
    pub const SLEPT: i16 = 48;
    /// How many they woke that had slept on the same processor.
    pub const WOKE_HERE: i16 = 56;
    /// How many they woke that had slept on another one, which was idle.
    pub const WOKE_ACROSS: i16 = 64;
    /// How many they woke that had slept on another one, which had something else to do.
    pub const WOKE_BUSY: i16 = 72;
    /// Nanoseconds that the program at the ends of calls took, of those that it timed and had counted before.
    pub const PROGRAM_TIME: i16 = 80;
    /// How many it timed.
    pub const PROGRAM_TIMED: i16 = 88;
    /// Paths that were looked at, of those that did not fail, and names in them.
    pub const DONE_BY_PATH: [i16; 2] = [96, 104];
    /// The same of those that failed.
    pub const FAILED_BY_PATH: [i16; 2] = [112, 120];
    /// Bytes.
    pub const SIZE: usize = 128;
}

/// Bits of what is known of a call's number.
pub mod of_number {
    /// Its first argument is a descriptor.
    pub const ON_FILE: u64 = 1;
    /// From this bit on: where among the registers the address of the path is that it opens.
    pub const OPENS: u32 = 8;
}

/// Which file has a name.
pub mod name {
    use crate::counts::LOOKED_AT;

    /// The number of its inode.
    pub const INODE: i16 = 0;
    /// The number of its file system, as the kernel has it; 32 bits, and as many that are 0.
    pub const DEVICE: i16 = 8;
    /// Bytes.
    pub const SIZE: usize = 16;
    /// Bytes of a name, with the 0 at its end: longer ones are cut.
    pub const LONGEST: usize = LOOKED_AT;
}

/// What is known of all: one row.
pub mod whole {
    /// Threads for which there was no slot.
    pub const THREADS_LOST: i16 = 0;
    /// Calls for which there was no room.
    pub const CALLS_LOST: i16 = 8;
    /// What is counted: [`NOTHING`], [`EVERYTHING`] or [`NUMBERS`]. All programs begin and stop at once by it, which
    /// attaching and detaching them one by one does not do.
    pub const COUNTING: i16 = 16;
    /// Nothing is.
    pub const NOTHING: u64 = 0;
    /// All that is known of threads and calls.
    pub const EVERYTHING: u64 = 1;
    /// How often each call is begun.
    pub const NUMBERS: u64 = 2;
    /// When the present stretch of counting, of whichever, began (CLOCK_MONOTONIC, nanoseconds).
    pub const SINCE: i16 = 24;
    /// Bytes.
    pub const SIZE: usize = 32;
}

/// The word of a table's row that has this number.
pub const fn word(at: i16) -> usize {
    at as usize / 8
}

/// The two numbers of 32 bits of a word.
pub const fn halves(word: u64) -> (u32, u32) {
    (word as u32, (word >> 32) as u32)
}

/// The number of a thread and its process' number in the PID namespace of this process, of the words
/// [`thread::NUMBER`] and [`thread::GLOBAL`].
pub const fn numbers(first: u64, global: u64) -> (u32, u32) {
    let ((number, process), global) = (halves(first), halves(global));
    (if global.0 == global.1 { process } else { number }, process)
}
