//! A published claim, as data: what was said, where, and the figure of ours that tests it.
//!
//! A claim is a hypothesis. Nothing demands that it holds: its [`Relation`] says what was published, and what is
//! measured lies within it, or does not.

use serde::{Deserialize, Serialize};

use crate::{Crossover, Error, Params, Path, Result, Value};

/// The claims of a path, as its file has them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claims {
    /// In the order in which they are reported.
    #[serde(default)]
    pub claim: Vec<Claim>,
    /// What the source leaves open, or what is different here: conditions that every verdict stands under.
    #[serde(default)]
    pub conditions: Vec<String>,
}

/// A published statement and what tests it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Its name within its path.
    pub id: String,
    /// What was claimed, in one sentence.
    pub says: String,
    /// Where: study, section, figure or table.
    pub source: String,
    /// How it was taken from there.
    pub provenance: Provenance,
    /// The published figure, as a person reads it.
    pub published: String,
    /// Whether it can be expected to hold on other machines and years, and why.
    pub expected: String,
    /// The preset whose points test it.
    pub preset: String,
    /// The figure that tests it.
    pub metric: Metric,
    /// Where that figure lies if the claim holds; none where nothing can be measured.
    #[serde(default)]
    pub relation: Option<Relation>,
}

/// How a claim was taken from its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Provenance {
    /// The source has the number or the sentence.
    Quoted,
    /// It was read off a figure of the source.
    ReadOffAFigure,
    /// It follows from what the source has, or from what it takes for granted.
    Derived,
}

impl Provenance {
    /// What a person reads.
    pub fn title(self) -> &'static str {
        match self {
            Provenance::Quoted => "quoted",
            Provenance::ReadOffAFigure => "read off a figure",
            Provenance::Derived => "derived",
        }
    }
}

/// The figure that tests a claim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Metric {
    /// A quantity itself.
    Value(Quantity),
    /// A quantity over another.
    Ratio {
        /// What is divided.
        of: Quantity,
        /// By what.
        to: Quantity,
    },
    /// How far a quantity is from a straight line in something that varies: the largest distance from the line of least
    /// squares, as a share of the line's rise. 0 is straight.
    Bend(Series),
    /// Spearman's rank correlation of a quantity with something that varies: 1 where it always grows, −1 where it always
    /// falls.
    Rank(Series),
    /// From which value of something that varies on a quantity is below another: the first value at which it is, and twice
    /// the last or so where it is at none.
    Crossover(Crossover),
    /// Nothing that this machine or this program has can test it; why.
    None(String),
}

/// A figure of a point of the preset.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quantity {
    /// The point's variant.
    pub variant: String,
    /// Where on its axes, other than at their defaults.
    #[serde(default)]
    pub at: Params,
    /// Which figure of the point.
    #[serde(default)]
    pub what: Figured,
    /// Only these gates of its bill, in ticks an operation, instead of the whole.
    #[serde(default)]
    pub gates: Vec<String>,
    /// The whole without these gates.
    #[serde(default)]
    pub without: Vec<String>,
    /// Only a visit of that gate, in ticks.
    #[serde(default)]
    pub visit: Option<String>,
    /// This counter instead of a cost …
    #[serde(default)]
    pub counter: Option<String>,
    /// … for one of that counter.
    #[serde(default)]
    pub per: Option<String>,
    /// Less this.
    #[serde(default)]
    pub less: Option<Box<Quantity>>,
    /// The point, with a value for every axis; known once the claim is [complete](Claim::complete).
    #[serde(skip)]
    pub point: Params,
}

/// Which figure of a point a quantity is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Figured {
    /// What an operation costs, in ticks; all that a quantity says of gates, counters and visits is about that.
    #[default]
    Cost,
    /// The pace of its tenants: ticks from one operation of a tenant to its next, waiting included, by their mean rate.
    Pace,
    /// The mean of what was timed, in ticks, waiting included: of a path whose cost is processor time, how long one waits.
    Response,
    /// What was predicted of the point before it was measured, in ticks.
    Predicted,
    /// What all its measured actors give in a second, in the unit that its variant [counts](crate::Variant::yields) first; in
    /// operations where that names none.
    Rate,
    /// The rate of the fastest tenant over that of the slowest.
    Unevenness,
}

/// A quantity while something varies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Series {
    /// The quantity, but for one axis.
    pub of: Quantity,
    /// That axis.
    pub axis: String,
    /// Its values.
    pub values: Vec<Value>,
    /// What each stands for on the horizontal; where nothing is said, the values themselves.
    #[serde(default)]
    pub x: Vec<f64>,
    /// The quantity at each value, and where that is on the horizontal; known once the claim is
    /// [complete](Claim::complete).
    #[serde(skip)]
    pub each: Vec<(f64, Quantity)>,
}

