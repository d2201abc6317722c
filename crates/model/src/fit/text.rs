//! Figures in sentences: times with the unit that suits, p-values, intervals.

use super::estimate::Estimate;
use crate::{Distribution, Unit};

/// Four significant digits, without an exponent where that is short.
pub(super) fn number(value: f64) -> String {
    digits(value, 4)
}

fn digits(value: f64, digits: i32) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let magnitude = value.abs().log10().floor() as i32;
    if !(-5..=9).contains(&magnitude) {
        return format!("{value:.*e}", digits as usize - 1);
    }
    let decimals = (digits - 1 - magnitude).max(0) as usize;
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// Seconds with the unit that suits.
pub(super) fn time(seconds: f64) -> String {
    let (scale, unit) = time_unit(seconds);
    format!("{} {unit}", number(seconds / scale))
}

fn time_unit(seconds: f64) -> (f64, &'static str) {
    match seconds.abs() {
        s if s == 0.0 || s >= 1.0 => (1.0, "s"),
        s if s >= 1e-3 => (1e-3, "ms"),
        s if s >= 1e-6 => (1e-6, "µs"),
        _ => (1e-9, "ns"),
    }
}

/// Seconds as the calculator reads them, to six digits.
pub(super) fn argument(seconds: f64) -> String {
    let (scale, unit) = time_unit(seconds);
    format!("{}{}", digits(seconds / scale, 6), unit.replace('µ', "u"))
}

/// A rate as the calculator reads it, to six digits.
pub(super) fn rate_argument(per_second: f64) -> String {
    format!("{}/s", digits(per_second, 6))
}

impl Distribution {
    /// As the calculator reads it, to six digits and with the units that suit: `gamma(9.1, 3.01us)`.
    pub fn short(&self) -> String {
        distribution(self)
    }
}

fn distribution(of: &Distribution) -> String {
    let plain = |x: &f64| digits(*x, 6);
    let t = |x: &f64| argument(*x);
    match of {
        Distribution::Exponential { mean } => format!("exponential({})", t(mean)),
        Distribution::Constant { value } => format!("constant({})", t(value)),
        Distribution::Erlang { shape, mean } => format!("erlang({shape}, {})", t(mean)),
        Distribution::Gamma { shape, mean } => format!("gamma({}, {})", plain(shape), t(mean)),
        Distribution::Weibull { shape, mean } => format!("weibull({}, {})", plain(shape), t(mean)),
        Distribution::Lognormal { mean, scv } => format!("lognormal({}, {})", t(mean), plain(scv)),
        Distribution::Uniform { low, high } => format!("uniform({}, {})", t(low), t(high)),
        Distribution::Hyperexponential { branches } => {
            // Probabilities add up to 1 as they are written: the last is what the others leave.
            let written: Vec<f64> = branches.iter().map(|(p, _)| (p * 1e6).round() / 1e6).collect();
            let others: f64 = written[..written.len() - 1].iter().sum();
            let last = ((1.0 - others) * 1e6).round() / 1e6;
            let shares = written[..written.len() - 1].iter().chain([&last]);
            let parts: Vec<String> =
                shares.zip(branches).map(|(p, (_, mean))| format!("{p}, {}", t(mean))).collect();
            format!("hyperexponential({})", parts.join(", "))
        }
    }
}

/// A figure with its interval: `0.11 [0.1, 0.12]`.
pub(super) fn estimate(of: &Estimate) -> String {
    let (scale, unit) = match of.unit {
        Unit::Seconds => {
            let (scale, unit) = time_unit(of.value);
            (scale, format!(" {unit}"))
        }
        Unit::PerSecond => (1.0, "/s".into()),
        _ => (1.0, String::new()),
    };
    let value = number(of.value / scale);
    match (of.lo, of.hi) {
        (Some(lo), Some(hi)) => format!("{value}{unit} [{}, {}]", number(lo / scale), number(hi / scale)),
        _ => format!("{value}{unit}"),
    }
}

/// A p-value: `p 0.03`, `p < 1e-9`.
pub(super) fn p_value(p: f64) -> String {
    match p {
        p if p < 1e-9 => "p < 1e-9".into(),
        p if p < 1e-3 => format!("p {p:.0e}"),
        p if p <= 1e-3 => "p ≤ 0.001".into(),
        p => format!("p {}", digits(p, 2)),
    }
}

/// A share as a percentage with a sign: `+3.1 %`.
pub(super) fn change(share: f64) -> String {
    let sign = if share < 0.0 { "−" } else { "+" };
    format!("{sign}{} %", digits(100.0 * share.abs(), 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_for_the_calculator_it_reads() {
        for text in [
            "exponential(3us)",
            "constant(3ms)",
            "erlang(4, 250ns)",
            "gamma(0.5, 3s)",
            "lognormal(3us, 2)",
            "uniform(1us, 5us)",
            "weibull(1.5, 3us)",
            "hyperexponential(0.333333, 1us, 0.333333, 2us, 0.333334, 20us)",
        ] {
            let exact: Distribution = text.parse().unwrap();
            assert_eq!(distribution(&exact), text);
            assert!(distribution(&exact).parse::<Distribution>().is_ok());
        }
    }

    #[test]
    fn figures_are_short() {
        assert_eq!(
            (number(0.0), number(1234.56), number(0.000_123_456)),
            ("0".into(), "1235".into(), "0.0001235".into())
        );
        assert_eq!((time(3.1e-6), time(0.0), time(2.5)), ("3.1 µs".into(), "0 s".into(), "2.5 s".into()));
        assert_eq!(
            (p_value(1e-12), p_value(0.001), p_value(0.25)),
            ("p < 1e-9".into(), "p ≤ 0.001".into(), "p 0.25".into())
        );
        assert_eq!((change(-0.031), change(0.5)), ("−3.1 %".into(), "+50 %".into()));
        let interval = Estimate {
            name: "x".into(),
            value: 3e-6,
            lo: Some(2.9e-6),
            hi: Some(3.1e-6),
            unit: Unit::Seconds,
        };
        assert_eq!(estimate(&interval), "3 µs [2.9, 3.1]");
    }
}
