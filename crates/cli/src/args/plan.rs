//! The options of `tollway plan`.

use clap::Args;

/// `tollway plan`.
#[derive(Debug, Args)]
#[command(after_help = "For example:
  tollway plan mm1 mu=10k/s --vary lambda --keep 'response.p99<5ms'
  tollway plan --vary lambda --keep 'response.p99<2ms' --case 'apart: mm1 mu=10k/s' \\
      --case 'one queue: mmc mu=10k/s servers=4'
  tollway plan examples/plan/delivery.toml

A level is a figure of the model and its bound: response.p99<500us, loss<0.1%, throughput>=1000/s. A figure of your \
                        own is a sum of products: cpu=3us*throughput+8us*interrupts.rate. Exit code 3: no case can \
                        keep the levels. More in docs/plan.md.")]
pub struct Plan {
    /// A model of the catalogue, or a plan as FILE.toml (`-` reads it from standard input); with --case, neither.
    #[arg(value_name = "MODEL|FILE.toml", required_unless_present = "case")]
    pub what: Option<String>,

    /// What is given, as KEY=VALUE; with several cases, to each whose model asks for it.
    #[arg(value_name = "KEY=VALUE")]
    pub given: Vec<String>,

    /// The parameter to find: a rate, a list of rates (moved as a whole), a time, a count, a number.
    #[arg(long, value_name = "KEY")]
    pub vary: Option<String>,

    /// The levels to keep, with , between them; may be given again.
    #[arg(long, value_name = "LEVELS")]
    pub keep: Vec<String>,

    /// A case to compare: 'NAME: MODEL KEY=VALUE …', and 'FIGURE:=SUM' for a figure of its own.
    #[arg(long, value_name = "CASE")]
    pub case: Vec<String>,

    /// A figure that follows from those of the model, as NAME=SUM.
    #[arg(long, value_name = "NAME=SUM")]
    pub figure: Vec<String>,

    /// Find the smallest value that keeps the levels, not the largest.
    #[arg(long)]
    pub smallest: bool,

    /// Look from this value on [default: 0.001/s, 1ns, 1].
    #[arg(long, value_name = "VALUE")]
    pub from: Option<String>,

    /// Look up to this value [default: 1e12/s, 1000s, 10000].
    #[arg(long, value_name = "VALUE")]
    pub to: Option<String>,

    /// Show these figures too where cases are compared; names with , between them.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub show: Vec<String>,
}
