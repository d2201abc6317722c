//! Micro-guests: virtual machines without an operating system, in which functions of this very program run.
//!
//! A guest sees the program's own mappings at their own addresses, so that any function of the program can be called in
//! it; crossings between guest and host are then instructions in an ordinary loop, and everything else runs as outside.
//!
//! ```no_run
//! use tollway_tenant::micro::{Devices, Limits, MicroGuest, Options};
//!
//! let values = vec![1u64, 2, 3];
//! let devices = Devices::new(0)?;
//! let mut guest = MicroGuest::over_own_memory(&devices, &Options::default())?;
//! // SAFETY: no system call, no panic, no lock; the values were allocated before the guest was made.
//! let outcome = unsafe { guest.run(Limits::default(), || values.iter().fold(0, |a, b| a ^ b))? };
//! assert_eq!(outcome.value, 0);
//! # Ok::<(), tollway_tenant::micro::MicroError>(())
//! ```
//!
//! # What it can
//! - Many at once: [`MicroGuest::several`] describes the program's memory once and makes machines on every processor.
//! - Several virtual processors ([`Wiring::processors`], [`MicroGuest::processors`]), each called from a thread of its
//!   own, at the same time; what ends a call on one does nothing to the others.
//! - Idle and wake: a load from [`Devices::idle_at`] leaves, and the calling thread sleeps until a [`Waker`] rings: the
//!   host's, or another guest's doorbell ([`Wiring::wakes`]). No ring is lost. Without any exit, a guest waits at a word
//!   of memory (`poll`, `wait` in the payload's crossings).
//! - Ask what processor time its thread has had, in the guest and outside: a load from [`Devices::time_at`].
//! - Interrupts in ring 3 ([`Options::interrupts`]), where [`check_interrupts`] has seen KVM deliver some.
//! - Ring 0 ([`Options::ring`]) where it is native, that is on hardware KVM.
//! - Whatever code does that it must not (bad pointers, privileged instructions, wild ports, endless loops and recursion)
//!   is a [`MicroError`] with address, instruction and reason, within the time limit; the processor can be called again.
//!
//! # How it is made
//! 64-bit mode at once, in ring 3, interrupts off, ports open (IOPL 3), FS base of the calling thread, the time-stamp
//! counter of the program (offset 0). The program's mappings are handed over in a few large memory slots; the guest's
//! page tables, which it cannot reach, repeat the protection of each mapping. Left out are mappings without access,
//! the kernel's own (vDSO and its data) and the page tables of other guests. Guest-physical addresses are compact, as
//! virtual ones may be wider. An exception leads to one of 256 handlers in ring 0, each a single `hlt`: the exit tells
//! the vector, its stack the rest. A call ends by a store to a page without memory behind it, after the function has
//! returned. A time limit is a timer's signal to the calling thread (`SIGRTMAX - 3`, which must be free).
//!
//! ```text
//! Space: slots, page tables, exception table      one for all guests that are made together
//! └ Machine: a KVM virtual machine, one page      one a guest
//!   └ Vcpu: registers, exceptions, the run loop   one to sixteen a machine; Processor: with a stack, and calls
//! ```
//!
//! # What it costs
//! Cycles of the time-stamp counter, on software KVM (no VMX or SVM beneath). The AMD column is what this module's own
//! tests print (`cargo test --release -p tollway-tenant micro -- --nocapture`) on two shared cores: the first figure is
//! the quiet one, the second what neighbours make of it. The Intel column is an earlier program's. On hardware KVM
//! (not tried here) exits are said to be 10 to 30 times cheaper; [`check`] tells which one it is.
//!
//! | crossing from ring 3 | AMD family 26, 2.6 GHz | Intel, 2.1 GHz |
//! |---|---|---|
//! | port output, exit to the program and back | 62,800–173,000 | 31,000 |
//! | store to a page without memory, exit and back | 62,100–178,000 | 30,000 |
//! | the same store caught by a doorbell (ioeventfd) | 6500–9900 | 11,400 |
//! | CPUID, answered by the kernel | 9100–22,000 | 13,100 |
//! | hypercall (VMMCALL), refused by the kernel | 9300–12,500 | – |
//! | a word of shared memory, there and back, no exit | 100–4200 | – |
//! | the same between two virtual processors of a guest | 110–920 | – |
//! | a guest's doorbell wakes another, which answers in memory | 69,000–511,000 | – |
//! | two guests that sleep in turns, a round | 260,000–430,000 | – |
//! | an interrupt, raised in one thread, handled in another's guest | 93,000 least, 141,000 median | – |
//! | an empty call, all in | 81,800–261,000 | – |
//! | integer work, inside : outside | 1.00 | 0.96–1.02 |
//! | one step (two instructions) of a loop in ring 0 | 2900–3200 | – |
//! | making a guest over some 50 mappings | 0.48–4 ms | 0.6 ms |
//! | 60 guests at once: made; and each called | 19–130 ms; 25–150 ms | 24 ms, not over own memory |
//! | making a guest, calling and dropping it, each of 1000 | 1.9 ms | – |
//!
//! Memory, of 200 guests that have run: 14 kB each in the process, 0.10 to 0.26 MB each in the whole machine, the
//! kernel's part included. `scripts/bench` measures this, sixty guests, and arithmetic against their bars.
//!
//! # What does not work
//! - System calls, the vDSO's clock (`Instant::now`), waiting for locks, panics: see [`MicroGuest::call`]. `rdtsc` works.
//! - `rdtscp` and `rdpid` do not tell the processor: the guest has a value of its own (0) there.
//! - HLT and other instructions of ring 0 are faults in ring 3; so are `cli` and `sti` on software KVM.
//! - Software KVM delivers interrupts to ring 3 but does not see that IRETQ lets in the next: handlers return by an exit
//!   there. Ring 0 is emulated there, and knows few vector instructions.
//! - Isolation: a guest over the program's memory can write what the program can. For hostile code there is
//!   [`IsolatedGuest`], which has memory of its own.
//! - The first touch of each page in the guest is slower than later ones: warm up before measuring.
//! - KVM answers hypercalls from ring 3 in the kernel, with "not permitted": a round trip, but no exit to the program.
//! - Giving a machine memory waits for a grace period of the kernel, once a slot, about seven times a guest: nothing on a
//!   quiet machine, but with twice as many busy threads as processors sixty guests took 0.05 s in the median and up to
//!   1.6 s, of which 0.04 s were processor time. More threads than processors do not help.
//! - Linux 6.18 takes 8 ms to end a machine with doorbells that is younger than that.
//! - At most 16 virtual processors, 1024 doorbells, 16 GiB mapped (a limit that [`Options`] raises).

