//! The limits of what is taken as a parameter, in one place: beyond them floating point answers for nothing.

use crate::{ModelError, Result};

/// The largest time (seconds), rate (per second) or ratio that is taken; the smallest is its inverse.
pub const LARGEST: f64 = 1e15;

/// A number as an error tells it: not with 300 zeros.
fn shown(value: f64) -> String {
    let long = value.is_finite() && value != 0.0 && !(1e-4..=1e15).contains(&value.abs());
    if long { format!("{value:e}") } else { value.to_string() }
}

/// A value above zero.
pub fn positive(name: &str, value: f64) -> Result<f64> {
    if value.is_finite() && (1.0 / LARGEST..=LARGEST).contains(&value) {
        return Ok(value);
    }
    Err(ModelError::parameter(
        name,
        format!("{} is not usable", shown(value)),
        "give a value from 1e-15 to 1e15",
    ))
}

/// A value of zero or above.
pub fn non_negative(name: &str, value: f64) -> Result<f64> {
    if value == 0.0 { Ok(0.0) } else { positive(name, value) }
}

/// A share of the whole, ends included.
pub fn share(name: &str, value: f64) -> Result<f64> {
    if (0.0..=1.0).contains(&value) {
        return Ok(value);
    }
    Err(ModelError::parameter(name, format!("{} is no share", shown(value)), "give a value from 0 to 1"))
}

/// A share of time that is worked out from a rate and a service: what rounding puts above 1 is 1. What is further above
/// than rounding explains is left as it is, to be seen.
pub fn share_of_time(busy: f64) -> f64 {
    if busy > 1.0 && busy < 1.0 + 1e-9 { 1.0 } else { busy }
}

/// A count within bounds, ends included.
pub fn count(name: &str, value: u64, least: u64, most: u64) -> Result<u64> {
    if (least..=most).contains(&value) {
        return Ok(value);
    }
    Err(ModelError::parameter(
        name,
        format!("{value} is out of range"),
        format!("give a whole number from {least} to {most}"),
    ))
}

/// Refuses a load of one or more on `name`.
pub fn stable(name: &str, load: f64, remedy: &str) -> Result<f64> {
    if load < 1.0 {
        return Ok(load);
    }
    Err(ModelError::Unstable { name: name.into(), load, remedy: remedy.into() })
}
