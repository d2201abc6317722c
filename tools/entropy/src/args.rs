//! `tollway entropy` on the command line.

pub mod speed;
pub mod test;

use clap::{Args, Subcommand};

use speed::Speed;
use test::Test;

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
    /// How good a stream is: the FIPS 140-2 tests, in the place of rngtest, with a verdict.
    Test(Test),
}