/// Where a figure lies if a claim holds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Relation {
    /// Not below this.
    AtLeast(f64),
    /// Not above this.
    AtMost(f64),
    /// From the first to the second.
    Between([f64; 2]),
    /// Of a crossover: this value of its axis, or so many of its steps beside it. It is a [`Between`](Relation::Between)
    /// once the claim is [complete](Claim::complete).
    Near {
        /// The published value.
        value: f64,
        /// How many steps on either side.
        steps: usize,
    },
}

impl Relation {
    /// The ends of the range, which may be infinite.
    pub fn range(self) -> (f64, f64) {
        match self {
            Relation::AtLeast(least) => (least, f64::INFINITY),
            Relation::AtMost(most) => (f64::NEG_INFINITY, most),
            Relation::Between([least, most]) => (least, most),
            Relation::Near { value, .. } => (value, value),
        }
    }
}

impl Series {
    fn complete(&mut self, path: &Path) -> Result<()> {
        let refused = |reason: String, remedy: &str| {
            let place = format!("series over `{}`", self.axis);
            Err(Error::Input { place, reason, remedy: remedy.into() })
        };
        if !self.x.is_empty() && self.x.len() != self.values.len() {
            let reason = format!("{} values, and {} places for them", self.values.len(), self.x.len());
            return refused(reason, "give each value its `x`, or none");
        }
        let mut each = Vec::new();
        for (i, value) in self.values.iter().enumerate() {
            let x = match (self.x.get(i), value) {
                (Some(x), _) => *x,
                (None, Value::Int(n)) => *n as f64,
                (None, Value::Real(x)) => *x,
                (None, Value::Text(word)) => {
                    return refused(
                        format!("`{word}` is no number"),
                        "say in `x` what each value stands for",
                    );
                }
            };
            let mut quantity = self.of.clone();
            quantity.at.set(&self.axis, value.clone());
            quantity.complete(path)?;
            each.push((x, quantity));
        }
        if each.len() < 3 {
            return refused(format!("{} values show no trend", each.len()), "name three or more");
        }
        self.each = each;
        Ok(())
    }
}

impl Claim {
    /// The same claim with every point named in full, so that it can be found among the points of a run.
    ///
    /// # Errors
    /// A variant, an axis or a value that the path does not have; a claim that can be tested and has no relation.
    pub fn complete(mut self, path: &Path) -> Result<Claim> {
        let place = format!("claim `{}.{}`", path.name, self.id);
        let within = |error| match error {
            Error::Input { place: inner, reason, remedy } => {
                Error::Input { place: format!("{place}: {inner}"), reason, remedy }
            }
            other => other,
        };
        path.preset(&self.preset).map_err(within)?;
        if self.relation.is_none() != matches!(self.metric, Metric::None(_)) {
            return Err(Error::Input {
                place,
                reason: "a metric and a relation go together".into(),
                remedy: "name both, or a metric `none` with its reason and no relation".into(),
            });
        }
        match &mut self.metric {
            Metric::Value(of) => of.complete(path),
            Metric::Ratio { of, to } => of.complete(path).and_then(|()| to.complete(path)),
            Metric::Bend(series) | Metric::Rank(series) => series.complete(path),
            Metric::Crossover(crossover) => crossover.complete(path),
            Metric::None(_) => Ok(()),
        }
        .map_err(within)?;
        if let Some(Relation::Near { value, steps }) = self.relation {
            let beside = match &self.metric {
                Metric::Crossover(crossover) => crossover.beside(value, steps),
                _ => None,
            };
            self.relation = Some(Relation::Between(beside.ok_or_else(|| Error::Input {
                place,
                reason: format!("{value} is no value of a crossover's axis"),
                remedy: "name one of its `values`, or another relation".into(),
            })?));
        }
        Ok(self)
    }

    /// Every quantity that it needs, with what others are less by, once it is complete.
    pub fn quantities(&self) -> Vec<&Quantity> {
        let mut all: Vec<&Quantity> = match &self.metric {
            Metric::Value(of) => vec![of],
            Metric::Ratio { of, to } => vec![of, to],
            Metric::Bend(series) | Metric::Rank(series) => series.each.iter().map(|(_, q)| q).collect(),
            Metric::Crossover(crossover) => {
                crossover.each.iter().flat_map(|(_, of, below)| [of, below]).collect()
            }
            Metric::None(_) => Vec::new(),
        };
        let mut at = 0;
        while let Some(quantity) = all.get(at) {
            all.extend(quantity.less.as_deref());
            at += 1;
        }
        all
    }
}

impl Quantity {
    pub(crate) fn complete(&mut self, path: &Path) -> Result<()> {
        self.point = self.at.clone().complete(&path.variant(&self.variant)?.axes())?;
        match &mut self.less {
            Some(less) => less.complete(path),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relation_is_a_range() {
        assert_eq!(Relation::AtLeast(3.1).range(), (3.1, f64::INFINITY));
        assert_eq!(Relation::AtMost(0.1).range(), (f64::NEG_INFINITY, 0.1));
        assert_eq!(Relation::Between([3.1, 5.0]).range(), (3.1, 5.0));
    }
}
