//! Code that runs inside a micro-guest: a virtual machine without an operating system whose code is in ring 3.
//!
//! Nothing here makes a system call, touches thread-local storage, allocates or unwinds. [`crossing`] has the
//! instructions that leave the guest, [`work`] has loops that stay inside. Which ports and addresses leave, and
//! how a call ends, is decided by whoever made the guest and is passed in at run time: no address is written here.
//!
//! The same source is also an image of its own, [`IMAGE`], for isolated guests: [`entry`] has the functions that their
//! host can call, [`room`] what they are told of their surroundings. The README says how to write one.
//!
//! Everything in [`work`], [`crossing::cpuid`] and [`crossing::clock`] can be called outside of a guest as well, to
//! compare. The others cannot: a port output by an ordinary program is a general protection fault, a hypercall an
//! illegal instruction.
#![no_std]
#![cfg(target_arch = "x86_64")]
#![warn(missing_debug_implementations)]

pub mod crossing;
pub mod entry;
pub mod room;
pub mod work;

pub use entry::Entry;
pub use room::Room;

/// This crate as an image for guests that have memory of their own: a static ELF executable at fixed addresses whose
/// entry point is the address of an [`entry::Table`].
pub static IMAGE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/payload.elf"));
