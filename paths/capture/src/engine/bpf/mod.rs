//! The machine for classic BPF: programs that say of a packet how many of its bytes to keep.
//!
//! ```text
//! expression ── compile (libpcap) ─┐
//! text of -dd, -ddd ── read ───────┴→ Program (checked) ─→ Filter (machine code or interpreter) ─→ verdict
//! ```
//!
//! A verdict is the number of bytes to keep, 0 for a packet that is not wanted, and it is the one that libpcap's
//! `bpf_filter` comes to; [`check`] says what is refused, and where Linux differs.

pub mod check;
mod compile;
mod filter;
mod instruction;
mod interpret;
#[cfg(target_arch = "x86_64")]
mod jit;
mod libpcap;
mod print;
mod read;

pub use check::{Fault, Program, Refused};
pub use compile::{Origin, Uncompiled, compile, link_type_name, link_type_of_name};
pub use filter::Filter;
pub use instruction::{Alu, Instruction, MAX_LENGTH, Meaning, NEGATIVE, Operand, SCRATCH_WORDS, Test, Width};
pub use interpret::Interpreter;
#[cfg(target_arch = "x86_64")]
pub use jit::Machine;
pub use read::{LineFault, Unreadable};
