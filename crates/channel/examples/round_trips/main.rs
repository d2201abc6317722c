//! What a round trip costs between two processes: `round_trips MODE [--depth N] [--work TICKS] [--bytes N] [--trips N] [--cores A,B]`.
//!
//! ```text
//!   ring       requests and replies through the rings
//!   futures    the same, each request a future of a task of its own
//!   slow-path  one at a time, as datagrams
//!   fast-path  one at a time, by handing the turn over
//!   idle       the server sleeps: how long until it is awake, and what it uses meanwhile
//!   sides      what the rings cost each side, without the way of a cache line from core to core
//! ```
//!
//! The other process is this program again. Every reply is looked at. Each line that is printed is a word and a number: `median` and `mean` are
//! ticks of the run's clock per round trip, over stretches of 256 of them; `notices` are calls of the kernel to wake the other
//! end, of both sides, per message (request or reply).
#![allow(missing_docs)]

mod answering;
mod asking;
mod idle;
mod message;
mod options;
mod other;
mod sides;
mod stretches;

use std::error::Error;
use std::process::ExitCode;

use options::{Mode, Options};

type Outcome = Result<(), Box<dyn Error>>;

fn main() -> ExitCode {
    match play() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("round_trips: {error}");
            ExitCode::FAILURE
        }
    }
}

fn play() -> Outcome {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    let name = other::name_of_serving(&mut words);
    let options = Options::read(&words)?;
    match (name, options.mode) {
        (Some(name), _) => answering::answers(&name, &options),
        (None, Mode::Sides) => sides::measures(&options),
        (None, Mode::Idle) => idle::asks(&options),
        (None, _) => asking::asks(&options),
    }
}
