//! `tollway cipher`: what an operator wants of a crypto device.
//!
//! | command | does |
//! |---|---|
//! | `serve` | one device for many virtual machines, over vhost-user |
//! | `status` | how that is going |
//! | `bench` | how fast ciphers are by everything that does them |
//! | `predict` | how long requests take under load, foretold, then measured |
//! | `plan` | how much the card can do at a service level, by which way of telling |
//! | `devices` | which crypto devices there are, and which can be shared out |
//!
//! It is mounted in the program as a verb; each command is a module here, its options one in [`args`].

pub mod args;
pub mod bench;
pub mod devices;
mod fitted;
pub mod plan;
pub mod predict;
pub mod serve;

use anyhow::Result;
use tollway_service::{log, status};

use args::Operate;

/// How a command ended that did not err.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// All was done.
    Done,
    /// Something was done wrong, or not at all.
    CheckFailed,
    /// Something is lacking, and --strict was given.
    RequirementMissing,
    /// It was interrupted; what was measured is kept.
    Interrupted,
}

/// Does what the command line says, unless that is to be measured ([`bench::run`]). `json`: tells it as a document on standard
/// output.
///
/// # Errors
/// What was asked for cannot be, or went wrong on its way.
pub fn run(what: &Operate, json: bool) -> Result<Ending> {
    let ended = match what {
        Operate::Serve(options) => serve::run(options, json).map(|()| Ending::Done),
        Operate::Status(options) => {
            status::ask(&options.socket, "`tollway cipher serve`").map(|()| Ending::Done)
        }
        Operate::Devices(options) => devices::run(options, json),
    };
    log::flush();
    ended
}
