//! `tollway capture profile` on the command line.

use std::path::PathBuf;

use clap::Args;

/// `tollway capture profile`.
#[derive(Debug, Args)]
#[command(after_help = "For example:
  tollway capture profile
  tollway capture profile filter=addresses size=1514
  tollway capture profile --design before --design jit --samples 0

Each gate is measured alone and the whole on its own, in the same blocks; the profiler looks where the whole is while it \
                  runs. `tollway list capture` has the designs and the axes.")]
pub struct Profile {
    /// Where on the axes of the path, as `AXIS=VALUE` [default: each axis's own].
    #[arg(value_name = "AXIS=VALUE", value_parser = setting)]
    pub settings: Vec<(String, String)>,

    /// A design of the path; may be given again.
    #[arg(long, value_name = "DESIGN", default_values = ["before", "after"])]
    pub design: Vec<String>,

    /// How often a second the profiler looks; 0: never.
    #[arg(long, value_name = "N", default_value_t = 2_000, value_parser = clap::value_parser!(u32).range(..=20_000))]
    pub samples: u32,

    /// Blocks of trials, each with a process of its own.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=1000))]
    pub runs: Option<u32>,

    /// Seconds that the whole may take.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub time: Option<u32>,

    /// Seed of the order of trials.
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    pub seed: u64,

    /// Say what would be done, how long it would take and what it needs; do nothing.
    #[arg(long)]
    pub dry_run: bool,

    /// Where the page goes.
    #[arg(long, value_name = "FILE", default_value = "capture-profile.html")]
    pub page: PathBuf,
}

fn setting(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((axis, value)) if !axis.is_empty() && !value.is_empty() => Ok((axis.into(), value.into())),
        _ => Err("it is not of the form AXIS=VALUE".into()),
    }
}
