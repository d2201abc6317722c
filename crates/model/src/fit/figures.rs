//! Every figure of a trace, with its interval.

use tollway_stats::{Interval, Location, batch_means, counts, summary, t_interval};

use super::estimate::{CONFIDENCE, Estimate, ratio};
use super::queue::Observed;
use super::series::{COARSE, Examined};
use super::trace::{Clocks, Stamps};
use super::{Series, Trace};
use crate::Unit;

/// Batches that figures of responses, which depend on each other, are taken over.
const BATCHES: usize = 20;

/// All of them, in the order in which a person reads them.
pub(super) fn figures(
    trace: &Trace,
    gaps: Option<&Examined>,
    services: Option<&Examined>,
    servers: u32,
    seed: u64,
) -> Vec<Estimate> {
    let mut found = Vec::new();
    for (name, rate, series) in [("gap", "lambda", gaps), ("service", "mu", services)] {
        found.extend(series.into_iter().flat_map(|series| of_series(name, rate, series)));
    }
    if let (Some(gaps), Some(services)) = (gaps, services) {
        let load = services.moments.mean / gaps.moments.mean / f64::from(servers);
        let dependent = gaps.depend() || services.depend();
        let interval = utilization(trace, servers, load, dependent, seed);
        found.push(Estimate::of_either("utilization", interval, load, Unit::Share));
    }
    for (name, series, stamps) in [
        ("wait", &trace.waits, trace.wait_stamps),
        ("setup", &trace.setups, trace.wait_stamps),
        ("response", &trace.responses, trace.response_stamps),
    ] {
        let stamps = stamps.unwrap_or_default();
        found.extend(series.iter().flat_map(|Series { values, .. }| of_dependent(name, values, stamps)));
    }
    if let Some(deliveries) = &trace.deliveries
        && let Some(completed) = &deliveries.completed
    {
        let delays: Vec<f64> =
            deliveries.told.iter().zip(completed).map(|(told, done)| told - done).collect();
        found.extend(of_dependent("delay", &delays, Stamps::default()));
    }
    let counted: Vec<u64> = trace.classes.iter().map(|(_, count)| *count).collect();
    let shares = counts::shares(&counted, CONFIDENCE).unwrap_or_default();
    let share = |((name, _), share): (&(String, u64), Interval)| {
        Estimate::of(format!("class.{name}.share"), share, Unit::Share)
    };
    found.extend(trace.classes.iter().zip(shares).map(share));
    found
}

fn of_series(name: &str, rate: &str, series: &Examined) -> [Estimate; 3] {
    let moments = &series.moments;
    let inverse = |i: Interval| Interval::new(1.0 / i.estimate, 1.0 / i.hi, 1.0 / i.lo, CONFIDENCE).ok();
    let rates = moments.mean_interval.filter(|i| i.lo > 0.0).and_then(inverse);
    [
        Estimate::of_either(rate, rates, 1.0 / moments.mean, Unit::PerSecond),
        Estimate::of_either(format!("{name}.mean"), moments.mean_interval, moments.mean, Unit::Seconds),
        Estimate::of_either(format!("{name}.scv"), moments.scv_interval, moments.scv, Unit::Ratio),
    ]
}

fn utilization(trace: &Trace, servers: u32, load: f64, dependent: bool, seed: u64) -> Option<Interval> {
    let (services, gaps) = (trace.services.as_ref()?, trace.gaps.as_ref()?);
    let interval = ratio(&services.values, &gaps.values, dependent, seed)?;
    let by = f64::from(servers);
    Interval::new(load, interval.lo / by, interval.hi / by, CONFIDENCE).ok()
}

/// Mean, median and 99th percentile of a series whose neighbours depend on each other, by batches; without what the clock
/// of the stamps that they are differences of cannot tell.
fn of_dependent(name: &str, values: &[f64], stamps: Stamps) -> Vec<Estimate> {
    let Ok(mean) = summary::mean(values) else { return Vec::new() };
    if stamps.clocks != Clocks::One && stamps.hide(mean) {
        return Vec::new();
    }
    let around = |value: f64, reach: f64| {
        Interval::new(value, (value - reach).max(0.0), value + reach, CONFIDENCE).ok()
    };
    let batched = batch_means(values, BATCHES, CONFIDENCE).ok();
    let interval = batched.and_then(|b| around(mean, b.interval.half_width()));
    let mut found = vec![Estimate::of_either(format!("{name}.mean"), interval, mean, Unit::Seconds)];
    for (short, probability) in [("p50", 0.5), ("p99", 0.99)] {
        let Ok(value) = summary::quantile(values, probability) else { continue };
        // Rounding moves no mean of one clock, but a quantile by up to a unit.
        let unit = stamps.unit;
        if unit > COARSE * mean && value <= unit * (1.0 + 1e-9) {
            continue;
        }
        let length = values.len() / BATCHES;
        // A quantile of a batch is nearly unbiased with ten values beyond it.
        let enough = length as f64 * (1.0 - probability) >= 10.0;
        let of_batches = || {
            let batches = values.chunks_exact(length).take(BATCHES);
            let quantiles: Vec<f64> =
                batches.filter_map(|b| summary::quantile(b, probability).ok()).collect();
            t_interval(&quantiles, CONFIDENCE).ok()
        };
        let interval =
            enough.then(of_batches).flatten().and_then(|i| around(value, i.half_width().max(unit)));
        found.push(Estimate::of_either(format!("{name}.{short}"), interval, value, Unit::Seconds));
    }
    found
}

/// Times that depend on each other, as models must predict them; `None` where there are too few.
pub(super) fn observed(values: &[f64]) -> Option<Observed> {
    let length = values.len() / BATCHES;
    if length < 10 {
        return None;
    }
    let batches = values.chunks_exact(length).take(BATCHES);
    let means: Vec<f64> = batches.filter_map(|b| summary::mean(b).ok()).collect();
    let mean = Location { estimate: summary::mean(values).ok()?, ..Location::student(&means).ok()? };
    Some(Observed { mean, p99: summary::quantile(values, 0.99).ok()? })
}