mod culprit;
mod devices;
mod error;
mod guest;
mod image;
mod interrupts;
mod isolated;
mod kind;
mod layout;
mod limit;
mod machine;
mod memory;
mod own;
mod processor;
mod run;
mod space;
mod tables;
#[cfg(test)]
mod tests;
mod vcpu;
mod window;

use std::ops::Range;
use std::time::Duration;

pub use devices::{Devices, Waker, Wiring};
pub use error::{Fault, MicroError};
pub use guest::MicroGuest;
pub use image::Image;
pub use interrupts::{InterruptHandler, Interrupter, check_interrupts};
pub use isolated::{IsolatedGuest, IsolatedOptions, IsolatedProcessor};
pub use kind::{KvmCheck, check};
pub use processor::Processor;
pub use tollway_core::KvmKind;
pub use vcpu::Ring;
pub use window::Window;

/// A function that can run in a micro-guest, by the platform's C convention.
pub type Entry = unsafe extern "C" fn(usize) -> usize;

/// How a guest is made.
#[derive(Debug, Clone)]
pub struct Options {
    /// Size of the stack of each virtual processor; a page without access lies below it.
    pub stack_bytes: usize,
    /// Most bytes of the program's memory that a guest may map.
    pub mapped_bytes: u64,
    /// Addresses of the program that the guest shall not see.
    pub leave_out: Vec<Range<usize>>,
    /// The ring that functions run in. [`Ring::Kernel`] is refused where the KVM would emulate it.
    pub ring: Ring,
    /// Interrupt vectors from 32 on, and what handles them in the guest. If there is one, functions run with interrupts
    /// on, and [`Processor::interrupter`] raises them. [`check_interrupts`] says whether this works here.
    pub interrupts: Vec<(u8, InterruptHandler)>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            stack_bytes: 256 << 10,
            mapped_bytes: 16 << 30,
            leave_out: Vec::new(),
            ring: Ring::User,
            interrupts: Vec::new(),
        }
    }
}

/// What a call may take: 20 s if nothing else is said, as time goes on while others have the processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The call is stopped after this time.
    pub time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { time: Duration::from_secs(20) }
    }
}

/// How often the guest left for the program and was continued, by what made it leave.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ExitCounts {
    /// Outputs to a port.
    pub port: u64,
    /// Stores to a page without memory behind it (other than the last one, which ends the call).
    pub mmio: u64,
    /// Hypercalls that the kernel passed on.
    pub hypercall: u64,
    /// Loads from the page where a processor idles.
    pub idle: u64,
    /// Interrupts that were delivered.
    pub interrupts: u64,
    /// Everything else that was continued: inputs from the port, loads from the page (both read zero), and questions for the
    /// processor time.
    pub other: u64,
}

/// What came of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallOutcome<R = usize> {
    /// What the function or closure returned.
    pub value: R,
    /// Exits seen while it ran.
    pub exits: ExitCounts,
}
