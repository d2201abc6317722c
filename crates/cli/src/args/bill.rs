//! `tollway bill` on the command line.

use std::path::PathBuf;

use clap::Args;
use tollway_program_tool::args::Program;

use super::Repeats;

/// `tollway bill`.
#[derive(Debug, Args)]
#[command(override_usage = "tollway bill [OPTIONS] -- <COMMAND>...
       tollway bill [OPTIONS] --pid <PID>
       tollway bill [OPTIONS] <PATH> [AXIS=VALUE]...
       tollway bill [OPTIONS] --of <RUN>")]
pub struct Bill {
    /// The path.
    #[arg(value_name = "PATH", required_unless_present_any = ["of", "command", "pid"], conflicts_with_all = ["command", "pid"])]
    pub path: Option<String>,

    /// Where on its axes, as `AXIS=VALUE`; `tollway list PATH` names them [default: each axis's own].
    #[arg(value_name = "AXIS=VALUE", value_parser = setting)]
    pub settings: Vec<(String, String)>,

    /// Only this variant; may be given again [default: every one whose gates all have tolls].
    #[arg(long, value_name = "NAME")]
    pub variant: Vec<String>,

    /// Show the bills of a run of the store instead of measuring.
    #[arg(long, value_name = "RUN", conflicts_with_all = ["path", "settings", "variant", "command", "pid"])]
    pub of: Option<i64>,

    /// Write the bill to FILE instead of printing it: text, or with --json a document.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Print only the sum: one line of a program's bill.
    #[arg(short, long)]
    pub quiet: bool,

    /// Keep nothing: neither a program's bill in the store nor prices that are measured for it in the price list.
    #[arg(long, conflicts_with_all = ["of", "path"])]
    pub no_store: bool,

    /// How often and how long.
    #[command(flatten)]
    pub repeats: Repeats,

    /// A program instead of a path.
    #[command(flatten)]
    pub program: Program,
}

fn setting(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((axis, value)) if !axis.is_empty() && !value.is_empty() => Ok((axis.into(), value.into())),
        _ => Err("write AXIS=VALUE, for instance size=1514".into()),
    }
}
