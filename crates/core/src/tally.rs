//! What an actor counted besides its latencies.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Spread;

/// Counts by name. Counts of several actors add up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    /// How often each gate with [`Visits::Counted`](crate::Visits::Counted) was passed.
    pub visits: BTreeMap<String, u64>,
    /// How often a sampling profiler found an actor at each part of its work: a gate's name, or several joined by
    /// [`AND`](Tally::AND) where it cannot tell them apart; no name for what is no gate's.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub samples: BTreeMap<String, u64>,
    /// How long what passed was at each stage of its critical path, in order; the last is the whole. Not every operation
    /// need be timed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<Stage>,
    /// What was taken of each actor's core that watched its own, a list for each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taken: Vec<Vec<Taken>>,
    /// Anything else worth counting.
    pub counters: BTreeMap<String, u64>,
    /// What a trial came to that says nothing when it is added up over trials: a jitter, an array's size. Those of several actors
    /// add up, so that what does not is told by one of them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub gauges: BTreeMap<String, u64>,
}

/// A piece of time that was taken of a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Taken {
    /// Nanoseconds after the window opened.
    pub at: u64,
    /// For how many nanoseconds.
    pub long: u64,
}

/// A stage of a critical path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stage {
    /// From where to where.
    pub name: String,
    /// How long it took, in ticks; a sample is one operation.
    pub spread: Spread,
}

impl Tally {
    /// Joins the names of gates that a profiler cannot tell apart.
    pub const AND: &str = " + ";

    /// The same tally with one more counter.
    pub fn counter(mut self, name: impl Into<String>, count: u64) -> Self {
        self.counters.insert(name.into(), count);
        self
    }

    /// The same tally with one more gauge.
    pub fn gauge(mut self, name: impl Into<String>, value: u64) -> Self {
        self.gauges.insert(name.into(), value);
        self
    }

    /// The same tally with one more gate's visits.
    pub fn visited(mut self, gate: impl Into<String>, count: u64) -> Self {
        self.visits.insert(gate.into(), count);
        self
    }

    /// The same tally with a part's samples.
    pub fn sampled(mut self, part: impl Into<String>, count: u64) -> Self {
        self.samples.insert(part.into(), count);
        self
    }

    /// The same tally with one more stage.
    pub fn stage(mut self, name: impl Into<String>, spread: Spread) -> Self {
        self.stages.push(Stage { name: name.into(), spread });
        self
    }

    /// Adds another actor's counts.
    pub fn merge(&mut self, other: &Tally) {
        for (name, n) in &other.visits {
            *self.visits.entry(name.clone()).or_default() += n;
        }
        for (part, n) in &other.samples {
            *self.samples.entry(part.clone()).or_default() += n;
        }
        for stage in &other.stages {
            match self.stages.iter_mut().find(|s| s.name == stage.name) {
                Some(same) => same.spread.merge(&stage.spread),
                None => self.stages.push(stage.clone()),
            }
        }
        self.taken.extend(other.taken.iter().cloned());
        for (name, n) in &other.counters {
            *self.counters.entry(name.clone()).or_default() += n;
        }
        for (name, value) in &other.gauges {
            *self.gauges.entry(name.clone()).or_default() += value;
        }
    }
}
