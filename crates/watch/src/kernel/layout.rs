//! What programs in the kernel and this one share: where which number stands. All are of 64 bits where nothing else is said.

/// Numbers of system calls that are told apart; the last stands for all beyond it. x86-64 had 470 in Linux 6.18.
pub const NUMBERS: u32 = 512;

/// What each processor knows.
pub mod processor {
    /// The slot of the thread that runs there, 32 bits; 0 is none.
    pub const SLOT: i16 = 0;
    /// Bytes.
    pub const SIZE: usize = 8;
}

/// What is known of a thread: one slot.
pub mod thread {
    /// Its number, 32 bits.
    pub const NUMBER: i16 = 0;
    /// Its process' number, 32 bits.
    pub const PROCESS: i16 = 4;
    /// When it entered the system call in which it is; 0 outside.
    pub const ENTERED: i16 = 8;
    /// Which that is.
    pub const CALL: i16 = 16;
    /// How long it was away from the processor in that call.
    pub const AWAY: i16 = 24;
    /// How often it went to sleep in that call.
    pub const SLEPT: i16 = 32;
    /// When it left its processor; 0 while it runs.
    pub const OUT: i16 = 40;
    /// When it got its processor.
    pub const IN: i16 = 48;
    /// How long it ran.
    pub const RAN: i16 = 56;
    /// The processor of who woke it, and 1; 0 if nobody did since it left.
    pub const WOKEN_BY: i16 = 64;
    /// Switches away because it had to wait.
    pub const VOLUNTARY: i16 = 72;
    /// Switches away although it had work.
    pub const INVOLUNTARY: i16 = 80;
    /// Wake-ups from the processor on which it then ran.
    pub const WOKEN_HERE: i16 = 88;
    /// Wake-ups from another one.
    pub const WOKEN_ACROSS: i16 = 96;
    /// Page faults in user mode.
    pub const FAULTS: i16 = 104;
    /// Interrupts while it ran.
    pub const INTERRUPTS: i16 = 112;
    /// Signals delivered.
    pub const SIGNALS: i16 = 120;
    /// Operations given to io_uring.
    pub const OPERATIONS: i16 = 128;
    /// When it was first seen.
    pub const BORN: i16 = 136;
    /// When it ended; 0 before.
    pub const DIED: i16 = 144;
    /// Page faults, and those of them that waited for a disk, at its end.
    pub const MINOR: i16 = 152;
    /// Those that waited for a disk, at its end.
    pub const MAJOR: i16 = 160;
    /// Not 0 once it has left its processor for ever: nobody writes to the slot any more.
    pub const GONE: i16 = 168;
    /// Bytes.
    pub const SIZE: usize = 176;
}

/// What is known of one number of call of a thread.
pub mod call {
    /// Those that came back.
    pub const RETURNED: i16 = 0;
    /// Those of them that failed.
    pub const FAILED: i16 = 8;
    /// Nanoseconds in the kernel, on a processor.
    pub const INSIDE: i16 = 16;
    /// Nanoseconds in the kernel, away from it.
    pub const AWAY: i16 = 24;
    /// Sum of the results that are more than 0: bytes, of calls that move some.
    pub const RESULTS: i16 = 32;
    /// How often they went to sleep.
    pub const SLEPT: i16 = 40;
    /// Bytes.
    pub const SIZE: usize = 48;
}

/// What is known of all.
pub mod whole {
    /// Threads for which there was no slot.
    pub const LOST: i16 = 0;
    /// Bytes.
    pub const SIZE: usize = 8;
}
