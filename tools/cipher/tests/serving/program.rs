//! The command as a process: this very program, which reads a command line as `tollway cipher` does.

#[path = "../../../../crates/service/testing/process.rs"]
mod process;

use std::env;

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
    let Ok(arguments) = env::var(ARGUMENTS) else { return };
    let line = Line::try_parse_from(std::iter::once("tollway cipher").chain(arguments.split('\n')));
    let ended = match line {
        Ok(line) => tollway_cipher_tool::run(&line.cipher, line.json).map_err(|error| format!("{error:#}")),
        Err(error) => Err(error.to_string()),
    };
    if let Err(error) = ended {
        eprintln!("tollway: {error}");
        std::process::exit(1);
    }
    std::process::exit(0);
}
