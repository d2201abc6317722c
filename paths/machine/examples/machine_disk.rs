//! How many accesses a second the disk engine makes, and fio with the same settings, in turns on two files of the same size: a line of
//! JSON for each turn.
//!
//! `cargo run --release -p tollway-machine --example machine_disk -- PATTERN SIZE DEPTH ACCESS MIB MILLISECONDS ROUNDS [fio]`, for instance
//! `randread 4096 32 direct 1024 300 20 fio`; without the last word fio is left out.

use std::ops::ControlFlow;
use std::time::Duration;

use tollway_core::{Clock, Error, Result};
use tollway_host::clock::{self, RunClock};
use tollway_host::scratch::folder;
use tollway_machine::engine::disk::{Accesses, Load, Pattern, TestFile, fio};

/// What comes before the time that counts, in milliseconds.
const RAMP: u64 = 50;

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [pattern, size, depth, access, mib, ms, rounds, with @ ..] = &words[..] else {
        return Err(input("arguments", "there are not all"));
    };
    let number = |word: &String| word.parse::<u64>().map_err(|e| input(word, &e.to_string()));
    let load = Load {
        pattern: Pattern::of(pattern)?,
        size: number(size)? as usize,
        depth: number(depth)? as usize,
        direct: access == "direct",
    };
    let (bytes, runtime) = (number(mib)? << 20, Duration::from_millis(number(ms)?));
    let with_fio = with.iter().any(|word| word == "fio");
    let mut ours = TestFile::make(&folder(), bytes, 1)?;
    let others = with_fio.then(|| TestFile::make(&folder(), bytes, 2)).transpose()?;
    for round in 0..number(rounds)? {
        // Who is first changes, so that neither always follows the other.
        for turn in [round % 2, (round + 1) % 2] {
            match &others {
                Some(file) if turn == 1 => {
                    file.access(load.direct, load.size)?;
                    let ramp = Duration::from_millis(RAMP);
                    let told = fio::run(file, fio::Asked { load, ramp, runtime, seed: round })?;
                    line("fio", round, told.rate(), load);
                }
                None if turn == 1 => {}
                _ => {
                    let mut accesses = Accesses::new(ours, load, round)?;
                    line("tollway", round, rate(&mut accesses, runtime)?, load);
                    ours = accesses.verified(1 << 20)?;
                }
            }
        }
    }
    Ok(())
}

/// Accesses a second, between two moments at which some came back.
fn rate(accesses: &mut Accesses, runtime: Duration) -> Result<f64> {
    let (clock, hz) = (RunClock::chosen(), clock::hz()?);
    let opens = clock.now() + (RAMP as f64 / 1e3 * hz) as u64;
    let closes = opens + (runtime.as_secs_f64() * hz) as u64;
    let (mut from, mut to, mut done) = (None, 0, 0);
    accesses.run(clock, |at, took| {
        if from.is_some() {
            (to, done) = (at, done + took.len());
        } else if at >= opens {
            from = Some(at);
        }
        if at >= closes && done > 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    Ok(done as f64 / (to - from.unwrap_or(to)) as f64 * hz)
}

fn line(by: &str, round: u64, rate: f64, load: Load) {
    let bytes = rate * load.size as f64;
    println!(
        "{{\"by\":\"{by}\",\"round\":{round},\"accesses_per_second\":{rate:.1},\"bytes_per_second\":{bytes:.0}}}"
    );
}

fn input(place: &str, reason: &str) -> Error {
    let remedy = "PATTERN SIZE DEPTH direct|buffered MIB MILLISECONDS ROUNDS [fio]";
    Error::Input { place: place.into(), reason: reason.into(), remedy: remedy.into() }
}
