//! The command as a process: this very program, which reads a command line as `tollway cipher` does.

#[path = "../../../../crates/service/testing/process.rs"]
mod process;

use clap::Parser;
use tollway_cipher_tool::args::Operate;

pub use process::*;

#[derive(Parser)]
struct Line {
    #[command(subcommand)]
    cipher: Operate,
    #[arg(long, global = true)]
    json: bool,
}

/// Not a test of its own: what the others start.
#[test]
#[ignore = "the other tests start it, as the command in a process of its own"]
fn is_the_command() {
    be("tollway cipher", |line: Line| tollway_cipher_tool::run(&line.cipher, line.json));
}
