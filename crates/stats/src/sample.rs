//! The checks that every entry point makes once, so that the arithmetic behind it can trust its input.

use crate::StatsError;

/// Fails unless there are at least `needed` values and all of them are finite.
pub(crate) fn check(values: &[f64], needed: usize) -> Result<(), StatsError> {
    if values.len() < needed {
        return Err(StatsError::TooFew { what: "values", needed, got: values.len() });
    }
    match values.iter().position(|v| !v.is_finite()) {
        Some(index) => Err(StatsError::NotFinite { index }),
        None => Ok(()),
    }
}

/// A checked copy in ascending order.
pub(crate) fn sorted(values: &[f64], needed: usize) -> Result<Vec<f64>, StatsError> {
    check(values, needed)?;
    let mut copy = values.to_vec();
    copy.sort_unstable_by(f64::total_cmp);
    Ok(copy)
}

/// Natural logarithms of checked, positive values.
pub(crate) fn logarithms(values: &[f64]) -> Result<Vec<f64>, StatsError> {
    check(values, 0)?;
    match values.iter().position(|&v| v <= 0.0) {
        Some(index) => Err(StatsError::NotPositive { index }),
        None => Ok(values.iter().map(|v| v.ln()).collect()),
    }
}

/// Fails on a result that overflowed.
pub(crate) fn finite(value: f64) -> Result<f64, StatsError> {
    if value.is_finite() { Ok(value) } else { Err(StatsError::Overflow) }
}

/// Fails unless `0 < value < 1`.
pub(crate) fn open_unit(name: &'static str, value: f64) -> Result<f64, StatsError> {
    if value > 0.0 && value < 1.0 {
        Ok(value)
    } else {
        Err(StatsError::OutOfRange { name, value, range: "(0, 1)" })
    }
}
