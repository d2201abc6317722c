//! The web service and its clients, without the laboratory: how many requests a second it answers, in one line of JSON.
//!
//! Usage: `machine_service [CLIENTS [SECONDS [REQUESTS_PER_SECOND]]]`; `machine_service serve` only serves, until it is killed, and
//! prints where. `TOLLWAY_POSTGRES` names a PostgreSQL server to be used in place of SQLite.

use std::cell::RefCell;
use std::env;
use std::error::Error;
use std::str::FromStr;

use tollway_core::{Clock, Recorder};
use tollway_host::clock::{self, RunClock};
use tollway_host::scratch;
use tollway_machine::engine::service::{Keep, Limits, Load, POSTGRES, Pace, Server};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let keep = env::var(POSTGRES)
        .map_or_else(|_| Keep::Sqlite(scratch::folder()), |url| Keep::Postgres(url, tollway_postgres::open));
    let server = Server::start(keep, Limits::default())?;
    if arguments.first().is_some_and(|first| first == "serve") {
        println!("http://{}/users", server.address());
        loop {
            std::thread::park();
        }
    }
    let clients = argument(&arguments, 0, 4)?;
    let seconds: f64 = argument(&arguments, 1, 2.0)?;
    let rate: f64 = argument(&arguments, 2, 0.0)?;
    let pace = if rate > 0.0 { Pace::Open { rate } } else { Pace::Closed { think: 0.0 } };
    let mut load = Load::connect(server.address(), clients, 1)?;
    let (clock, hz) = (RunClock::chosen(), clock::hz()?);
    let recorder = RefCell::new(Recorder::new());
    let begun = clock.now();
    let end = begun + (seconds * hz) as u64;
    let late = load.drive(
        clock,
        hz,
        pace,
        1,
        |now| now < end,
        |done| {
            recorder.borrow_mut().sample(done.ended.saturating_sub(done.begun));
        },
    )?;
    let took = clock.now().saturating_sub(begun) as f64 / hz;
    let users = load.holds()?;
    let spread = recorder.into_inner().spread();
    let us = |ticks: f64| ticks / hz * 1e6;
    let quantile = |q| us(spread.quantile(q).unwrap_or_default());
    println!(
        "{}",
        serde_json::json!({
            "requests_per_second": spread.ops as f64 / took,
            "p50_us": quantile(0.5),
            "p99_us": quantile(0.99),
            "p999_us": quantile(0.999),
            "mean_late_us": us(late as f64 / spread.ops.max(1) as f64),
            "users": users,
        })
    );
    Ok(())
}

fn argument<T: FromStr>(arguments: &[String], at: usize, default: T) -> Result<T, T::Err> {
    arguments.get(at).map_or(Ok(default), |text| text.parse())
}
