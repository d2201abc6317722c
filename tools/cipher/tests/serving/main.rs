//! `tollway cipher serve` as an operator has it: a process that is told by its command line, a file and signals, and that serves
//! processes.

mod operator;
mod program;
#[path = "../../../../paths/cipher/tests/driver/tenancy.rs"]
#[expect(dead_code, reason = "tests of the driver need more of it")]
mod tenancy;
