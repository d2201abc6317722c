//! Figures of models and simulations as a person reads them: three digits, the unit that fits.

use tollway_model::Unit;
use tollway_report::number;

/// The value with its unit: `333 µs`, `8.00 k/s`, `80.0 %`, `2.37`.
pub fn text(value: f64, unit: Unit) -> String {
    let value = if value == 0.0 { 0.0 } else { value };
    match unit {
        _ if !value.is_finite() => "–".into(),
        Unit::Seconds => time(value),
        // The square of the unit that fits the square root.
        Unit::SecondsSquared => {
            let (size, name) = [(1e-9, "ns²"), (1e-6, "µs²"), (1e-3, "ms²"), (1.0, "s²")]
                .into_iter()
                .find(|(size, _)| value.sqrt() < 1000.0 * size)
                .unwrap_or((1.0, "s²"));
            format!("{} {name}", plain(value / (size * size)))
        }
        Unit::PerSecond => {
            let text = count(value);
            let glue = if text.contains(' ') { "" } else { " " };
            format!("{text}{glue}/s")
        }
        // A number of servers is an answer that is typed again: all its digits are told.
        Unit::Count if value.fract() == 0.0 && value.abs() < 1e9 => format!("{value}"),
        Unit::Count => count(value),
        Unit::Share => share(value),
        Unit::Ratio | Unit::AsGiven => plain(value),
    }
}

/// One unit and number of decimals for a value, its interval, and what they are held against.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    size: f64,
    unit: &'static str,
    decimals: usize,
}

/// The most decimals.
const DECIMALS: f64 = 9.0;

impl Scale {
    /// The unit that fits the value or the other one beside it, whichever is larger; two digits of the half-width, and
    /// three of the values at least.
    pub fn of(value: f64, half_width: f64, other: f64, unit: Unit) -> Self {
        let largest = value.abs().max(other.abs());
        let units: &[(f64, &str)] = match unit {
            Unit::Seconds => &[(1e-9, " ns"), (1e-6, " µs"), (1e-3, " ms"), (1.0, " s")],
            Unit::PerSecond => &[(1.0, " /s"), (1e3, " k/s"), (1e6, " M/s"), (1e9, " G/s")],
            Unit::Share => &[(0.01, " %")],
            Unit::Count => &[(1.0, ""), (1e3, " k"), (1e6, " M")],
            Unit::SecondsSquared => &[(1.0, " s²")],
            Unit::Ratio | Unit::AsGiven => &[(1.0, "")],
        };
        let fits = |(size, _): &&(f64, &str)| largest < 1000.0 * size;
        let (size, unit) = units.iter().find(fits).or(units.last()).copied().unwrap_or((1.0, ""));
        let leading = |x: f64| (x.abs() / size).log10().floor();
        let wanted = [(value, 2.0), (largest, 2.0), (half_width, 1.0)].map(|(x, digits)| digits - leading(x));
        // What is zero or has no width asks for no digit.
        let decimals = wanted.into_iter().filter(|d| d.is_finite()).fold(0.0, f64::max).min(DECIMALS);
        Scale { size, unit, decimals: decimals as usize }
    }

    /// The value without its unit.
    pub fn bare(&self, value: f64) -> String {
        let decimals = self.decimals;
        number::unsigned_zero(format!("{:.decimals$}", value / self.size))
    }

    /// The value with its unit.
    pub fn full(&self, value: f64) -> String {
        self.bare(value) + self.unit
    }
}

/// The name of a unit in documents.
pub fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Seconds => "seconds",
        Unit::SecondsSquared => "seconds-squared",
        Unit::PerSecond => "per-second",
        Unit::Count => "count",
        Unit::Share => "share",
        Unit::Ratio => "ratio",
        Unit::AsGiven => "as-given",
    }
}

/// A time in seconds.
fn time(seconds: f64) -> String {
    let ns = seconds * 1e9;
    if seconds == 0.0 {
        "0".into()
    } else if (1e-2..1e14).contains(&ns.abs()) {
        number::time(ns)
    } else {
        format!("{} s", exponential(seconds))
    }
}

fn count(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1000.0 {
        format!("{value}")
    } else if (1e-3..1e15).contains(&value.abs()) {
        number::count(value)
    } else {
        exponential(value)
    }
}

fn plain(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e6 {
        format!("{value}").replacen('-', "−", 1)
    } else if (1e-3..1e7).contains(&value.abs()) {
        number::plain(value)
    } else {
        exponential(value)
    }
}

