//! Sixteen tenants that one thread drives: all alike, or one that floods the card with the smallest requests.

use std::path::Path;
use std::time::{Duration, Instant};

use tollway_cipher::engine::device::Options as CardOptions;
use tollway_cipher::engine::driver::{Driver, Handle, Operation, Options, Waiting};
use tollway_cipher::engine::protocol::{Status, Work};
use tollway_cipher::engine::suite::{Algorithm, CipherMode, Direction};
use tollway_core::{Error, Result};
use tollway_host::cpu::pin_current_thread;
use tollway_virtio::Span;
use tollway_virtio::order::Discipline;

use crate::{IV, KEY, processors, served, time};

/// How many there are; the last is the one that floods.
const TENANTS: usize = 16;

/// What each asks for, and how often at once; and what the one that floods does.
const BYTES: usize = 1024;
const DEPTH: usize = 4;
const SMALLEST: usize = 16;
const FLOOD: usize = 512;

/// A trial.
pub struct Trial {
    order: Discipline,
    quantum: usize,
    what: &'static str,
    time: Duration,
}

pub fn trial(order: &str, quantum: &str, what: &str, seconds: &str) -> Option<Trial> {
    let order = match order {
        "fair" => Discipline::Fair,
        "arrival" => Discipline::Arrival,
        _ => return None,
    };
    let what = ["alike", "flood"].into_iter().find(|known| *known == what)?;
    Some(Trial { order, quantum: quantum.parse().ok()?, what, time: time(seconds)? })
}

/// A card, and who drives the tenants in a process of its own.
pub fn serves(trial: Trial) -> Result<()> {
    let failed = |e: std::io::Error| Error::system("making a folder for sockets", e);
    let folder = tempfile::tempdir().map_err(failed)?;
    let options = CardOptions { discipline: trial.order, quantum: trial.quantum, ..CardOptions::default() };
    let (place, seconds) = (folder.path().display().to_string(), trial.time.as_secs_f64().to_string());
    served::serve(folder.path(), TENANTS, options, &["drives", &place, trial.what, &seconds])
}

struct Tenant {
    driver: Driver,
    session: Handle,
    bytes: usize,
    /// When the request in each place was asked for.
    asked: Vec<Instant>,
    free: Vec<usize>,
    done: u64,
}

impl Tenant {
    fn connect(socket: &Path, bytes: usize, depth: usize) -> Result<Tenant> {
        let options = Options {
            waiting: Waiting::Busy,
            bytes: 2 * bytes * depth,
            depth: (depth as u16).next_power_of_two(),
            ..Options::default()
        };
        let mut driver = Driver::connect(socket, &options)?;
        let algorithm = Algorithm::Cipher(CipherMode::Cbc, Direction::Encrypt);
        let session = driver.open(algorithm, &KEY)?.map_err(|status| Error::Wrong(status.to_string()))?;
        let (asked, free) = (vec![Instant::now(); depth], (0..depth).collect());
        Ok(Tenant { driver, session, bytes, asked, free, done: 0 })
    }

    /// Takes what is done, and asks for as much again.
    fn drive(&mut self, mut took: impl FnMut(Duration)) -> Result<()> {
        let first = self.driver.free();
        let queue = &mut self.driver.queues[0];
        let mut now = None;
        while let Some(found) = queue.take()? {
            if found.status != Status::Ok {
                return Err(Error::Wrong(found.status.to_string()));
            }
            let now = *now.get_or_insert_with(Instant::now);
            took(now - self.asked[found.token as usize]);
            self.free.push(found.token as usize);
            self.done += 1;
        }
        if self.free.is_empty() {
            return Ok(());
        }
        let now = Instant::now();
        while let Some(place) = self.free.pop() {
            let at = first + 2 * self.bytes * place;
            let span = |at: usize| [Span { at, bytes: self.bytes as u32 }];
            let (source, result) = (span(at), span(at + self.bytes));
            let operation = Operation::new(self.session, Work::Encrypt, &IV, &source, &result);
            if !queue.submit(place as u64, &operation)? {
                return Err(Error::Wrong("there is no room for a request".into()));
            }
            self.asked[place] = now;
        }
        queue.kick();
        Ok(())
    }
}

/// Drives them all, one after the other without end. The first tenth of the time does not count.
pub fn drives(folder: &Path, trial: &Trial) -> Result<()> {
    let [first, _] = processors()?;
    pin_current_thread(first)?;
    let tenant = |number: usize| {
        let is_flood = trial.what == "flood" && number == TENANTS - 1;
        let (bytes, depth) = if is_flood { (SMALLEST, FLOOD) } else { (BYTES, DEPTH) };
        Tenant::connect(&folder.join(number.to_string()), bytes, depth)
    };
    let mut tenants = (0..TENANTS).map(tenant).collect::<Result<Vec<_>>>()?;
    // Of each of the others, in memory that does not grow.
    let mut took: Vec<Vec<u32>> = (1..TENANTS).map(|_| Vec::with_capacity(1 << 20)).collect();
    drive(&mut tenants, trial.time / 10, &mut took)?;
    took.iter_mut().for_each(Vec::clear);
    let before: Vec<u64> = tenants.iter().map(|tenant| tenant.done).collect();
    let begun = Instant::now();
    drive(&mut tenants, trial.time, &mut took)?;
    let seconds = begun.elapsed().as_secs_f64();
    let rates: Vec<f64> =
        tenants.iter().zip(before).map(|(tenant, before)| (tenant.done - before) as f64 / seconds).collect();
    let (last, others) = rates.split_last().expect("there are sixteen");
    let worst = took.iter_mut().map(|took| p99(took)).fold(0.0, f64::max);
    let all = p99(&mut took.concat());
    let (least, mean) = (
        others.iter().copied().fold(f64::INFINITY, f64::min),
        others.iter().sum::<f64>() / others.len() as f64,
    );
    println!("{least} {mean} {worst} {all} {last}");
    Ok(())
}

/// Their 99th percentile in microseconds, of nanoseconds.
fn p99(took: &mut [u32]) -> f64 {
    took.sort_unstable();
    took.get(took.len() * 99 / 100).map_or(0.0, |nanoseconds| f64::from(*nanoseconds) / 1e3)
}

/// One after the other for so long; what the requests of each of the others took, in nanoseconds.
fn drive(tenants: &mut [Tenant], time: Duration, took: &mut [Vec<u32>]) -> Result<()> {
    let begun = Instant::now();
    while begun.elapsed() < time {
        for (number, tenant) in tenants.iter_mut().enumerate() {
            let mut took = took.get_mut(number);
            tenant.drive(|time| {
                if let Some(took) = took.as_mut().filter(|took| took.len() < took.capacity()) {
                    took.push(time.as_nanos().min(u32::MAX.into()) as u32);
                }
            })?;
        }
    }
    Ok(())
}
