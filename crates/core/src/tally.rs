//! What an actor counted besides its latencies.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Counts by name. Counts of several actors add up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    /// How often each gate with [`Visits::Counted`](crate::Visits::Counted) was passed.
    pub visits: BTreeMap<String, u64>,
    /// Anything else worth counting.
    pub counters: BTreeMap<String, u64>,
}

impl Tally {
    /// The same tally with one more counter.
    pub fn counter(mut self, name: impl Into<String>, count: u64) -> Self {
        self.counters.insert(name.into(), count);
        self
    }

    /// The same tally with one more gate's visits.
    pub fn visited(mut self, gate: impl Into<String>, count: u64) -> Self {
        self.visits.insert(gate.into(), count);
        self
    }

    /// Adds another actor's counts.
    pub fn merge(&mut self, other: &Tally) {
        for (name, n) in &other.visits {
            *self.visits.entry(name.clone()).or_default() += n;
        }
        for (name, n) in &other.counters {
            *self.counters.entry(name.clone()).or_default() += n;
        }
    }
}
