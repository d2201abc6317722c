//! A prediction made from tolls, before the trial that tests it.

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
    /// The formula, in words.
    pub model: String,
    /// The tolls that it was made from.
    pub from: Vec<TollKey>,
}

/// Where a prediction takes its tolls from.
pub trait TollSource {
    /// The toll for exactly that key, if it is known on this machine.
    fn toll(&self, key: &TollKey) -> Option<Toll>;
}
