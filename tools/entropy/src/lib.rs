//! `tollway entropy`: what an operator wants of a random number generator.
//!
//! | command | does |
//! |---|---|
//! | `speed` | how fast each source is, alone and shared |
//! | `feed` | keeps the kernel's generator fed, in the place of rngd |
//! | `test` | how good a stream is, in the place of rngtest |
//! | `serve` | one generator for many virtual machines, over vhost-user |
//! | `status` | how that is going |
//!
//! It is mounted in the program as a verb; each command is a module here, its options one in [`args`].

pub mod args;
pub mod feed;
pub mod serve;
pub mod speed;
pub mod test;

use anyhow::Result;
use rustix::event::Timespec;
use tollway_service::{log, status};

use args::{Entropy, What};

/// How often a service looks whether its source keeps the thread waiting that draws from it.
const LOOK: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// How a command ended that did not err.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// All was done.
    Done,
    /// With the exit code of the program in whose place it is.
    Standing(u8),
}

/// Does what the command line says. `json`: tells it as a document on standard output.
///
/// # Errors
/// What was asked for cannot be, or went wrong on its way.
pub fn run(options: &Entropy, json: bool) -> Result<Ending> {
    let ended = run_to_its_end(options, json);
    log::flush();
    ended
}

fn run_to_its_end(options: &Entropy, json: bool) -> Result<Ending> {
    match &options.what {
        What::Speed(options) => speed::run(options, json)?,
        What::Feed(options) => feed::run(options, json)?,
        What::Test(options) => return Ok(Ending::Standing(test::run(options, json)?)),
        What::Serve(options) => serve::run(options, json)?,
        What::Status(options) => status::ask(&options.socket, "`tollway entropy serve` or `feed`")?,
    }
    Ok(Ending::Done)
}