/// A share in per cent, with so many decimals that what is nearly none is not none, and what is nearly all not all.
fn share(value: f64) -> String {
    let rest = value.abs().min((1.0 - value).abs());
    match rest * 100.0 {
        0.0 => format!("{} %", value * 100.0),
        // The last digit that a number of double precision has is rounding.
        _ if (1.0 - value).abs() < 4.0 * f64::EPSILON => "100 %".into(),
        rest if rest >= 1.0 => format!("{:.1} %", value * 100.0),
        rest if rest >= 1e-4 => {
            let decimals = (1.0 - rest.log10().floor()).max(1.0) as usize;
            format!("{:.decimals$} %", value * 100.0)
        }
        _ if value.abs() < 0.5 => format!("{} %", exponential(value * 100.0)),
        _ if value > 1.0 => format!("100 % + {} %", exponential((value - 1.0) * 100.0)),
        _ => format!("100 % − {} %", exponential((1.0 - value) * 100.0)),
    }
}

fn exponential(value: f64) -> String {
    format!("{value:.2e}").replacen('-', if value < 0.0 { "−" } else { "-" }, 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_shares_its_values_unit_and_shows_its_width() {
        let scale = Scale::of(5.0123e-4, 1.3e-6, 5e-4, Unit::Seconds);
        assert_eq!([scale.full(5.0e-4), scale.bare(4.9993e-4)], ["500.0 µs", "499.9"]);
        // What was not seen is told in the unit of what is expected, and the other way round.
        let scale = Scale::of(0.0, 0.0, 5.063, Unit::Seconds);
        assert_eq!([scale.full(5.063), scale.full(0.0)], ["5.06 s", "0.00 s"]);
        assert_eq!(Scale::of(0.8, 0.0004, 0.8, Unit::Share).full(0.8), "80.000 %");
        assert_eq!(Scale::of(8000.0, 0.0, 8000.0, Unit::PerSecond).full(8000.0), "8.00 k/s");
        assert_eq!(Scale::of(0.0, 0.0, 0.0, Unit::Count).full(0.0), "0");
        // What is less than nothing by rounding, or by its sign alone, is nothing.
        assert_eq!(Scale::of(-0.0, 0.0, 0.0, Unit::Seconds).full(-0.0), "0 ns");
        assert_eq!(Scale::of(0.0, 0.0, 5.063, Unit::Seconds).full(-1e-9), "0.00 s");
    }

    #[test]
    fn zero_has_no_sign() {
        let units = [Unit::Seconds, Unit::PerSecond, Unit::Count, Unit::Share, Unit::Ratio, Unit::AsGiven];
        for unit in units {
            assert_eq!(text(-0.0, unit), text(0.0, unit));
            assert_eq!(Scale::of(-0.0, 0.0, 0.0, unit).full(-0.0), Scale::of(0.0, 0.0, 0.0, unit).full(0.0));
        }
        assert_eq!(Scale::of(1.0, 0.0, 1.0, Unit::Ratio).full(-1e-9), "0.00");
    }

    #[test]
    fn the_unit_that_fits() {
        let cases = [
            (3.333e-4, Unit::Seconds, "333 µs"),
            (0.0, Unit::Seconds, "0"),
            (1e-13, Unit::Seconds, "1.00e-13 s"),
            (2.5e-7, Unit::SecondsSquared, "250000 µs²"),
            (8000.0, Unit::PerSecond, "8.00 k/s"),
            (12.0, Unit::PerSecond, "12 /s"),
            (16.0, Unit::Count, "16"),
            (1e-20, Unit::Count, "1.00e-20"),
            (0.8, Unit::Share, "80.0 %"),
            (0.0, Unit::Share, "0 %"),
            (1103.0, Unit::Count, "1103"),
            (1103.5, Unit::Count, "1.10 k"),
            (1.0, Unit::Share, "100 %"),
            (1.0 + f64::EPSILON, Unit::Share, "100 %"),
            (1.0 - f64::EPSILON, Unit::Share, "100 %"),
            (1.0 - 1e-12, Unit::Share, "100 % − 1.00e-10 %"),
            (1.0 + 1e-12, Unit::Share, "100 % + 1.00e-10 %"),
            (1e-20, Unit::Share, "1.00e-18 %"),
            (0.99995, Unit::Share, "99.9950 %"),
            (1.25e-4, Unit::Share, "0.013 %"),
            (1e-9, Unit::Share, "1.00e-7 %"),
            (2.32e-261, Unit::Share, "2.32e-259 %"),
            (2.374, Unit::Ratio, "2.37"),
            (-2.0, Unit::AsGiven, "−2"),
        ];
        for (value, unit, says) in cases {
            assert_eq!(text(value, unit), says);
        }
    }
}
