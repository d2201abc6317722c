//! How many accesses a second the disk engine makes, and fio with the same settings, in turns on two files of the same size and on one
//! processor: a line of JSON for each turn.
//!
//! `cargo run --release -p tollway-machine --example machine_disk -- PATTERN SIZE DEPTH ACCESS MIB MILLISECONDS ROUNDS [fio|fio-first] [slowed]`,
//! for instance `randread 4096 32 direct 1024 300 20 fio`; without that word fio is left out, with `fio-first` its file is made before ours and
//! its turn is before ours in the first round. `slowed` plants a quarter more work in ours: who compares the two has to see it.

use std::ops::ControlFlow;
use std::time::Duration;

use tollway_core::{Clock, Error, Result};
use tollway_host::clock::{self, RunClock};
use tollway_host::cpu::{pin_current_thread, slots};
use tollway_host::scratch::folder;
use tollway_machine::engine::disk::{Accesses, Load, Pattern, TestFile, fio};

/// What comes before the time that counts, in milliseconds.
const RAMP: u64 = 50;

/// Of so many accesses one is not counted, where ours is slowed.
const PLANTED: u32 = 5;

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
    let has = |word: &str| with.iter().any(|other| other == word);
    let (with_fio, fio_first, slowed) = (has("fio") || has("fio-first"), has("fio-first"), has("slowed"));
    // fio inherits it.
    pin_current_thread(*slots()?.first().ok_or_else(|| input("processors", "there is none"))?)?;
    let make = |seed| TestFile::make(&folder(), bytes, seed);
    let before = fio_first.then(|| make(2)).transpose()?;
    let mut ours = make(1)?;
    let others = if with_fio && !fio_first { Some(make(2)?) } else { before };
    for round in 0..number(rounds)? {
        // Who is first changes, so that neither always follows the other.
        let fio_now = (round % 2 == 1) != fio_first;
        for by_fio in [fio_now, !fio_now] {
            match &others {
                Some(file) if by_fio => {
                    file.access(load.direct, load.size)?;
                    let ramp = Duration::from_millis(RAMP);
                    let told = fio::run(file, fio::Asked { load, ramp, runtime, seed: round })?;
                    line("fio", round, told.rate(), load);
                }
                None if by_fio => {}
                _ => {
                    let mut accesses = Accesses::new(ours, load, round)?;
                    let rate = rate(&mut accesses, runtime)?;
                    let counted = if slowed { 1.0 - 1.0 / f64::from(PLANTED) } else { 1.0 };
                    line("tollway", round, rate * counted, load);
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
    let remedy = "PATTERN SIZE DEPTH direct|buffered MIB MILLISECONDS ROUNDS [fio|fio-first] [slowed]";
    Error::Input { place: place.into(), reason: reason.into(), remedy: remedy.into() }
}
