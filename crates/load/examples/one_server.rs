//! A real queue to fit models to: requests over a pipe to a server on another core, as a trace on standard output.
//!
//! ```sh
//! cargo run --release --example one_server -- 5k 200000 > trace.csv
//! tollway fit trace.csv
//! ```
//!
//! The client sends by a Poisson schedule; the server sleeps in `read` until there is work, and works as long for each
//! request. So arrivals are Poisson and services nearly constant, and whoever finds the server idle pays for its being
//! woken: [docs/story.md](../../../docs/story.md) tells how a fit finds that out. Columns: intended arrival, begin and end
//! of service, in seconds.

use std::io::{self, BufWriter, Write};
use std::thread;

use anyhow::{Context, Result};
use clap::Parser;
use rustix::io::{read, write};
use tollway_core::{Clock, Error, Ticks};
use tollway_host::clock::{self, RunClock};
use tollway_host::cpu::{choose_slots, pin_current_thread};
use tollway_load::{Schedule, delay, follow};

#[derive(Parser)]
struct Options {
    /// Requests per second.
    rate: f64,
    /// How many requests.
    requests: usize,
    /// Microseconds of work for each.
    #[arg(long, default_value_t = 20.0)]
    work: f64,
    /// Seed of the schedule.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

fn main() -> Result<()> {
    let options = Options::parse();
    let clock = RunClock::chosen();
    let hz = clock::hz()?;
    let schedule = Schedule::poisson(hz / options.rate, options.requests, options.seed);
    let steps = steps_that_take(options.work * 1e-6 * hz, clock);
    let slots = choose_slots(2).map_err(Error::Missing)?;
    let (from_client, to_server) = rustix::pipe::pipe().context("making a pipe")?;

    let (served, lateness, begin) = thread::scope(|scope| -> Result<_> {
        let server = scope.spawn(|| -> Result<Vec<(Ticks, Ticks)>> {
            pin_current_thread(slots.cpus[1])?;
            let mut served = Vec::with_capacity(options.requests);
            let mut request = [0u8; 8];
            while served.len() < options.requests {
                // Pipes keep writes of eight bytes whole.
                read(&from_client, &mut request).context("reading a request")?;
                let start = clock.open();
                delay(steps);
                served.push((start, clock.close()));
            }
            Ok(served)
        });
        pin_current_thread(slots.cpus[0])?;
        let begin = clock.now() + (0.01 * hz) as Ticks;
        let mut failed = Ok(8);
        let lateness = follow(clock, begin, &schedule, |number| {
            if failed.is_ok() {
                failed = write(&to_server, &(number as u64).to_ne_bytes());
            }
        });
        drop(to_server);
        failed.context("sending a request")?;
        let served = server.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        Ok((served, lateness, begin))
    })?;

    eprintln!(
        "sent {:.1} us late on average, {:.0} us at worst",
        lateness.mean / hz * 1e6,
        lateness.worst as f64 / hz * 1e6
    );
    let mut out = BufWriter::new(io::stdout().lock());
    writeln!(out, "arrival,start,end")?;
    for (arrival, (start, end)) in schedule.starts().iter().zip(served) {
        let seconds = |ticks: Ticks| ticks as f64 / hz;
        writeln!(out, "{:.9},{:.9},{:.9}", seconds(*arrival), seconds(start - begin), seconds(end - begin))?;
    }
    out.flush()?;
    Ok(())
}

/// How many steps of [`delay`] take so many ticks where nothing disturbs them: the least of several tries.
fn steps_that_take(ticks: f64, clock: RunClock) -> u32 {
    const TRIED: u32 = 100_000;
    let timed = |_| {
        let begun = clock.open();
        delay(TRIED);
        clock.close() - begun
    };
    let least = (0..20).map(timed).min().unwrap_or(1).max(1);
    (ticks / least as f64 * f64::from(TRIED)).max(1.0) as u32
}
