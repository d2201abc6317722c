//! The whole of a simulation: pilot, replications over threads, when to stop, what to tell.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rayon::prelude::*;
use tollway_model::Unit;
use tollway_model::spec::{Spec, Stop};

use crate::SimError;
use crate::engine::{Engine, Progress};
use crate::estimate::{count, estimate, quantile};
use crate::figures::{Figure, figures};
use crate::histogram::Histogram;
use crate::lindley::Lindley;
use crate::options::{Done, Options};
use crate::outcome::{Engine as EngineName, Estimate, Invariant, Outcome, StoppedBy};
use crate::rarity::scarce;
use crate::replication::{Histograms, Machine, Replication, Rows, Watch};
use crate::system::{Node, System};
use crate::totals::{Layout, station, whole};
use crate::warm_up::Series;

/// The replication number of the pilot: no other one has it.
const PILOT: u64 = u64::MAX;

/// Customers of the first pilot, and more for each part of the system; it is doubled while it is too short to tell.
const PILOT_CUSTOMERS: u64 = 20_000;
const PILOT_CUSTOMERS_OF_PART: u64 = 500;

/// The most customers of a pilot for each customer of a replication that counts, but not fewer than these.
const PILOT_SHARE: u64 = 4;
const PILOT_LEAST: u64 = 2000;

/// The most batches of a replication, and the most numbers kept for all of them.
const BATCHES: usize = 32;
const NUMBERS: usize = 8_000_000;

/// Customers of each replication before precision is looked at for the first time.
const FIRST_LOOK: u64 = 4096;

/// Customers after which replications that draw anything have drawn other numbers.
const FIRST_DRAWS: u64 = 256;

/// The share of a run by which the last of replications without chance begins later than the first: a quarter of the
/// golden section.
const STAGGERED: f64 = 0.25 * 0.618_034;

/// Standard errors within which a law that holds on average must hold.
const STANDARD_ERRORS: f64 = 6.0;

/// Simulates the system until it says to stop.
///
/// # Errors
/// When the specification is not usable, the system has no steady state, does not let customers go, or the options are
/// not usable; see [`SimError`].
pub fn simulate(spec: &Spec, options: &Options) -> Result<Outcome, SimError> {
    options.check()?;
    let spec = spec.clone().checked()?;
    let system = System::new(&spec)?;
    if options.threads == 1 {
        return run(&spec, &system, options);
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(options.threads).build();
    pool.map_err(|error| SimError::Threads(error.to_string()))?.install(|| run(&spec, &system, options))
}

/// What all replications are watched by.
struct Watcher<'a> {
    options: &'a Options<'a>,
    of: u64,
    customers: AtomicU64,
}

impl Watch for Watcher<'_> {
    fn go_on(&self, customers: u64) -> bool {
        let customers = customers + self.customers.fetch_add(customers, Ordering::Relaxed);
        if let Some(progress) = self.options.progress {
            progress(Done { customers, of: self.of });
        }
        !self.is_interrupted()
    }
}

impl Watcher<'_> {
    fn is_interrupted(&self) -> bool {
        self.options.interrupted.is_some_and(|flag| AtomicBool::load(flag, Ordering::Relaxed))
    }
}

fn run(spec: &Spec, system: &System, options: &Options) -> Result<Outcome, SimError> {
    let stop = &spec.stop;
    let replications = u64::from(stop.replications);
    let transient = pilot(system, stop, options)?;
    // At most as much is left out as counts: a longer start-up means that the run is too short, and is reported. The first
    // customer is always left out: the time before it comes belongs to no period of the system.
    let warm_up = transient.max(1).min(stop.customers);
    let first =
        if stop.precision.is_some() { FIRST_LOOK.max(warm_up).min(stop.customers) } else { stop.customers };
    let stagger =
        if is_without_chance(system, stop, options)? { stagger(first, stop.replications) } else { 0 };
    let staggered = stagger.saturating_mul(replications * (replications - 1) / 2);
    let of = (stop.customers + warm_up).saturating_mul(replications).saturating_add(staggered);
    let watcher = Watcher { options, of, customers: AtomicU64::new(0) };
    let lindley = options.lindley && system.is_lindley();
    let most = (NUMBERS / (Layout::new(system).columns * stop.replications as usize)).clamp(2, BATCHES);
    let begin = |replication: u64| {
        let machine = if lindley {
            Machine::Lindley(Box::new(Lindley::new(system, options.seed, replication)))
        } else {
            Machine::Events(Box::new(Engine::new(system, options.seed, replication)?))
        };
        let warm_up = warm_up + replication * stagger;
        // Batches begin short and are joined as they grow too many: an interruption finds enough of them.
        Ok(Replication::new(system, machine, warm_up, FIRST_LOOK.min(stop.customers), most, options.events))
    };
    let figures = figures(system);
    let mut running: Vec<Replication> = (0..replications).map(begin).collect::<Result<_, SimError>>()?;
    let stopped_by = advance(&mut running, first, stop, &figures, &watcher)?;
    running.retain(|replication| replication.counted() > 0);
    if running.is_empty() {
        return Err(SimError::Interrupted);
    }
    let estimates = estimates(&figures, &mut running, options.confidence)?;
    let (invariants, totals) = laws(system, &mut running)?;
    let (scarcest, scarce) = scarce(spec, Layout::new(system), &totals);
    Ok(Outcome {
        estimates,
        engine: if lindley { EngineName::Lindley } else { EngineName::Events },
        seed: options.seed,
        replications: running.len() as u32,
        warm_up,
        transient,
        customers: running.iter().map(Replication::counted).sum(),
        events: running.iter().map(Replication::events).sum(),
        stopped_by,
        scarcest,
        scarce,
        invariants,
    })
}

