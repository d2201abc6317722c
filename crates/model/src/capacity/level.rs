//! A service level as a person writes it: `response.p99<500us`, `loss<0.1%`, `throughput>=1000/s`.

use std::fmt;
use std::str::FromStr;

use crate::{ModelError, Result, Solution, Unit, quantity};

/// A bound on one figure of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    figure: String,
    relation: Relation,
    limit: f64,
    /// The unit that was written; a number without one is in the figure's base unit.
    unit: Option<Unit>,
    text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    Below,
    AtMost,
    Above,
    AtLeast,
}

const RELATIONS: [(&str, Relation); 6] = [
    ("<=", Relation::AtMost),
    (">=", Relation::AtLeast),
    ("≤", Relation::AtMost),
    ("≥", Relation::AtLeast),
    ("<", Relation::Below),
    (">", Relation::Above),
];

impl Level {
    /// Several of them, with `,` between them.
    ///
    /// # Errors
    /// When one is none.
    pub fn several(text: &str) -> Result<Vec<Level>> {
        text.split(',').map(str::parse).collect()
    }

    /// The figure's name.
    pub fn figure(&self) -> &str {
        &self.figure
    }

    /// The bound, in the figure's base unit.
    pub fn limit(&self) -> f64 {
        self.limit
    }

    /// The same level with its bound moved by a factor.
    #[must_use]
    pub(super) fn scaled(&self, factor: f64) -> Self {
        Level { limit: self.limit * factor, ..self.clone() }
    }

    /// The figure that the level is about.
    ///
    /// # Errors
    /// When the solution has none of that name, or one of another unit.
    pub(super) fn read(&self, model: &str, solution: &Solution) -> Result<f64> {
        let Some(metric) = solution.metrics().iter().find(|metric| metric.name == self.figure) else {
            let names: Vec<&str> = solution.metrics().iter().map(|metric| &*metric.name).collect();
            return Err(ModelError::parameter(
                format!("keep {}", self.text),
                format!("{model} has no figure `{}`", self.figure),
                format!("its figures are {}", names.join(", ")),
            ));
        };
        match self.unit {
            Some(unit) if unit != metric.unit => Err(ModelError::parameter(
                format!("keep {}", self.text),
                format!("the limit is not in the unit of {}", self.figure),
                match metric.unit {
                    Unit::Seconds => "write a time, like 500us",
                    Unit::PerSecond => "write a rate, like 1000/s",
                    _ => "write a number",
                },
            )),
            _ => Ok(metric.value),
        }
    }

    /// Whether the level is kept by this figure.
    pub(super) fn is_kept(&self, value: f64) -> bool {
        match self.relation {
            Relation::Below => value < self.limit,
            Relation::AtMost => value <= self.limit,
            Relation::Above => value > self.limit,
            Relation::AtLeast => value >= self.limit,
        }
    }

    /// How far the figure is beyond the limit, as a share of it; negative where there is room.
    pub(super) fn excess(&self, value: f64) -> f64 {
        let scale = if self.limit == 0.0 { 1.0 } else { self.limit.abs() };
        match self.relation {
            Relation::Below | Relation::AtMost => (value - self.limit) / scale,
            Relation::Above | Relation::AtLeast => (self.limit - value) / scale,
        }
    }
}

impl FromStr for Level {
    type Err = ModelError;

    fn from_str(text: &str) -> Result<Self> {
        let text = text.trim();
        let unreadable = |reason: &str| {
            ModelError::parameter(
                "keep",
                format!("`{text}` {reason}"),
                "write a figure and its bound, like response.p99<500us, loss<0.1% or throughput>=1000/s",
            )
        };
        let (at, sign, relation) = RELATIONS
            .iter()
            .filter_map(|(sign, relation)| text.find(sign).map(|at| (at, *sign, *relation)))
            .min_by_key(|(at, sign, _)| (*at, usize::MAX - sign.len()))
            .ok_or_else(|| unreadable("is no service level"))?;
        let (figure, limit) = (text[..at].trim(), text[at + sign.len()..].trim());
        if figure.is_empty() || figure.contains(char::is_whitespace) {
            return Err(unreadable("names no figure"));
        }
        let (limit, unit) = bound(limit).ok_or_else(|| unreadable("has no bound"))?;
        let refused = |reason: &str, remedy: &str| {
            Err(ModelError::parameter("keep", format!("`{text}` {reason}"), remedy))
        };
        match relation {
            _ if limit < 0.0 => {
                return refused("has a negative bound", "no figure is below 0: give a bound above it");
            }
            Relation::Below | Relation::AtMost if limit == 0.0 => {
                return refused("leaves no room above 0", "give a bound above 0");
            }
            Relation::AtLeast if limit == 0.0 => {
                return refused("is kept by everything", "give a bound above 0");
            }
            _ => {}
        }
        Ok(Level { figure: figure.into(), relation, limit, unit, text: text.into() })
    }
}

/// A number, a rate or a time, and the unit that was written.
pub(super) fn bound(text: &str) -> Option<(f64, Option<Unit>)> {
    let number = quantity::number("", text).ok().map(|value| (value, None));
    let rate = || quantity::rate("", text).ok().map(|value| (value, Some(Unit::PerSecond)));
    let time = || quantity::time("", text).ok().map(|value| (value, Some(Unit::Seconds)));
    number.or_else(rate).or_else(time)
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_as_people_write_them() {
        let levels = Level::several("response.p99 < 500us, loss<=0.1%,throughput>=10k/s").unwrap();
        let read: Vec<(&str, Relation, f64)> =
            levels.iter().map(|l| (l.figure(), l.relation, l.limit())).collect();
        assert_eq!(
            read,
            [
                ("response.p99", Relation::Below, 500.0 * 1e-6),
                ("loss", Relation::AtMost, 0.001),
                ("throughput", Relation::AtLeast, 10_000.0)
            ]
        );
        assert!(levels[0].is_kept(499e-6) && !levels[0].is_kept(levels[0].limit()));
        assert!(levels[2].is_kept(10_000.0) && levels[2].excess(5000.0) == 0.5);
    }

    #[test]
    fn what_is_no_level_says_what_would_be() {
        for bad in ["", "response.p99", "<500us", "response.p99<", "response.p99<fast", "a b<3"] {
            let told = bad.parse::<Level>().unwrap_err().to_string();
            assert!(told.starts_with("keep: ") && told.contains("response.p99<500us"), "{told}");
        }
    }

    #[test]
    fn negative_and_zero_bounds_are_refused_by_name() {
        for (bad, told) in [
            ("response.p99<-5ms", "`response.p99<-5ms` has a negative bound"),
            ("throughput>=-1/s", "has a negative bound"),
            ("loss<=0", "leaves no room above 0"),
            ("response.mean<0us", "leaves no room above 0"),
            ("throughput>=0", "is kept by everything"),
        ] {
            let error = bad.parse::<Level>().unwrap_err().to_string();
            assert!(
                error.starts_with("keep: ") && error.contains(told) && error.contains("above"),
                "{error}"
            );
        }
        assert!("throughput>0".parse::<Level>().is_ok());
    }

    #[test]
    fn a_figure_that_is_not_there_or_of_another_unit_is_told() {
        let solution = Solution::new().with("response.mean", 1.0, Unit::Seconds);
        let told =
            |text: &str| text.parse::<Level>().unwrap().read("mm1", &solution).unwrap_err().to_string();
        assert!(told("response.p99<1s").contains("its figures are response.mean"));
        assert!(told("response.mean<1/s").contains("write a time"));
    }
}
