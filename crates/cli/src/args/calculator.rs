//! The options of the calculator's verbs.

use std::path::PathBuf;

use clap::Args;

/// A whole number as people write it, 1e6 too.
fn whole(text: &str) -> Result<u64, &'static str> {
    tollway_model::quantity::whole(text).ok_or("it is no whole number; write it like 100000 or 1e5")
}

/// `tollway model`.
#[derive(Debug, Args)]
#[command(
    after_help = "Quantities are written like 1000/s, 10k/s, 3us, 1.5ms, 80 %, and distributions like \
                        'exponential(3us)', 'constant(3us)', 'erlang(4, 3us)', 'lognormal(3us, 2)'. MODELS.md has every \
                        model with formula, assumptions and source."
)]
pub struct Model {
    /// The model; without one, all are listed.
    #[arg(value_name = "NAME")]
    pub name: Option<String>,

    /// What it is asked with, as KEY=VALUE; without any, its card is shown: formula, assumptions, source, parameters.
    #[arg(value_name = "KEY=VALUE")]
    pub parameters: Vec<String>,

    /// Ask at many values: KEY=FROM..TO:STEP, KEY=FROM..TO:xFACTOR (1..16:x2), or KEY=A,B,C. Given again, all
    /// combinations.
    #[arg(long, value_name = "KEY=VALUES", requires = "name")]
    pub sweep: Vec<String>,

    /// Only these figures; names with , between them.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', requires = "name")]
    pub figure: Vec<String>,

    /// Draw the figures over the first --sweep into FILE (.svg); a further --sweep makes a line each.
    #[arg(long, value_name = "FILE", requires = "sweep")]
    pub plot: Option<PathBuf>,

    /// Also write the figures to FILE; its ending says how: .json, .csv or .md.
    #[arg(long, value_name = "FILE", requires = "name")]
    pub export: Option<PathBuf>,
}

/// `tollway simulate`.
#[derive(Debug, Args)]
#[command(
    after_help = "docs/models.md shows how a specification is written, examples/simulate has some. Exit code 3: the \
                        simulation differs from an exact formula by more than chance and 0.5 %, or a law does not hold."
)]
pub struct Simulate {
    /// The system (TOML): sources, stations, coalescers, when to stop; - reads it from standard input.
    #[arg(value_name = "SPEC")]
    pub spec: PathBuf,

    /// Change the specification: PART.KEY=VALUE, such as device.service='exponential(60us)' or
    /// machines.closed.customers=16; may be given again.
    #[arg(long, value_name = "PART.KEY=VALUE")]
    pub set: Vec<String>,

    /// Customers of each replication, after warm-up [default: the specification's].
    #[arg(long, value_name = "N", value_parser = whole)]
    pub customers: Option<u64>,

    /// Stop when the 95 % interval of the mean response is within this share of it, such as 0.01 [default: the
    /// specification's].
    #[arg(long, value_name = "SHARE")]
    pub precision: Option<f64>,

    /// Independent replications [default: the specification's].
    #[arg(long, value_name = "N")]
    pub replications: Option<u32>,

    /// Threads; 0: one for each processor. The figures do not depend on it.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u64).range(0..=1024))]
    pub threads: u64,

    /// Seed of all random numbers.
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    pub seed: u64,

    /// Say what would be simulated and about how long it would take; do nothing.
    #[arg(long)]
    pub dry_run: bool,

    /// Also write the figures to FILE; its ending says how: .json, .csv or .md.
    #[arg(long, value_name = "FILE")]
    pub export: Option<PathBuf>,
}
