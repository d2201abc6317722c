//! A parameter a little larger or smaller, as text.

use crate::catalogue::Kind;
use crate::{Distribution, quantity};

/// The text of a parameter multiplied by a factor: all entries of a list, all times of a distribution. `None` where that
/// makes no sense (words, probabilities) or nothing would change.
pub(super) fn scaled(kind: Kind, text: &str, factor: f64) -> Option<String> {
    let rate = |text: &str| Some(format!("{}", factor * quantity::rate("", text).ok()?));
    let time = |text: &str| Some(format!("{}", factor * quantity::time("", text).ok()?));
    let changed = match kind {
        Kind::Rate => rate(text),
        Kind::Time => time(text),
        Kind::Number => Some(format!("{}", factor * quantity::number("", text).ok()?)),
        Kind::Rates => each(text, ',', rate),
        Kind::Times => each(text, ';', |row| each(row, ',', time)),
        Kind::Distribution => distribution(text, factor),
        Kind::Distributions => each(text, ';', |text| distribution(text, factor)),
        Kind::Count | Kind::Numbers | Kind::Word(_) => None,
    }?;
    let unchanged = match kind {
        Kind::Rate | Kind::Time | Kind::Number => changed.parse() == Ok(0.0),
        _ => false,
    };
    (!unchanged).then_some(changed)
}

fn each(text: &str, separator: char, scale: impl Fn(&str) -> Option<String>) -> Option<String> {
    let entries: Option<Vec<String>> = text.split(separator).map(scale).collect();
    Some(entries?.join(&separator.to_string()))
}

fn distribution(text: &str, factor: f64) -> Option<String> {
    use Distribution::{Constant, Erlang, Exponential, Gamma, Hyperexponential, Lognormal, Uniform, Weibull};
    let scaled = match text.parse().ok()? {
        Exponential { mean } => Exponential { mean: factor * mean },
        Constant { value } => Constant { value: factor * value },
        Erlang { shape, mean } => Erlang { shape, mean: factor * mean },
        Hyperexponential { branches } => {
            Hyperexponential { branches: branches.into_iter().map(|(p, mean)| (p, factor * mean)).collect() }
        }
        Gamma { shape, mean } => Gamma { shape, mean: factor * mean },
        Lognormal { mean, scv } => Lognormal { mean: factor * mean, scv },
        Uniform { low, high } => Uniform { low: factor * low, high: factor * high },
        Weibull { shape, mean } => Weibull { shape, mean: factor * mean },
    };
    Some(scaled.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_that_has_a_size_is_scaled() {
        for (kind, text, twice) in [
            (Kind::Rate, "10k/s", Some("20000")),
            (Kind::Time, "0", None),
            (Kind::Number, "0.5", Some("1")),
            (Kind::Rates, "1/s,2/s", Some("2,4")),
            (Kind::Times, "1s,2s;3s,4s", Some("2,4;6,8")),
            (Kind::Distribution, "uniform(1s, 2s)", Some("uniform(2, 4)")),
            (Kind::Distributions, "exponential(1s);erlang(2, 3s)", Some("exponential(2);erlang(2, 6)")),
            (Kind::Numbers, "1,2", None),
            (Kind::Word(&["a"]), "a", None),
        ] {
            assert_eq!(scaled(kind, text, 2.0).as_deref(), twice, "{text}");
        }
    }
}
