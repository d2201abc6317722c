//! The command as a process: this very program, which reads a command line as `tollway entropy` does.

#[path = "../../../../crates/service/testing/process.rs"]
#[allow(dead_code, reason = "who serves keys asks for more of it")]
mod process;

use clap::Parser;
use tollway_entropy_tool::args::Entropy;

pub use process::*;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    entropy: Entropy,
    #[arg(long, global = true)]
    json: bool,
}

/// Not a test of its own: what the others start.
#[test]
#[ignore = "the other tests start it, as the command in a process of its own"]
fn is_the_command() {
    be("tollway entropy", |line: Line| tollway_entropy_tool::run(&line.entropy, line.json));
}
