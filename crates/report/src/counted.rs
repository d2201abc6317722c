//! What actors counted besides their operations: frames sent, delivered, dropped.

use std::collections::BTreeMap;

use tollway_store::PointRecord;

use crate::columns::printable;
use crate::document::RunDocument;
use crate::number::{count, time};

/// The title.
pub(crate) const TITLE: &str = "What was counted, in a trial on average";

/// What is counted of every point.
const OF_EVERY_POINT: &str = "operations";

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

/// A line for each point that counts something: its title, and the counts.
pub(crate) fn rows(document: &RunDocument) -> Vec<(String, String)> {
    let mut rows = Vec::new();
    for point in document.points.iter().filter(|p| p.toll.is_none() && p.trials > 0 && !p.on_a_curve()) {
        let of_interest = point.counters.iter().filter(|(name, _)| *name != OF_EVERY_POINT);
        let operations = point.counters.get(OF_EVERY_POINT).copied().unwrap_or_default();
        let counts: Vec<String> = of_interest
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

/// What was counted of each operation beside what was foretold of it.
fn beside(counted: f64, foretold: f64, operation: &str) -> String {
    format!("{counted:.3} a {operation}, foretold {foretold:.3}")
}

#[cfg(test)]
mod tests {
    use super::{beside, say};

    #[test]
    fn counters_are_words_and_times_have_their_unit() {
        assert_eq!(say("lost_on_cable", 0.0), "lost on cable 0");
        assert_eq!(beside(0.25, 0.125, "round trip"), "0.250 a round trip, foretold 0.125");
        assert_eq!(say("longest_between_reads_ns", 14.2e6), "longest between reads 14.2 ms");
    }
}
