//! A real queue to fit models to: requests over a pipe to a server on another core, as a trace on standard output.
//!
//! ```sh
//! cargo run --release --example one_server -- 4000 5000 > trace.csv
//! tollway fit trace.csv
//! ```
//!
//! The client sends by a Poisson schedule; the server sleeps in `read` until there is work, and works for a time between
//! half and one and a half of `--work`. Its thread runs under SCHED_FIFO where that is permitted (as root), so that nobody
//! else takes its processor; where it is not, the example says so. So arrivals are Poisson and services uniform, and whoever finds the server idle
//! pays for its being woken: [docs/story.md](../../../docs/story.md) tells how a fit finds that out. Columns: arrival, as
//! the schedule has it, begin and end of service.

use std::io::{self, BufWriter, Write};
use std::thread;

use anyhow::{Context, Result};
use clap::Parser;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rustix::io::{read, write};
use tollway_core::{Clock, Error, Ticks};
use tollway_host::clock::{self, RunClock};
use tollway_host::cpu::{Policy, choose_slots, pin_current_thread, set_policy};
use tollway_load::{Schedule, delay, follow};

#[derive(Parser)]
struct Options {
    /// Requests per second.
    rate: f64,
    /// How many requests.
    requests: usize,
    /// Microseconds of work for each, on average.
    #[arg(long, default_value_t = 100.0)]
    work: f64,
    /// Seed of the schedule and of the work.
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
            if let Err(refused) = set_policy(Policy::Fifo) {
                eprintln!("others may take the server's processor: SCHED_FIFO: {refused}");
            }
            let mut served = Vec::with_capacity(options.requests);
            let mut request = [0u8; 8];
            // Not the schedule's draws again: services would depend on gaps.
            let mut rng = StdRng::seed_from_u64(!options.seed);
            while served.len() < options.requests {
                // Pipes keep writes of eight bytes whole.
                read(&from_client, &mut request).context("reading a request")?;
                let work = (steps * rng.random_range(0.5..1.5)) as u32;
                let start = clock.open();
                delay(work);
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
    writeln!(out, "arrival_ns,start_ns,end_ns")?;
    for (arrival, (start, end)) in schedule.starts().iter().zip(served) {
        let nanoseconds = |ticks: Ticks| ticks as f64 / hz * 1e9;
        let times = [*arrival, start - begin, end - begin].map(nanoseconds);
        writeln!(out, "{:.0},{:.0},{:.0}", times[0], times[1], times[2])?;
    }
    out.flush()?;
    Ok(())
}

/// How many steps of [`delay`] take so many ticks where nothing disturbs them, by the least of several tries.
fn steps_that_take(ticks: f64, clock: RunClock) -> f64 {
    const TRIED: u32 = 100_000;
    let timed = |_| {
        let begun = clock.open();
        delay(TRIED);
        clock.close() - begun
    };
    let least = (0..20).map(timed).min().unwrap_or(1).max(1);
    ticks / least as f64 * f64::from(TRIED)
}
