//! `tollway cipher` on the command line.

pub mod devices;
pub mod serve;

use clap::{Args, Subcommand};

use devices::Devices;
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
    /// One crypto device for many virtual machines: a virtio-crypto function for each, over vhost-user, fair to all.
    Serve(Serve),
    /// How it is going: what `serve` counts, as JSON.
    Status(Status),
    /// Which crypto devices this machine has, which can be shared out, and by what its kernel does ciphers.
    Devices(Devices),
}
