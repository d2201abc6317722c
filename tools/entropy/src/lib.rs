//! `tollway entropy`: what an operator wants of a random number generator.
//!
//! | command | does |
//! |---|---|
//! | `speed` | how fast each source is, alone and shared |
//!
//! It is mounted in the program as a verb; each command is a module here, its options one in [`args`].

pub mod args;
pub mod speed;

use anyhow::Result;

use args::{Entropy, What};

/// Does what the command line says. `json`: tells it as a document on standard output.
///
/// # Errors
/// What was asked for cannot be, or went wrong on its way.
pub fn run(options: &Entropy, json: bool) -> Result<()> {
    match &options.what {
        What::Speed(options) => speed::run(options, json),
    }
}
