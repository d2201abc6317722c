//! `tollway machine` on the command line.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use tollway_tenant::ssh::Address;

/// `tollway machine`.
#[derive(Debug, Args)]
pub struct Machine {
    /// What to do.
    #[command(subcommand)]
    pub what: What,
}

/// What there is to do.
#[derive(Debug, Subcommand)]
pub enum What {
    /// What this machine gives, part by part: processor, memory, disk, network and a service, by this program or the field's tools.
    Suite(Suite),
    /// Two modes of running guests side by side, in turns: a verdict for each row, and what encryption was foretold to cost.
    Modes(Modes),
}

/// A part of the suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Part {
    /// Primes, events, peaks of the processor.
    Cpu,
    /// Bandwidth, latency, page faults.
    Memory,
    /// Reads and writes of a file, and what makes them durable.
    Disk,
    /// Streams, requests and datagrams.
    Network,
    /// The business load by itself.
    Service,
    /// Random numbers, ciphers, exits and requests: the quick presets of the other paths.
    Crossings,
}

/// Who measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// This program.
    Tollway,
    /// The field's tools, where they are installed.
    Tools,
    /// The one and the others in turns.
    Both,
}

/// Whether the business load goes on meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Business {
    /// It does not.
    Without,
    /// It does.
    With,
    /// First the one and then the other, in turns.
    Both,
}

/// How long, and what with it.
#[derive(Clone, Debug, Args)]
pub struct Repeats {
    /// Blocks of trials, each with processes of its own [default: the preset's].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=1000))]
    pub runs: Option<u32>,

    /// Seconds that the whole may take; runs and windows are cut to fit.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub time: Option<f64>,

    /// Seed of the order of trials.
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    pub seed: u64,

    /// Say what would be done, how long it would take and what it needs; do nothing.
    #[arg(long)]
    pub dry_run: bool,

    /// Treat a missing requirement as a failure (exit code 4).
    #[arg(long)]
    pub strict: bool,
}

/// `tollway machine suite`.
#[derive(Debug, Args)]
#[command(after_help = "For example:
  tollway machine suite --quick
  tollway machine suite --part disk,memory --by both
  tollway machine suite --quick --business both
  tollway machine suite --quick --on ssh:root@node1
  tollway machine suite --guest

Nothing is written but files that it makes itself, without a name, in the folder for measurements (TOLLWAY_SCRATCH). docs/machine.md says \
                  how each part measures, and how to read the card.")]
pub struct Suite {
    /// Which parts [default: all].
    #[arg(long, value_enum, value_name = "PART,…", value_delimiter = ',')]
    pub part: Vec<Part>,

    /// In small: seconds for each part instead of minutes.
    #[arg(long)]
    pub quick: bool,

    /// Who measures.
    #[arg(long, value_enum, value_name = "WHO", default_value = "tollway")]
    pub by: By,

    /// With the business load going on, or without.
    #[arg(long, value_enum, value_name = "HOW", default_value = "without")]
    pub business: Business,

    /// On another host instead of this one, as ssh:user@host:port: the agent is copied there by ssh, run, and removed.
    #[arg(long, value_name = "HOST")]
    pub on: Option<Address>,

    /// In a Linux guest instead of on this machine: the parts that one has, in small, by this program.
    #[arg(long, conflicts_with_all = ["quick", "by", "on"])]
    pub guest: bool,

    /// Write the page to FILE as well.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// How long.
    #[command(flatten)]
    pub repeats: Repeats,
}

/// `tollway machine modes`.
#[derive(Debug, Args)]
#[command(after_help = "For example:
  tollway machine modes
  tollway machine modes high-performance balanced
  tollway machine modes high-performance my-mode.toml --part disk --until 2 --time 900
  tollway machine modes high-performance balanced --repeat 5 --time 600 --html modes.html

A mode is a TOML file: how a guest is made ([guest]: values of axes, as `tollway list machine` has them) and what of the host is set \
                  meanwhile ([host]: files under /sys and /proc/sys). Guests of both modes live side by side; each row is measured in both in turns \
                  until the interval of its ratio is narrow enough or the time is up.")]
pub struct Modes {
    /// What is compared with: a mode that comes with the program, or a file [without both: the modes are listed].
    #[arg(value_name = "A", requires = "b")]
    pub a: Option<String>,

    /// What is compared.
    #[arg(value_name = "B")]
    pub b: Option<String>,

    /// Which parts [default: all that a guest has].
    #[arg(long, value_enum, value_name = "PART,…", value_delimiter = ',')]
    pub part: Vec<Part>,

    /// On this machine itself instead of in guests: only what the modes set on the host differs then.
    #[arg(long)]
    pub host: bool,

    /// With the business load going on in the guests.
    #[arg(long)]
    pub business: bool,

    /// A row is measured until the interval of its ratio is no wider than so many per cent to either side.
    #[arg(long, value_name = "PERCENT", default_value_t = 2.0, value_parser = percent)]
    pub until: f64,

    /// What counts as the same, in per cent.
    #[arg(long, value_name = "PERCENT", default_value_t = 5.0, value_parser = percent)]
    pub margin: f64,

    /// Compare so often from the start, with guests booted anew and another order; rows with different verdicts are a failure (exit code 3).
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub repeat: u32,

    /// Write the page to FILE as well.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// How long.
    #[command(flatten)]
    pub repeats: Repeats,
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if (0.1..=1e6).contains(&number) => Ok(number),
        _ => Err("give a number from 0.1 to 1000000".into()),
    }
}

fn percent(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if (0.01..=1000.0).contains(&number) => Ok(number),
        _ => Err("give a number from 0.01 to 1000".into()),
    }
}
