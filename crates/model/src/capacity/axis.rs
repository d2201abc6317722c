//! The range in which a parameter is varied, and where it is looked at first.

use crate::catalogue::{Kind, Parameter};
use crate::{ModelError, Result, Unit, check};

/// Points per factor of ten of the first look: of loads and times, of counts.
const PER_DECADE: f64 = 4.0;
const COUNTS_PER_DECADE: f64 = 16.0;

/// Steps of the first look at a range that begins at 0, and the largest range of which every count is looked at.
const STEPS: u32 = 64;
const EVERY: f64 = 128.0;

/// How far two values of an end may be apart, as a share; and where nothing is answered beyond, because there is no
/// steady state: models take long near that, and nobody plans there.
pub(super) const NEAR: f64 = 1e-13;
const NEAR_NOTHING: f64 = 1e-9;

/// A range of values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Axis {
    pub(super) from: f64,
    pub(super) to: f64,
    whole: bool,
}

impl Axis {
    /// The range of a parameter in which nobody said one.
    ///
    /// # Errors
    /// When it is nothing that can be varied.
    pub(super) fn of(parameter: &Parameter) -> Result<Axis> {
        let (from, to) = match parameter.kind {
            Kind::Rate | Kind::Rates => (1e-3, 1e12),
            Kind::Time => (1e-9, 1e3),
            Kind::Count => (1.0, 1e4),
            Kind::Number => (1e-6, 1e6),
            _ => {
                return Err(ModelError::parameter(
                    parameter.name,
                    "it cannot be varied",
                    "vary a rate, a list of rates, a time, a count or a number",
                ));
            }
        };
        Ok(Axis { from, to, whole: parameter.kind == Kind::Count })
    }

    /// The same with other ends.
    ///
    /// # Errors
    /// When they are no range.
    pub(super) fn within(self, name: &str, from: Option<f64>, to: Option<f64>) -> Result<Axis> {
        let axis = Axis { from: from.unwrap_or(self.from), to: to.unwrap_or(self.to), ..self };
        check::non_negative(&format!("from, of {name}"), axis.from)?;
        check::positive(&format!("to, of {name}"), axis.to)?;
        if axis.whole && (axis.from.fract() != 0.0 || axis.to.fract() != 0.0 || axis.to > 1e15) {
            return Err(ModelError::parameter(name, "a count is whole", "give whole numbers for its range"));
        }
        if axis.from < axis.to {
            return Ok(axis);
        }
        let reason = format!("{} to {} is no range", axis.from, axis.to);
        Err(ModelError::parameter(name, reason, "give --from below --to"))
    }

    /// The value as text that the model reads, in base units.
    pub(super) fn text(&self, value: f64) -> String {
        format!("{value}")
    }

    /// Where to look first, rising, both ends included.
    pub(super) fn scan(&self) -> Vec<f64> {
        if self.whole && self.to - self.from <= EVERY {
            return (self.from as u64..=self.to as u64).map(|n| n as f64).collect();
        }
        let steps = match (self.from > 0.0, self.whole) {
            (false, _) => f64::from(STEPS),
            (true, false) => (PER_DECADE * (self.to / self.from).log10()).ceil().max(16.0),
            (true, true) => (COUNTS_PER_DECADE * (self.to / self.from).log10()).ceil(),
        };
        let mut values: Vec<f64> = (0..=steps as u32).map(|i| self.between(f64::from(i) / steps)).collect();
        values.dedup();
        values
    }

    /// The value so far along the whole range, from 0 to 1.
    fn between(&self, along: f64) -> f64 {
        match along {
            0.0 => self.from,
            1.0 => self.to,
            _ => self.mix(self.from, self.to, along),
        }
    }

    /// The value so far from `a` to `b`, geometrically where the range is above zero.
    pub(super) fn mix(&self, a: f64, b: f64, along: f64) -> f64 {
        let value = if self.from > 0.0 { a * (b / a).powf(along) } else { a + (b - a) * along };
        if self.whole { value.round() } else { value }
    }

    /// The middle of two values; one of them, where nothing lies between.
    pub(super) fn middle(&self, a: f64, b: f64) -> f64 {
        if self.whole { ((a + b) / 2.0).floor() } else { self.mix(a, b, 0.5) }
    }

    /// Whether an end between the two is known well enough.
    pub(super) fn is_near(&self, a: f64, b: f64, near: f64, both_answer: bool) -> bool {
        let apart = (a - b).abs();
        let near = if both_answer { near } else { NEAR_NOTHING };
        if self.whole { apart <= 1.0 } else { apart <= near * a.abs().max(b.abs()) }
    }

    pub(super) fn is_whole(&self) -> bool {
        self.whole
    }
}

/// The unit of a parameter that can be varied.
pub(super) fn unit(kind: Kind) -> Unit {
    match kind {
        Kind::Rate | Kind::Rates => Unit::PerSecond,
        Kind::Time => Unit::Seconds,
        Kind::Count => Unit::Count,
        _ => Unit::Ratio,
    }
}
