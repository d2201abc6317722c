//! How far processors are from each other. A hypervisor may move virtual ones to cores that are further apart, and back; what goes from one to the other then
//! costs other than its tolls, while all else costs the same.

use std::time::Duration;

use tollway_core::{Crossing, Placement, TollKey};
use tollway_host::clock::{RunClock, hz, synchrony};
use tollway_host::cpu::choose_slots;

use crate::bill::Bill;
use crate::document::ApartDocument;
use crate::prices::Prices;

/// Longer or shorter by so much, and it is another distance. The shortest way that is looked for here has two readings of the counter in it, and is some tens of
/// nanoseconds longer than the toll of a cache line that just comes back.
const OTHER: f64 = 3.0;

/// How long a cache line takes now from one core to another and back, the two between which tolls are measured, in about 10 ms. `None` where there are not two, or
/// nothing to measure it by.
pub(crate) fn there_and_back() -> Option<Duration> {
    if RunClock::chosen() != RunClock::Tsc {
        return None;
    }
    let [first, second] = choose_slots(2).ok()?.cpus[..] else { return None };
    let ticks = synchrony(first, second).ok()?.there_and_back();
    Some(Duration::from_secs_f64(ticks as f64 / hz().ok()?))
}

/// Whether a bill has prices of what goes between cores.
pub(crate) fn is_between_cores(bill: &Bill) -> bool {
    let across = format!("/{}", Placement::Across.name());
    let mut keys = bill.lines.iter().filter_map(|line| line.sum.as_ref()).flat_map(|sum| &sum.keys);
    keys.any(|key| key.contains(&across))
}

impl ApartDocument {
    /// What a cache line takes there and back, where that is of another distance than the prices are; `None` too where it was not measured with them.
    pub fn of(found: Duration, prices: &Prices<'_>) -> Option<ApartDocument> {
        let priced = prices.of(&TollKey::of(Crossing::CacheLine).placement(Placement::Across))?.ns;
        let found = found.as_nanos() as f64;
        (found > OTHER * priced || priced > OTHER * found).then_some(ApartDocument { found, priced })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_line_has_a_way() {
        if choose_slots(2).is_err() || RunClock::chosen() != RunClock::Tsc {
            return assert_eq!(there_and_back(), None);
        }
        let found = there_and_back().expect("both are free at the same time within seconds");
        assert!(found > Duration::from_nanos(5) && found < Duration::from_millis(10), "{found:?}");
    }
}
