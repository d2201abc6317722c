//! `tollway entropy speed` on the command line.

use clap::Args;
use tollway_entropy::engine::source::Kind;

/// `tollway entropy speed`.
#[derive(Debug, Args)]
#[command(after_help = "For example:
  tollway entropy speed
  tollway entropy speed rdseed --threads 2 --runs 20
  tollway entropy speed /dev/hwrng --json

A source whose rate grows with threads is limited by each thread; one whose rate does not is shared: its cap C is divided \
                  among all who draw, also those of other machines on the same processor.")]
pub struct Speed {
    /// Sources: rdrand, rdseed, getrandom, or a path [default: all that this machine has].
    #[arg(value_name = "SOURCE")]
    pub sources: Vec<Kind>,

    /// The most threads that draw at once, after 1, 2, 4, 8 and so on [default: as many as there are processors].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: Option<u32>,

    /// Seconds of each measurement.
    #[arg(long, value_name = "SECONDS", default_value_t = 0.2, value_parser = seconds)]
    pub time: f64,

    /// How often each is measured, in turns; intervals are shown of 5 or more.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(2..=1000))]
    pub runs: u32,

    /// Say what would be measured, how long it would take and what it needs; measure nothing.
    #[arg(long)]
    pub dry_run: bool,
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if (0.01..=60.0).contains(&value) => Ok(value),
        _ => Err("give a number of seconds from 0.01 to 60".into()),
    }
}
