//! `tollway cipher` on the command line.

pub mod bench;
pub mod devices;
pub mod plan;
pub mod predict;
pub mod serve;

use clap::{Args, Subcommand};

use bench::Bench;
use devices::Devices;
use plan::Plan;
use predict::Predict;
use serve::{Serve, Status};

/// `tollway cipher`.
#[derive(Debug, Args)]
pub struct Cipher {
    /// What to do.
    #[command(subcommand)]
    pub what: What,
}

/// What there is to do.
#[derive(Debug, Subcommand)]
pub enum What {
    /// To serve, and to look.
    #[command(flatten)]
    Operate(Operate),
    /// How fast ciphers are by everything that does them: the library, cards, the kernel.
    Bench(Bench),
    /// How long requests take under load, foretold from light loads, then measured.
    Predict(Predict),
    /// How much the card can do at a service level, by which way of telling: foretold, and tried.
    Plan(Plan),
}

/// What there is to do without a measurement.
#[derive(Debug, Subcommand)]
pub enum Operate {
    /// One crypto device for many virtual machines: a virtio-crypto function for each, over vhost-user, fair to all.
    Serve(Serve),
    /// How it is going: what `serve` counts, as JSON.
    Status(Status),
    /// Which crypto devices this machine has, which can be shared out, and by what its kernel does ciphers.
    Devices(Devices),
}
