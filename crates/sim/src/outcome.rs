//! What a simulation answers.

use std::borrow::Cow;

use serde::Serialize;
use tollway_model::Unit;
use tollway_stats::Interval;

/// One figure of a simulation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// Its flat name, the one a formula uses for the same thing.
    pub name: Cow<'static, str>,
    /// Its value, in `unit`.
    pub value: f64,
    /// Its interval; `None` where too little was seen to tell.
    pub interval: Option<Interval>,
    /// The unit of the value.
    pub unit: Unit,
    /// Customers that it was seen on, over all replications: of a wait, those who waited.
    pub count: f64,
}

/// How it was simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Engine {
    /// Lindley's recursion: one station, one server, first come first served, no limit.
    Lindley,
    /// Event by event.
    Events,
}

/// What ended it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum StoppedBy {
    /// The budget of customers.
    Customers,
    /// The precision asked for was reached.
    Precision,
    /// Somebody interrupted it; what was simulated until then counts.
    Interruption,
}

/// A law that must hold whatever was simulated, held against what was seen.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Invariant {
    /// Which: `Little's law at device`.
    pub name: String,
    /// One side.
    pub left: f64,
    /// The other side.
    pub right: f64,
    /// How far they may be apart: rounding where the law is exact, several standard errors where it holds on average.
    pub tolerance: f64,
    /// Whether they are not farther apart than that.
    pub holds: bool,
}

impl Invariant {
    pub(crate) fn new(name: String, left: f64, right: f64, tolerance: f64) -> Self {
        // Not greater, and no NaN.
        let holds = (left - right).abs() <= tolerance;
        Invariant { name, left, right, tolerance, holds }
    }

    /// The same law of another replication is added: both sides are sums.
    pub(crate) fn add(&mut self, other: &Invariant) {
        self.left += other.left;
        self.right += other.right;
        self.tolerance += other.tolerance;
        self.holds &= other.holds;
    }
}

/// How often a distribution showed the long times that waiting comes from.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Scarce {
    /// Which: `station device: service`.
    pub place: String,
    /// Probability of a long time.
    pub probability: f64,
    /// How many times were drawn, over all replications.
    pub draws: f64,
    /// How the names of the figures begin that hang on it; none where all do.
    pub figures: Vec<String>,
}

impl Scarce {
    /// How many long times are to be expected among those drawn.
    pub fn expected(&self) -> f64 {
        self.probability * self.draws
    }
}

/// All that came of a simulation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// Figures with intervals.
    pub estimates: Vec<Estimate>,
    /// How it was simulated.
    pub engine: Engine,
    /// Seed of all random numbers.
    pub seed: u64,
    /// Independent replications that were run.
    pub replications: u32,
    /// Customers of each replication that were left out at its beginning.
    pub warm_up: u64,
    /// Customers of each that should have been left out: more, where that would have been more than count.
    pub transient: u64,
    /// Customers that count, over all replications.
    pub customers: u64,
    /// Events processed, over all replications, warm-up included.
    pub events: u64,
    /// What ended it.
    pub stopped_by: StoppedBy,
    /// The distribution whose long times came least often, of those that all figures hang on.
    pub scarcest: Option<Scarce>,
    /// Those that only some figures hang on.
    pub scarce: Vec<Scarce>,
    /// Laws that were checked.
    pub invariants: Vec<Invariant>,
}

impl Outcome {
    /// The figure of that name.
    pub fn get(&self, name: &str) -> Option<&Estimate> {
        self.estimates.iter().find(|e| e.name == name)
    }
}
