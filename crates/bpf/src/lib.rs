//! Small programs for the kernel, without a compiler: assembled here, checked by the kernel's verifier, attached by bpf(2).
//!
//! - [`assembler`]: instructions, with labels instead of counted distances.
//! - [`Map`]: memory that such programs and this one share.
//! - [`Table`]: an array that this process has in its own memory as well.
//! - [`Program`]: one that the kernel has taken, and where it is attached.
//! - [`btf`]: where the running kernel has the fields of its structures.
//!
//! Nothing is left behind: programs, maps and what attaches them die with the last of their descriptors, whatever ends this process.
#![warn(missing_debug_implementations)]

pub mod assembler;
pub mod btf;
mod call;
mod map;
mod program;
mod table;

pub use map::{Map, MapKind, possible_cpus};
pub use program::{Attached, Link, Program, ProgramKind};
pub use table::Table;
