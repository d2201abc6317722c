//! A figure in a sentence: four digits at most, and the unit that fits.

use crate::Unit;

/// The figure as a person reads it: `497 µs`, `41.2 k/s`, `3.2 %`.
pub fn said(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Seconds => scaled(value, &[("ns", 1e-9), ("µs", 1e-6), ("ms", 1e-3), ("s", 1.0)]),
        Unit::PerSecond => scaled(value, &[("/s", 1.0), ("k/s", 1e3), ("M/s", 1e6), ("G/s", 1e9)]),
        Unit::Share => format!("{} %", digits(100.0 * value)),
        Unit::SecondsSquared => format!("{value:.3e} s²"),
        Unit::Count | Unit::Ratio | Unit::AsGiven => digits(value),
    }
}

/// In the largest of the units, which rise, that leaves 1 or more before the point.
fn scaled(value: f64, units: &[(&str, f64)]) -> String {
    let fits = |(_, size): &&(&str, f64)| rounded(value.abs() / size) >= 1.0;
    let (unit, size) = units.iter().rev().find(fits).unwrap_or(&units[0]);
    format!("{} {unit}", digits(value / size))
}

/// Rounded to four significant digits.
fn rounded(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

fn digits(value: f64) -> String {
    let short = rounded(value);
    if short != 0.0 && !(1e-4..1e7).contains(&short.abs()) {
        format!("{short:e}")
    } else {
        format!("{short}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_in_sentences() {
        for (value, unit, text) in [
            (497.3e-6, Unit::Seconds, "497.3 µs"),
            (0.999_99e-6, Unit::Seconds, "1 µs"),
            (0.0, Unit::Seconds, "0 ns"),
            (41_234.0, Unit::PerSecond, "41.23 k/s"),
            (0.25, Unit::PerSecond, "0.25 /s"),
            (0.032, Unit::Share, "3.2 %"),
            (16.0, Unit::Count, "16"),
            (1e-9, Unit::Ratio, "1e-9"),
        ] {
            assert_eq!(said(value, unit), text);
        }
    }
}
