//! `tollway cipher devices` on the command line.

use clap::Args;

/// `tollway cipher devices`.
#[derive(Debug, Args)]
#[command(after_help = "For example:
  tollway cipher devices
  tollway cipher devices --json --strict

PCI devices that can share themselves out (SR-IOV) are told of whatever kind they are, each with its virtual functions, and crypto devices \
                  whether they can or not: encryption controllers by PCI's class, virtio-crypto, Intel's QuickAssist. Nothing is changed.")]
pub struct Devices {
    /// Treat anything that is lacking as a failure (exit code 4).
    #[arg(long)]
    pub strict: bool,
}
