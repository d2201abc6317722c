//! `tollway ipc advise` on the command line.

use std::time::Duration;

use clap::Args;

use super::words::{self, Cores};

/// `tollway ipc advise`.
#[derive(Debug, Args)]
#[command(after_help = "For example:
  tollway ipc advise --service 2us --concurrency 8 --cores 1
  tollway ipc advise --service 500ns --concurrency 1 --cores 2 --rate 50k
  tollway ipc advise --service 0 --concurrency 16 --cores 2 --verify

What requests cost is foretold from tolls of this machine: those of the store, if they are no older than a week, else they are measured \
                  first. What --verify measures was foretold before, and that is in the store. docs/ipc.md has what is in the prediction.")]
pub struct Advise {
    /// How long the server works on a request: 0, 800ns, 2us, to 10ms.
    #[arg(long, value_name = "TIME", value_parser = words::service)]
    pub service: Duration,

    /// Requests that the client can have on their way at once, up to 1024. A crossover is looked for up to four times as many (32 at
    /// the least, 256 at the most), or up to this many.
    #[arg(long, value_name = "N", value_parser = words::requests)]
    pub concurrency: u64,

    /// Whether client and server have one core or two.
    #[arg(long, value_name = "N")]
    pub cores: Cores,

    /// Bytes of a request, and of its reply.
    #[arg(long, value_name = "BYTES", default_value_t = 64, value_parser = words::size)]
    pub size: u64,

    /// Requests that come in a second: 500, 20k, 1.5M [default: as many as can be done].
    #[arg(long, value_name = "RATE", value_parser = words::rate)]
    pub rate: Option<f64>,

    /// Then measure what was foretold: say whether the advice held, and the crossover with it (exit code 3 if not).
    #[arg(long)]
    pub verify: bool,

    /// Measure all tolls, whatever the store has.
    #[arg(long)]
    pub fresh: bool,

    /// Blocks of trials, each with processes of its own.
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u32).range(3..=1000))]
    pub runs: u32,

    /// Seconds that each measurement, of tolls and of what was foretold, may take; runs and windows are cut to fit.
    #[arg(long, value_name = "SECONDS", value_parser = words::seconds)]
    pub time: Option<f64>,

    /// Seed of the order of trials.
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    pub seed: u64,

    /// Say what would be measured and how long that would take; do nothing.
    #[arg(long)]
    pub dry_run: bool,
}
