//! What actors counted besides their operations: frames sent, delivered, dropped.

use std::collections::BTreeMap;

use tollway_stats::summary::median;
use tollway_store::PointRecord;

use crate::columns::printable;
use crate::document::{GaugeDocument, RunDocument};
use crate::number::{count, time};

/// The title.
pub(crate) const TITLE: &str = "What was counted, in a trial on average";

/// What is counted of every point.
const OF_EVERY_POINT: &str = "operations";

/// The confidence of a gauge's interval.
const CONFIDENCE: f64 = 0.95;

/// The fewest counters that are worth a line: with one only, it says how the operations were done.
const FEWEST: usize = 2;

/// The sums over all trials.
pub(crate) fn totals(record: &PointRecord) -> BTreeMap<String, u64> {
    let mut totals = BTreeMap::new();
    for (name, n) in record.measured.iter().flat_map(|trial| &trial.tally.counters) {
        *totals.entry(name.clone()).or_default() += n;
    }
    totals
}

/// The gauges, over all trials.
pub(crate) fn gauges(record: &PointRecord) -> BTreeMap<String, GaugeDocument> {
    let mut trials: BTreeMap<&String, BTreeMap<u32, Vec<f64>>> = BTreeMap::new();
    for trial in &record.measured {
        for (name, value) in &trial.tally.gauges {
            trials.entry(name).or_default().entry(trial.block).or_default().push(*value as f64);
        }
    }
    let of = |blocks: BTreeMap<u32, Vec<f64>>| {
        let all: Vec<f64> = blocks.values().flatten().copied().collect();
        let interval = tollway_stats::figure(&blocks.into_values().collect::<Vec<_>>(), CONFIDENCE).ok();
        let median = interval.map_or_else(|| median(&all).ok(), |figure| Some(figure.estimate))?;
        Some(GaugeDocument { median, interval: interval.map(|i| [i.lo, i.hi]) })
    };
    trials.into_iter().filter_map(|(name, blocks)| Some((name.clone(), of(blocks)?))).collect()
}

/// A line for each point that counts something: its title, and the counts.
pub(crate) fn rows(document: &RunDocument) -> Vec<(String, String)> {
    let mut rows = Vec::new();
    for point in document.points.iter().filter(|p| p.toll.is_none() && p.trials > 0 && !p.on_a_curve()) {
        let of_interest = point.counters.iter().filter(|(name, _)| *name != OF_EVERY_POINT);
        let operations = point.counters.get(OF_EVERY_POINT).copied().unwrap_or_default();
        let mut counts: Vec<String> = of_interest
            .map(|(name, n)| {
                let said = say(name, *n as f64 / f64::from(point.trials));
                match point.prediction.as_ref().and_then(|p| p.counts.get(name)) {
                    Some(foretold) if operations > 0 => {
                        format!(
                            "{said} ({})",
                            beside(*n as f64 / operations as f64, *foretold, &point.operation)
                        )
                    }
                    _ => said,
                }
            })
            .collect();
        counts.extend(point.gauges.iter().map(|(name, gauge)| level(name, gauge)));
        if counts.len() >= FEWEST {
            rows.push((printable(&point.label()), printable(&counts.join(" · "))));
        }
    }
    rows
}

/// A counter in words. One of nanoseconds says so in its name.
fn say(name: &str, value: f64) -> String {
    match name.strip_suffix("_ns") {
        Some(name) => format!("{} {}", name.replace('_', " "), time(value)),
        None => format!("{} {}", name.replace('_', " "), count(value)),
    }
}

/// A gauge in words: `jitter 14.2 µs [13.0 µs … 15.1 µs]`.
fn level(name: &str, gauge: &GaugeDocument) -> String {
    let said = say(name, gauge.median);
    let value = |x: f64| if name.ends_with("_ns") { time(x) } else { count(x) };
    match gauge.interval {
        Some([lo, hi]) if lo < hi => format!("{said} [{} … {}]", value(lo), value(hi)),
        _ => said,
    }
}

/// What was counted of each operation beside what was foretold of it.
fn beside(counted: f64, foretold: f64, operation: &str) -> String {
    format!("{counted:.3} a {operation}, foretold {foretold:.3}")
}

#[cfg(test)]
mod tests {
    use super::{beside, level, say};
    use crate::document::GaugeDocument;

    #[test]
    fn counters_are_words_and_times_have_their_unit() {
        assert_eq!(say("lost_on_cable", 0.0), "lost on cable 0");
        assert_eq!(beside(0.25, 0.125, "round trip"), "0.250 a round trip, foretold 0.125");
        assert_eq!(say("longest_between_reads_ns", 14.2e6), "longest between reads 14.2 ms");
    }

    #[test]
    fn a_gauge_is_told_with_its_interval_where_it_has_one() {
        let gauge = |interval| GaugeDocument { median: 14.2e3, interval };
        assert_eq!(level("jitter_ns", &gauge(Some([13e3, 15.1e3]))), "jitter 14.2 µs [13.0 µs … 15.1 µs]");
        assert_eq!(level("jitter_ns", &gauge(None)), "jitter 14.2 µs");
        assert_eq!(
            level("array_MiB", &GaugeDocument { median: 144.0, interval: Some([144.0; 2]) }),
            "array MiB 144"
        );
    }
}
