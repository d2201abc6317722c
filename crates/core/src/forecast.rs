//! A prediction made from tolls, before the trial that tests it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Toll, TollKey};

/// Which figure of a point a prediction speaks of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quoted {
    /// The median, which is what a price list quotes.
    #[default]
    Median,
    /// The work: the mean, less what something else took meanwhile. It adds up.
    Work,
    /// The pace: what passes on the clock from one operation of an actor to its next, waiting included, by the mean rate
    /// of all measured actors. It is what those get who share something.
    Pace,
    /// The mean of what was timed, waiting and whatever else included: a response.
    Mean,
}

/// What those get who share something, by two caps: that of one alone and that of all together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sharing {
    /// Ticks of processor time of an operation for which there is always something to be had: a cap of each.
    pub alone: f64,
    /// Ticks between two operations of all together, at the least: the cap that they share.
    pub together: f64,
    /// How many share it.
    pub tenants: u32,
    /// The processors that they have.
    pub processors: u32,
    /// In what a person counts rates: `bit/s of seed-grade entropy`.
    pub gives: String,
    /// How much of that an operation a second is.
    pub amount: f64,
    /// What was published of the same, on another machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<PublishedLaw>,
}

/// A published curve of the same law.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PublishedLaw {
    /// Where, and on what machine.
    pub source: String,
    /// The cap of each, in the unit of the curve that it stands beside.
    pub one: f64,
    /// The cap of all together.
    pub shared: f64,
}

impl Sharing {
    /// Ticks from one operation of a tenant to its next, if each has that share of a processor: the reciprocal of
    /// min(share / alone, 1 / (tenants × together)).
    pub fn pace(&self, share: f64) -> f64 {
        (self.alone / share).max(f64::from(self.tenants) * self.together)
    }

    /// The share of a processor that each has where nobody else wants any.
    pub fn fair_share(&self) -> f64 {
        (f64::from(self.processors) / f64::from(self.tenants)).min(1.0)
    }
}

/// What a point is predicted to cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Forecast {
    /// Of which figure it speaks.
    #[serde(default)]
    pub of: Quoted,
    /// Ticks per operation.
    pub ticks: f64,
    /// Lower end of the prediction's interval, in ticks.
    pub lo: f64,
    /// Upper end of the prediction's interval, in ticks.
    pub hi: f64,
    /// What 99 of 100 do not exceed, in ticks, where that is foretold besides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99: Option<f64>,
    /// How often each of these counters of tallies is foretold to be counted, per operation.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counts: BTreeMap<String, f64>,
    /// The formula, in words.
    pub model: String,
    /// The tolls that it was made from.
    pub from: Vec<TollKey>,
    /// Of many who share something: by which caps. With it the prediction can be had for the processor time that tenants
    /// really got.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sharing: Option<Sharing>,
}

/// Where a prediction takes its tolls from.
pub trait TollSource {
    /// The toll for exactly that key, if it is known on this machine.
    fn toll(&self, key: &TollKey) -> Option<Toll>;
}