/// Goes on with all replications until the system says to stop.
fn advance(
    running: &mut [Replication],
    first: u64,
    stop: &Stop,
    figures: &[Figure],
    watcher: &Watcher<'_>,
) -> Result<StoppedBy, SimError> {
    let options = watcher.options;
    let response = figures.iter().find(|figure| figure.name == "response.mean");
    let mut target = first;
    loop {
        let advance = |replication: &mut Replication| replication.advance(target, watcher);
        // Outside a pool of its own, rayon would take every processor.
        let reached: Vec<bool> = if options.threads == 1 {
            running.iter_mut().map(advance).collect::<Result<_, SimError>>()?
        } else {
            running.par_iter_mut().map(advance).collect::<Result<_, SimError>>()?
        };
        if reached.contains(&false) || watcher.is_interrupted() && target < stop.customers {
            return Ok(StoppedBy::Interruption);
        }
        if let (Some(precision), Some(response)) = (stop.precision, response) {
            let rows: Vec<Rows> = running.iter_mut().map(Replication::rows).collect();
            let found = estimate(response, &rows, options.confidence)?;
            let width =
                found.and_then(|(_, interval)| interval).and_then(|interval| interval.relative_half_width());
            if width.is_some_and(|width| width <= precision) {
                return Ok(StoppedBy::Precision);
            }
        }
        if target >= stop.customers {
            return Ok(StoppedBy::Customers);
        }
        target = target.saturating_mul(2).min(stop.customers);
    }
}

/// All figures, quantiles included.
fn estimates(
    figures: &[Figure],
    running: &mut [Replication],
    confidence: f64,
) -> Result<Vec<Estimate>, SimError> {
    let rows: Vec<Rows> = running.iter_mut().map(Replication::rows).collect();
    let mut estimates = Vec::new();
    for figure in figures {
        if let Some((value, interval)) = estimate(figure, &rows, confidence)? {
            let count = count(figure, &rows);
            estimates.push(Estimate { name: figure.name.clone(), value, interval, unit: figure.unit, count });
        }
    }
    estimates.extend(quantiles(running, confidence)?);
    Ok(estimates)
}

/// How many customers each replication leaves out at its beginning.
fn pilot(system: &System, stop: &Stop, options: &Options) -> Result<u64, SimError> {
    let customers = stop.customers;
    let mut engine = Engine::new(system, options.seed, PILOT)?;
    engine.record = Some(Series::new());
    let parts = (system.stations.len() + system.coalescers.len()) as u64;
    let limit = customers.saturating_mul(PILOT_SHARE).max(PILOT_LEAST);
    let mut target = (PILOT_CUSTOMERS + PILOT_CUSTOMERS_OF_PART * parts).min(limit);
    loop {
        run_to(&mut engine, target, stop, options)?;
        let (cut, sure) = engine.record.as_ref().map_or((0, true), Series::truncation);
        if sure || target >= limit {
            return Ok(cut);
        }
        target = target.saturating_mul(2).min(limit);
    }
}

