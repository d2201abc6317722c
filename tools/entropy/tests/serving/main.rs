//! `tollway entropy serve` as an operator has it: a process that is told by its command line, a file and signals, and that
//! serves processes and Linux guests.

mod guest;
mod operator;
mod program;
