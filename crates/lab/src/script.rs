//! What a run is asked to do, and what the store keeps of that so that it can be taken up again.

use serde::{Deserialize, Serialize};

use crate::point::Selection;
use crate::side::{Setting, Side};

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
}

/// What the store keeps as the plan of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Script {
    /// What was asked for, with all overrides applied.
    pub(crate) request: Request,
    /// What stood in the settings that the sides change, to be put back should the run be killed.
    pub(crate) before: Vec<Setting>,
}