/// Goes on, before anything counts, until so many customers left.
fn run_to(engine: &mut Engine, target: u64, stop: &Stop, options: &Options) -> Result<(), SimError> {
    let all = stop.customers as f64 * f64::from(stop.replications);
    while engine.run(target)? == Progress::Underway {
        if let Some(events) = options.events.filter(|events| engine.events > *events) {
            return Err(SimError::Events { events });
        }
        engine.check_looks(all)?;
        if options.interrupted.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            return Err(SimError::Interrupted);
        }
    }
    Ok(())
}

/// Whether several replications are one and the same, because nothing in the system is drawn.
fn is_without_chance(system: &System, stop: &Stop, options: &Options) -> Result<bool, SimError> {
    if stop.replications == 1 {
        return Ok(false);
    }
    let row = |replication: u64| {
        let mut engine = Engine::new(system, options.seed, replication)?;
        run_to(&mut engine, FIRST_DRAWS, stop, options)?;
        let mut row = Vec::new();
        engine.write(&mut row);
        Ok::<_, SimError>(row)
    };
    Ok(row(0)? == row(1)?)
}

/// How many customers more each replication leaves out than the one before it, where they are one and the same: each
/// begins and ends elsewhere in the system's period then, and what a part of a period adds differs among them. Without
/// that an interval over them has no width, wherever the truth is.
fn stagger(customers: u64, replications: u32) -> u64 {
    // Odd, and no round share of a run, so that few periods are met at the same place again.
    (customers as f64 * STAGGERED / f64::from(replications)) as u64 | 1
}

/// Quantiles of the waits, responses and delays of the whole system.
fn quantiles(running: &mut [Replication], confidence: f64) -> Result<Vec<Estimate>, SimError> {
    const SHARES: [(&str, f64); 4] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p999", 0.999)];
    type Pick = for<'a> fn(Histograms<'a>) -> Option<&'a mut Histogram>;
    let kinds: [(&str, Pick); 3] = [
        ("wait", |histograms| Some(histograms.waits)),
        ("response", |histograms| Some(histograms.responses)),
        ("delay", |histograms| histograms.delays),
    ];
    let mut estimates = Vec::new();
    let count = running.iter().map(|replication| replication.counted() as f64).sum();
    for (kind, pick) in kinds {
        let mut all = Histogram::new();
        let mut each = Vec::new();
        for histogram in running.iter_mut().filter_map(|replication| pick(replication.histograms())) {
            all.merge(histogram);
            each.extend(histogram.quantiles(SHARES.map(|(_, share)| share)));
        }
        let Some(values) = all.quantiles(SHARES.map(|(_, share)| share)) else { continue };
        for (nth, ((name, _), value)) in SHARES.iter().zip(values).enumerate() {
            let each: Vec<f64> = each.iter().map(|values| values[nth].value).collect();
            let interval = quantile(value, &each, confidence)?;
            estimates.push(Estimate {
                name: format!("{kind}.{name}").into(),
                value: value.value,
                interval,
                unit: Unit::Seconds,
                count,
            });
        }
    }
    Ok(estimates)
}

/// Exact laws of every replication (a violation is an error) and laws that hold on average, summed over all; and the
/// totals of all.
fn laws(system: &System, running: &mut [Replication]) -> Result<(Vec<Invariant>, Vec<f64>), SimError> {
    let layout = Layout::new(system);
    let mut sums: Vec<Invariant> = Vec::new();
    let mut totals = vec![0.0; layout.columns];
    for replication in running {
        let (laws, row) = replication.laws();
        totals.iter_mut().zip(&row).for_each(|(sum, value)| *sum += value);
        if let Some(violated) = laws.iter().find(|law| !law.holds) {
            return Err(SimError::Invariant {
                law: violated.name.clone(),
                left: violated.left,
                right: violated.right,
            });
        }
        if sums.is_empty() {
            sums = laws;
        } else {
            sums.iter_mut().zip(&laws).for_each(|(sum, law)| sum.add(law));
        }
    }
    for (i, plan) in system.stations.iter().enumerate() {
        let of = |column| totals[layout.station(i, column)];
        let capacity = totals[whole::TIME] * f64::from(plan.servers);
        // Of services that began some are not finished; the rest is what chance allows.
        let rest = (of(station::WORK) - of(station::BUSY)).abs();
        let tolerance = STANDARD_ERRORS * of(station::VARIANCE).sqrt() + rest + 1e-9 * of(station::WORK);
        sums.push(Invariant::new(
            format!("busy probability at {}", system.name(Node::Station(i as u32))),
            of(station::BUSY) / capacity,
            of(station::EXPECTED) / capacity,
            tolerance / capacity,
        ));
    }
    Ok((sums, totals))
}
