//! `tollway entropy` on the command line.

pub mod speed;

use clap::{Args, Subcommand};

use speed::Speed;

/// `tollway entropy`.
#[derive(Debug, Args)]
pub struct Entropy {
    /// What to do.
    #[command(subcommand)]
    pub what: What,
}

/// What there is to do.
#[derive(Debug, Subcommand)]
pub enum What {
    /// How fast each source is: of one thread, of all, and how often it had nothing to give.
    Speed(Speed),
}
