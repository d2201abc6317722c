//! `tollway entropy` on the command line.

pub mod feed;
pub mod serve;
pub mod speed;
pub mod test;

use clap::{Args, Subcommand};

use feed::Feed;
use serve::{Serve, Status};
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
    /// Keeps the kernel's generator fed, in the place of rngd: tested, credited with no more than is there.
    Feed(Feed),
    /// One generator for many virtual machines: a virtio-rng device for each, over vhost-user, fair to all.
    Serve(Serve),
    /// How it is going: what `serve` or `feed` counts, as JSON.
    Status(Status),
}
