//! A question of capacity: the model, what is given, what is varied, and the levels to keep.

use super::answer::{CapacityError, Goal};
use super::axis::{self, Axis};
use super::{Derived, Level};
use crate::catalogue::{Kind, Model, Parameter};
use crate::{ModelError, Result, Solution, Unit, quantity};

/// How much a system can take while it keeps its levels.
#[derive(Clone, Debug)]
pub struct Question {
    pub(super) model: &'static Model,
    /// What is given, as text; without the varied parameter.
    pub(super) given: Vec<(&'static str, String)>,
    pub(super) vary: &'static Parameter,
    /// Of a varied list the share that each entry has of the sum.
    shares: Vec<f64>,
    pub(super) levels: Vec<Level>,
    derived: Vec<Derived>,
    pub(super) axis: Axis,
    pub(super) goal: Goal,
}

/// The model at one value of the varied parameter.
#[derive(Clone, Debug)]
pub(super) struct Point {
    pub(super) value: f64,
    /// The figures, or why there are none.
    pub(super) figures: Result<Solution>,
    /// The largest excess over a level; infinite where there are no figures.
    pub(super) excess: f64,
    pub(super) is_kept: bool,
}

impl Question {
    /// A question about the largest value of `vary`, with everything else given as a person writes it.
    ///
    /// A varied list of rates is moved as a whole: it is given too, and its entries keep their proportions; the answer
    /// is their sum.
    ///
    /// # Errors
    /// When a parameter is missing or unknown, `vary` cannot be varied, or there is no level.
    pub fn new<'a>(
        model: &'static Model,
        given: impl IntoIterator<Item = (&'a str, &'a str)>,
        vary: &str,
        levels: Vec<Level>,
    ) -> Result<Self> {
        let pairs: Vec<(&str, &str)> = given.into_iter().collect();
        let Some(varied) = model.parameters.iter().find(|parameter| parameter.name == vary) else {
            let names: Vec<&str> = model.parameters.iter().map(|parameter| parameter.name).collect();
            let remedy = format!("its parameters are {}", names.join(", "));
            return Err(ModelError::parameter(
                vary,
                format!("{} has no such parameter to vary", model.name),
                remedy,
            ));
        };
        let axis = Axis::of(varied)?;
        let shares = match (varied.kind, pairs.iter().find(|(name, _)| *name == vary)) {
            (Kind::Rates, Some((_, text))) => shares(varied.name, text)?,
            (Kind::Rates, None) => {
                let remedy = format!("give the proportions too, for example {vary}={}", varied.example);
                return Err(ModelError::parameter(vary, "a list is varied as a whole", remedy));
            }
            (_, Some(_)) => {
                return Err(ModelError::parameter(
                    vary,
                    "it is varied and given",
                    "leave it out of what is given",
                ));
            }
            (_, None) => Vec::new(),
        };
        if levels.is_empty() {
            return Err(ModelError::parameter(
                "keep",
                "there is no level",
                "give one, like response.p99<500us",
            ));
        }
        let mut given = Vec::new();
        // Unknown, double and missing names are told before anything is solved.
        let others = pairs.iter().filter(|(name, _)| *name != vary);
        model.given(others.clone().copied().chain([(vary, varied.example)]))?;
        for parameter in model.parameters.iter().filter(|parameter| parameter.name != vary) {
            let text = others.clone().find(|(name, _)| *name == parameter.name).map(|(_, text)| *text);
            given.extend(text.or(parameter.default).map(|text| (parameter.name, text.to_owned())));
        }
        Ok(Self {
            model,
            given,
            vary: varied,
            shares,
            levels,
            derived: Vec::new(),
            axis,
            goal: Goal::Largest,
        })
    }

    /// With figures that follow from those of the model; levels may be about them.
    #[must_use]
    pub fn deriving(mut self, derived: Vec<Derived>) -> Self {
        self.derived = derived;
        self
    }

    /// The range that is looked at, in base units.
    pub fn range(&self) -> (f64, f64) {
        (self.axis.from, self.axis.to)
    }

    /// The figures that were derived.
    pub fn derived(&self) -> &[Derived] {
        &self.derived
    }

    /// Asks for this end of what keeps the levels.
    #[must_use]
    pub fn asking(mut self, goal: Goal) -> Self {
        self.goal = goal;
        self
    }

    /// Looks at this range only; an end that is not given stays as it is.
    ///
    /// # Errors
    /// When it is no range.
    pub fn within(mut self, from: Option<f64>, to: Option<f64>) -> Result<Self> {
        self.axis = self.axis.within(self.vary.name, from, to)?;
        Ok(self)
    }

    /// Reads a value of the varied parameter, with its unit or without.
    ///
    /// # Errors
    /// When it is none.
    pub fn read(&self, text: &str) -> Result<f64> {
        match self.unit() {
            Unit::PerSecond => quantity::rate(self.vary.name, text),
            Unit::Seconds => quantity::time(self.vary.name, text),
            _ => quantity::number(self.vary.name, text),
        }
    }

    /// The unit of the varied parameter.
    pub fn unit(&self) -> Unit {
        axis::unit(self.vary.kind)
    }

    /// The levels as one text.
    pub(super) fn levels_text(&self) -> String {
        self.levels.iter().map(Level::to_string).collect::<Vec<_>>().join(", ")
    }

    /// The figures at one value of the varied parameter, those derived as well.
    ///
    /// # Errors
    /// As the model does; or when a derived figure names what the model does not have.
    pub fn figures(&self, value: f64) -> Result<Solution> {
        self.with_derived(self.of_model(value)?)
    }

    /// The model's own figures at one value.
    fn of_model(&self, value: f64) -> Result<Solution> {
        let text = if self.shares.is_empty() {
            self.axis.text(value)
        } else {
            let entries: Vec<String> =
                self.shares.iter().map(|share| self.axis.text(share * value)).collect();
            entries.join(",")
        };
        let pairs = self.given.iter().map(|(name, text)| (*name, text.as_str()));
        let given = self.model.given(pairs.chain([(self.vary.name, text.as_str())]))?;
        self.model.solve(&given)
    }

    fn with_derived(&self, figures: Solution) -> Result<Solution> {
        self.derived.iter().try_fold(figures, |figures, derived| derived.add(self.model.name, figures))
    }

    /// The model at one value.
    ///
    /// # Errors
    /// When a level or derived figure names what the model does not have. What the model itself refuses is in the point.
    pub(super) fn at(&self, value: f64) -> Result<Point, CapacityError> {
        let figures = match self.of_model(value) {
            Ok(figures) => self.with_derived(figures)?,
            Err(error) => {
                return Ok(Point { value, figures: Err(error), excess: f64::INFINITY, is_kept: false });
            }
        };
        let mut excess = f64::NEG_INFINITY;
        let mut is_kept = true;
        for level in &self.levels {
            let figure = level.read(self.model.name, &figures)?;
            excess = excess.max(level.excess(figure));
            is_kept &= level.is_kept(figure);
        }
        Ok(Point { value, figures: Ok(figures), excess, is_kept })
    }
}

/// What each entry of a list of rates has of their sum.
fn shares(name: &str, text: &str) -> Result<Vec<f64>> {
    let rates: Vec<f64> = text.split(',').map(|rate| quantity::rate(name, rate)).collect::<Result<_>>()?;
    let sum: f64 = rates.iter().sum();
    if sum > 0.0 && sum.is_finite() && rates.iter().all(|rate| *rate >= 0.0) {
        return Ok(rates.into_iter().map(|rate| rate / sum).collect());
    }
    Err(ModelError::parameter(name, "its entries have no proportions", "give rates of which one is above 0"))
}
