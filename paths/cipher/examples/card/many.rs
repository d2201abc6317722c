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
            let operation = Operation {
                session: self.session,
                work: Work::Encrypt,
                iv: &IV,
                source: &source,
                associated: &[],
                result: &result,
                digest: 0,
            };
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
    let mut took = Vec::with_capacity(1 << 24);
    drive(&mut tenants, trial.time / 10, &mut took)?;
    took.clear();
    let before: Vec<u64> = tenants.iter().map(|tenant| tenant.done).collect();
    let begun = Instant::now();
    drive(&mut tenants, trial.time, &mut took)?;
    let seconds = begun.elapsed().as_secs_f64();
    let rates: Vec<f64> =
        tenants.iter().zip(before).map(|(tenant, before)| (tenant.done - before) as f64 / seconds).collect();
    let (last, others) = rates.split_last().expect("there are sixteen");
    took.sort_unstable();
    let p99 = took.get(took.len() * 99 / 100).copied().unwrap_or_default();
    println!("{} {} {last}", others.iter().sum::<f64>(), f64::from(p99) / 1e3);
    Ok(())
}

/// One after the other for so long; what the others' requests took, in nanoseconds.
fn drive(tenants: &mut [Tenant], time: Duration, took: &mut Vec<u32>) -> Result<()> {
    let begun = Instant::now();
    while begun.elapsed() < time {
        for (number, tenant) in tenants.iter_mut().enumerate() {
            let is_other = number < TENANTS - 1;
            tenant.drive(|time| {
                if is_other && took.len() < took.capacity() {
                    took.push(time.as_nanos().min(u32::MAX.into()) as u32);
                }
            })?;
        }
    }
    Ok(())
}
