//! Figures that a model does not give but that follow from those it gives: what the processors pay for interrupts, what
//! a fixed delay adds to a quantile.

use std::fmt;
use std::str::FromStr;

use super::level::bound;
use crate::{ModelError, Result, Solution, Unit};

/// A sum of products, as a person writes it: `cpu = 3.1us*throughput + 8us*interrupts.rate`.
#[derive(Clone, Debug, PartialEq)]
pub struct Derived {
    name: String,
    terms: Vec<Term>,
    text: String,
}

/// A factor, its power of seconds, and the figure that it multiplies.
#[derive(Clone, Debug, PartialEq)]
struct Term {
    factor: f64,
    seconds: i32,
    figure: Option<String>,
}

impl Derived {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The solution with this figure as well.
    ///
    /// # Errors
    /// When a figure is missing, there is one of this name already, or its terms have different units.
    pub(super) fn add(&self, model: &str, solution: Solution) -> Result<Solution> {
        if solution.get(&self.name).is_some() {
            return Err(self.unfit(format!("{model} has a figure of this name already"), "take another name"));
        }
        let mut sum = 0.0;
        let mut units = Vec::new();
        for term in &self.terms {
            let (value, unit) = term.read(model, &solution).map_err(|missing| {
                let names: Vec<&str> = solution.metrics().iter().map(|metric| &*metric.name).collect();
                self.unfit(missing, &format!("its figures are {}", names.join(", ")))
            })?;
            sum += value;
            units.push(unit);
        }
        let first = units[0];
        if let Some(other) = units.iter().find(|unit| power(**unit) != power(first)) {
            let reason = format!("it adds {} to {}", kind(*other), kind(first));
            return Err(self.unfit(reason, "multiply a rate by the time of each, or a time by a number"));
        }
        let unit = if units.iter().all(|unit| *unit == first) { first } else { plain(power(first)) };
        Ok(solution.with(self.name.clone(), sum, unit))
    }

    fn unfit(&self, reason: String, remedy: &str) -> ModelError {
        ModelError::parameter(format!("figure {}", self.text), reason, remedy)
    }
}

impl Term {
    fn read(&self, model: &str, solution: &Solution) -> Result<(f64, Unit), String> {
        let Some(figure) = &self.figure else { return Ok((self.factor, plain(self.seconds))) };
        let metric = solution.metrics().iter().find(|metric| metric.name == figure.as_str());
        let metric = metric.ok_or_else(|| format!("{model} has no figure `{figure}`"))?;
        let unit = if self.seconds == 0 { metric.unit } else { plain(self.seconds + power(metric.unit)) };
        Ok((self.factor * metric.value, unit))
    }
}

/// The power of seconds in a unit.
fn power(unit: Unit) -> i32 {
    match unit {
        Unit::Seconds => 1,
        Unit::SecondsSquared => 2,
        Unit::PerSecond => -1,
        Unit::Count | Unit::Share | Unit::Ratio | Unit::AsGiven => 0,
    }
}

fn plain(power: i32) -> Unit {
    match power {
        0 => Unit::Ratio,
        1 => Unit::Seconds,
        2 => Unit::SecondsSquared,
        -1 => Unit::PerSecond,
        _ => Unit::AsGiven,
    }
}

fn kind(unit: Unit) -> &'static str {
    match power(unit) {
        1 => "a time",
        -1 => "a rate",
        0 => "a number",
        _ => "something else",
    }
}

impl FromStr for Derived {
    type Err = ModelError;

    fn from_str(text: &str) -> Result<Self> {
        let text = text.trim();
        let unreadable = |reason: String| {
            ModelError::parameter(
                "figure",
                reason,
                "write it like cpu=3.1us*throughput+8us*interrupts.rate or total.p99=response.p99+5us",
            )
        };
        let (name, sum) = text.split_once('=').ok_or_else(|| unreadable(format!("`{text}` has no `=`")))?;
        let (name, sum) = (name.trim(), sum.trim());
        if name.is_empty() || name.contains(|c: char| c.is_whitespace() || "<>,*+".contains(c)) {
            return Err(unreadable(format!("`{name}` is no name")));
        }
        let mut terms = Vec::new();
        for product in sum.split('+') {
            let mut term = Term { factor: 1.0, seconds: 0, figure: None };
            for factor in product.split('*').map(str::trim) {
                match bound(factor) {
                    Some((value, unit)) => {
                        term.factor *= value;
                        term.seconds += unit.map_or(0, power);
                    }
                    None if factor.starts_with(char::is_alphabetic) && term.figure.is_none() => {
                        term.figure = Some(factor.into());
                    }
                    None => return Err(unreadable(format!("`{}` is no term", product.trim()))),
                }
            }
            terms.push(term);
        }
        Ok(Derived { name: name.into(), terms, text: text.into() })
    }
}

impl fmt::Display for Derived {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn solution() -> Solution {
        Solution::new()
            .with("throughput", 1e5, Unit::PerSecond)
            .with("response.p99", 1e-4, Unit::Seconds)
            .with("interrupts.rate", 2e4, Unit::PerSecond)
    }

    #[test]
    fn sums_with_the_unit_that_follows() {
        for (text, value, unit) in [
            ("cpu = 3us*throughput + interrupts.rate*10us", 0.5, Unit::Ratio),
            ("total.p99=response.p99+5us", 105e-6, Unit::Seconds),
            ("requests=throughput", 1e5, Unit::PerSecond),
            ("each=0.0625*throughput", 6250.0, Unit::PerSecond),
            ("cpu=1", 1.0, Unit::Ratio),
        ] {
            let derived: Derived = text.parse().unwrap();
            let with = derived.add("mg1", solution()).unwrap();
            let metric = with.metrics().last().unwrap();
            assert!((metric.value / value - 1.0).abs() < 1e-12 && metric.unit == unit, "{text}: {metric:?}");
        }
    }

    #[test]
    fn what_does_not_add_up_is_told() {
        for (text, part) in [
            ("cpu=throughput+3us", "adds a time to a rate"),
            ("cpu=3us*sleeps.rate", "mg1 has no figure `sleeps.rate`; its figures are throughput"),
            ("throughput=1", "already"),
        ] {
            let told = text.parse::<Derived>().unwrap().add("mg1", solution()).unwrap_err().to_string();
            assert!(told.starts_with("figure ") && told.contains(part), "{told}");
        }
        for bad in ["", "cpu", "cpu=", "=3", "cpu=3us*", "cpu=a*b", "c p=3"] {
            assert!(bad.parse::<Derived>().unwrap_err().to_string().starts_with("figure: "), "{bad}");
        }
    }
}
