//! `tollway reproduce` on the command line.

use std::path::PathBuf;

use clap::Args;

use super::Repeats;

/// `tollway reproduce`.
#[derive(Debug, Args)]
pub struct Reproduce {
    /// Claims, as `capture.timestamp`, or paths for all of theirs [default: all of all paths].
    #[arg(value_name = "CLAIM")]
    pub claims: Vec<String>,

    /// Judge the figures of this run of the store instead of measuring; may be given again: each claim is judged by the last of these
    /// runs that measured all that it needs.
    #[arg(long, value_name = "RUN", conflicts_with_all = ["runs", "warmup", "time", "dry_run", "strict", "export"])]
    pub of: Vec<i64>,

    /// Where the page goes [default: REPRODUCTION.md with all claims, nowhere with some].
    #[arg(long, value_name = "FILE")]
    pub page: Option<PathBuf>,

    /// How often and how long.
    #[command(flatten)]
    pub repeats: Repeats,

    /// Go on with the last run that was interrupted or killed, as it was begun.
    #[arg(long, conflicts_with_all = ["of", "runs", "warmup", "time", "seed", "dry_run"])]
    pub resume: bool,
}
