//! The bill of any program: it is watched while it runs, its crossings are priced by the tolls of this machine, and what they do not explain is shown.
//!
//! - [`observed`]: watches a program and keeps what was counted.
//! - [`own_tolls`]: tolls that no crossing of a path is.
//! - [`price_list`], [`price_file`]: the tolls of this machine, and the file that has them for all programs.
//! - [`prices`]: what a system call on that file costs by itself, from the price list.
//! - [`walks`]: of how many names the paths are by which calls look for files.
//! - [`bill`]: counts × tolls against the processor time in the kernel, which is measured apart.
//! - [`attributed`]: the same time put down to calls by their own stamps, beside what tolls explain.
//! - [`what_if`]: what could be changed, and what that would bring.
//! - [`tried`]: changes that can be made from outside, made, in turns with none.
//! - [`document`]: the bill as JSON; the terminal and the report page show it.
//! - [`input`]: standard input, which every start reads from the same place.
//! - [`kept`]: bills in the store.

mod apart;
pub mod args;
pub mod attributed;
pub mod bill;
mod billed;
pub mod command;
pub mod document;
mod highlights;
pub mod input;
pub mod kept;
#[cfg(test)]
mod made_up;
mod names;
pub mod observed;
pub mod own_tolls;
mod page;
mod payers;
mod per;
pub mod price_file;
pub mod price_list;
pub mod prices;
mod rhythm;
mod route;
mod terminal;
pub mod tried;
pub mod walks;
pub mod ways;
pub mod what_if;
mod words;
