//! What a run is asked to do, and what the store keeps of that so that it can be taken up again.

use serde::{Deserialize, Serialize};
use tollway_core::{Forecast, Params, Registry, Result};

use crate::lab::Lab;
use crate::point::{self, Point, Selection};
use crate::side::{Setting, Side};
use crate::timing;

/// What a run is to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// What a person calls it.
    pub title: String,
    /// Which points.
    pub selection: Selection,
    /// The sides of a comparison; empty where nothing is compared.
    pub sides: Vec<Side>,
    /// The seed of everything random.
    pub seed: u64,
    /// Whether points that predict themselves are measured together with the tolls they need, in the same blocks: nothing
    /// is predicted then, and the tolls are as new as they can be.
    #[serde(default)]
    pub together: bool,
    /// Whether only the points that the presets name are measured, without the tolls that those need.
    #[serde(default)]
    pub without_tolls: bool,
    /// What whoever asks predicts of these points: it is frozen before the first trial of any of them.
    #[serde(default)]
    pub foretold: Vec<Foretold>,
    /// How narrow a figure must be for its point to have no more trials, as a share: half the width of the interval of its ratio where
    /// there are two sides, else of its figure.
    #[serde(default)]
    pub narrow: Option<f64>,
    /// Seconds that it was cut to ([`Request::fit_to`]): the laboratory cuts further where its pilots took longer than was reckoned, and a
    /// path that runs over all the same. With `narrow`, which may end sooner, seconds after which no further block begins.
    #[serde(default)]
    pub within: Option<f64>,
}

impl Request {
    /// Its points.
    ///
    /// # Errors
    /// What of the selection cannot be used.
    pub fn points(&self, registry: &Registry) -> Result<Vec<Point>> {
        let points = match (self.without_tolls, self.together) {
            (true, _) => point::named,
            (false, true) => point::billed,
            (false, false) => point::points,
        };
        points(registry, &self.selection)
    }

    /// Cuts its trials so that all of it takes about so many seconds: first fewer blocks, then shorter windows, each only so far that intervals
    /// stay of use. Presets of which each names a budget divide the time so; what headlines need to be known exactly is kept for them.
    ///
    /// # Errors
    /// What of the selection cannot be used.
    pub fn fit_to(&mut self, seconds: f64, lab: &Lab<'_>) -> Result<()> {
        self.within = Some(seconds);
        if self.narrow.is_some() {
            // As many blocks as there is time for: found out while they are played.
            return Ok(());
        }
        let mut points = self.points(lab.registry)?;
        points.retain(|point| lab.lacking(point).is_none());
        timing::fit_to(seconds, &mut self.selection.presets, &points, self.sides.len().max(1));
        Ok(())
    }
}

/// A prediction that does not come from the variant itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Foretold {
    /// The path's name.
    pub path: String,
    /// The variant's name.
    pub variant: String,
    /// A value for each of its axes.
    pub params: Params,
    /// What the point will cost.
    pub forecast: Forecast,
}

/// What the store keeps as the plan of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Script {
    /// What was asked for, with all overrides applied.
    pub(crate) request: Request,
    /// What stood in the settings that the sides change, to be put back should the run be killed.
    pub(crate) before: Vec<Setting>,
    /// Whether another host was measured than the one on which the program ran.
    #[serde(default)]
    pub(crate) elsewhere: bool,
}
