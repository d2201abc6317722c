//! What a question of capacity is answered with, or why it is not.

use super::words::said;
use crate::{ModelError, Solution, Unit};

/// Which end of what keeps the level is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Goal {
    /// The largest value.
    #[default]
    Largest,
    /// The smallest.
    Smallest,
}

/// How much the system can take.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The parameter that was varied.
    pub vary: &'static str,
    /// The largest (or smallest) value that keeps every level, in the unit below.
    pub value: f64,
    /// The unit of the values.
    pub unit: Unit,
    /// The figures at that value, those derived as well.
    pub figures: Solution,
    /// What is broken beyond it.
    pub binds: Binds,
    /// All intervals of the range in which every level is kept, rising. More than one: the level is not monotone.
    pub kept: Vec<Kept>,
    /// How the answer moves with the other parameters and with the limits.
    pub of_answer: Vec<Sensitivity>,
    /// How the figures of the levels move with the varied parameter, at the answer.
    pub of_figures: Vec<Sensitivity>,
}

/// Why the answer is not beyond its value.
#[derive(Clone, Debug, PartialEq)]
pub enum Binds {
    /// These levels, as they were written.
    Levels(Vec<String>),
    /// There is no steady state.
    NoSteadyState,
    /// The model answers no further: its error.
    Model(String),
}

/// An interval in which every level is kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kept {
    /// Its lower end.
    pub from: f64,
    /// Its upper end.
    pub to: f64,
    /// Whether the lower end is that of the range which was looked at, rather than of what keeps the level.
    pub from_first: bool,
    /// Whether the upper end is.
    pub to_last: bool,
}

/// An elasticity: by how many per cent one thing moves when another moves by one per cent.
#[derive(Clone, Debug, PartialEq)]
pub struct Sensitivity {
    /// The parameter, limit or figure.
    pub of: String,
    /// The elasticity.
    pub elasticity: f64,
}

/// The point that misses the levels least.
#[derive(Clone, Debug, PartialEq)]
pub struct Closest {
    /// The value of the varied parameter.
    pub at: f64,
    /// The level that is missed most there.
    pub level: String,
    /// The figure of that level there.
    pub figure: f64,
    /// The unit of the figure.
    pub unit: Unit,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CapacityError {
    /// No value of the range keeps every level.
    #[error("{}", never(.levels, .vary, *.unit, *.from, *.to, .closest))]
    NeverKept {
        /// The levels, as they were written.
        levels: String,
        /// The parameter that was varied.
        vary: &'static str,
        /// Its unit.
        unit: Unit,
        /// The lower end of the range.
        from: f64,
        /// The upper end of the range.
        to: f64,
        /// The best there is.
        closest: Box<Closest>,
    },
    /// The level is still kept at the end of the range.
    #[error("{}", always(.levels, .vary, *.unit, *.goal, *.from, *.to))]
    AlwaysKept {
        /// The levels, as they were written.
        levels: String,
        /// The parameter that was varied.
        vary: &'static str,
        /// Its unit.
        unit: Unit,
        /// Which end was asked for.
        goal: Goal,
        /// From where it is kept.
        from: f64,
        /// Up to where it is kept.
        to: f64,
    },
    /// The model does not answer, or something of the question is unusable.
    #[error(transparent)]
    Model(#[from] ModelError),
}

fn never(levels: &str, vary: &str, unit: Unit, from: f64, to: f64, closest: &Closest) -> String {
    format!(
        "{levels} cannot be kept at any {vary} from {} to {}: at best, at {vary} = {}, {} is {}",
        said(from, unit),
        said(to, unit),
        said(closest.at, unit),
        closest.level,
        said(closest.figure, closest.unit),
    )
}

fn always(levels: &str, vary: &str, unit: Unit, goal: Goal, from: f64, to: f64) -> String {
    let (end, option, other) = match goal {
        Goal::Largest => (to, "--to", "smallest"),
        Goal::Smallest => (from, "--from", "largest"),
    };
    format!(
        "{vary}: {levels} is kept from {} to {}, and {} is the end of the range; look further with {option}, \
         tighten the level, or ask for the {other} {vary}",
        said(from, unit),
        said(to, unit),
        said(end, unit),
    )
}
