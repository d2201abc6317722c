//! Distributions of times: gaps between arrivals, service times, vacations, as people write them and models use them.

mod cumulative;
mod residual;
mod transform;
mod weibull;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{ModelError, Result, check, quantity};

/// The distribution of a time that is not negative, in seconds.
///
/// Written as text, in specifications and on the command line alike: `exponential(3us)`, `constant(3us)`,
/// `erlang(4, 3us)`, `hyperexponential(0.9, 1us, 0.1, 20us)`, `gamma(0.5, 3us)`, `lognormal(3us, 2)`,
/// `uniform(1us, 5us)`, `weibull(1.5, 3us)`. Times are means, but for `uniform` (its ends).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Distribution {
    /// Memoryless, with this mean.
    Exponential {
        /// Mean, seconds.
        mean: f64,
    },
    /// Always the same.
    Constant {
        /// The value, seconds.
        value: f64,
    },
    /// The sum of `shape` exponential stages of equal mean; cv² is 1/shape.
    Erlang {
        /// Stages, 1 to 10000.
        shape: u32,
        /// Mean of the sum, seconds.
        mean: f64,
    },
    /// One of several exponential branches, taken with its probability; cv² is 1 or more.
    Hyperexponential {
        /// Probability and mean (seconds) of each branch; probabilities add up to 1.
        branches: Vec<(f64, f64)>,
    },
    /// Gamma; cv² is 1/shape.
    Gamma {
        /// Shape, above 0.
        shape: f64,
        /// Mean, seconds.
        mean: f64,
    },
    /// Log-normal.
    Lognormal {
        /// Mean, seconds.
        mean: f64,
        /// Squared coefficient of variation.
        scv: f64,
    },
    /// Equally likely between two ends.
    Uniform {
        /// Lower end, seconds, 0 or above.
        low: f64,
        /// Upper end, seconds.
        high: f64,
    },
    /// Weibull.
    Weibull {
        /// Shape, above 0; below 1 the tail is heavier than exponential.
        shape: f64,
        /// Mean, seconds.
        mean: f64,
    },
}

impl Distribution {
    /// Memoryless with this mean, in seconds.
    ///
    /// # Errors
    /// When the mean is not above zero and finite.
    pub fn exponential(mean: f64) -> Result<Self> {
        Distribution::Exponential { mean }.checked("exponential")
    }

    /// Always `value` seconds.
    ///
    /// # Errors
    /// When the value is not above zero and finite.
    pub fn constant(value: f64) -> Result<Self> {
        Distribution::Constant { value }.checked("constant")
    }

    /// The same distribution under its simplest name: `gamma(2, 3us)` is `erlang(2, 3us)`, and whatever has a shape of 1 is
    /// exponential.
    #[must_use]
    pub fn simplest(&self) -> Self {
        match self {
            Distribution::Erlang { shape: 1, mean } => Distribution::Exponential { mean: *mean },
            Distribution::Gamma { shape, mean } | Distribution::Weibull { shape, mean } if *shape == 1.0 => {
                Distribution::Exponential { mean: *mean }
            }
            Distribution::Gamma { shape, mean } if shape.fract() == 0.0 && (1.0..=1e4).contains(shape) => {
                Distribution::Erlang { shape: *shape as u32, mean: *mean }
            }
            Distribution::Hyperexponential { branches } => {
                let mut means = branches.iter().filter(|(share, _)| *share > 0.0).map(|(_, mean)| *mean);
                match means.next() {
                    Some(mean) if means.all(|other| other == mean) => Distribution::Exponential { mean },
                    _ => self.clone(),
                }
            }
            _ => self.clone(),
        }
    }

    /// The same distribution, if its parameters are usable; an error names `place`.
    ///
    /// # Errors
    /// When a parameter is not.
    pub fn checked(self, place: &str) -> Result<Self> {
        let named = |what: &str| format!("{place}: {what}");
        match &self {
            Distribution::Exponential { mean } => {
                check::positive(&named("mean"), *mean)?;
            }
            Distribution::Constant { value } => {
                check::positive(&named("value"), *value)?;
            }
            Distribution::Erlang { shape, mean } => {
                check::count(&named("shape"), u64::from(*shape), 1, 10_000)?;
                check::positive(&named("mean"), *mean)?;
            }
            Distribution::Hyperexponential { branches } => {
                check::count(&named("branches"), branches.len() as u64, 1, 64)?;
                for (probability, mean) in branches {
                    check::share(&named("probability"), *probability)?;
                    check::positive(&named("mean"), *mean)?;
                }
                let sum: f64 = branches.iter().map(|(p, _)| p).sum();
                if (sum - 1.0).abs() > 1e-9 {
                    return Err(ModelError::parameter(
                        named("probabilities"),
                        format!("they add up to {sum}"),
                        "let them add up to 1",
                    ));
                }
            }
            Distribution::Gamma { shape, mean } | Distribution::Weibull { shape, mean } => {
                if !(0.01..=1e4).contains(shape) {
                    return Err(ModelError::parameter(
                        named("shape"),
                        format!("{shape} is out of range"),
                        "give a value from 0.01 to 10000",
                    ));
                }
                check::positive(&named("mean"), *mean)?;
            }
            Distribution::Lognormal { mean, scv } => {
                check::positive(&named("mean"), *mean)?;
                if !(1e-6..=1e4).contains(scv) {
                    return Err(ModelError::parameter(
                        named("cv²"),
                        format!("{scv} is out of range"),
                        "give a value from 0.000001 to 10000",
                    ));
                }
            }
            Distribution::Uniform { low, high } => {
                check::non_negative(&named("low"), *low)?;
                check::positive(&named("high"), *high)?;
                if low >= high {
                    return Err(ModelError::parameter(
                        named("low"),
                        "it is not below the upper end",
                        "write the lower end first; for a single value use constant(…)",
                    ));
                }
            }
        }
        Ok(self)
    }

    /// Mean, in seconds.
    pub fn mean(&self) -> f64 {
        match self {
            Distribution::Exponential { mean }
            | Distribution::Erlang { mean, .. }
            | Distribution::Gamma { mean, .. }
            | Distribution::Lognormal { mean, .. }
            | Distribution::Weibull { mean, .. } => *mean,
            Distribution::Constant { value } => *value,
            Distribution::Hyperexponential { branches } => branches.iter().map(|(p, m)| p * m).sum(),
            Distribution::Uniform { low, high } => 0.5 * (low + high),
        }
    }

    /// The `order`-th moment about zero, order 1 to 3, in seconds to that power.
    ///
    /// # Panics
    /// On another order.
    pub fn moment(&self, order: u32) -> f64 {
        assert!((1..=3).contains(&order), "moments of order 1 to 3");
        let k = f64::from(order);
        let power = self.mean().powi(order as i32);
        match self {
            Distribution::Exponential { .. } => power * [1.0, 2.0, 6.0][order as usize - 1],
            Distribution::Constant { .. } => power,
            Distribution::Erlang { shape, .. } => power * gamma_moment(f64::from(*shape), order),
            Distribution::Gamma { shape, .. } => power * gamma_moment(*shape, order),
            Distribution::Hyperexponential { branches } => branches
                .iter()
                .map(|(p, m)| p * m.powi(order as i32) * [1.0, 2.0, 6.0][order as usize - 1])
                .sum(),
            Distribution::Lognormal { scv, .. } => power * (1.0 + scv).powf(0.5 * k * (k - 1.0)),
            Distribution::Uniform { low, high } => {
                // The mean of x^k over [a, b] without the difference of powers, which cancels where a is near b.
                let terms = 0..=order as i32;
                terms.map(|i| high.powi(i) * low.powi(order as i32 - i)).sum::<f64>() / (k + 1.0)
            }
            Distribution::Weibull { shape, .. } => {
                use statrs::function::gamma::ln_gamma;
                power * (ln_gamma(1.0 + k / shape) - k * ln_gamma(1.0 + 1.0 / shape)).exp()
            }
        }
    }

    /// Variance, in seconds squared.
    pub fn variance(&self) -> f64 {
        self.scv() * self.mean() * self.mean()
    }

    /// Squared coefficient of variation: variance over the square of the mean.
    pub fn scv(&self) -> f64 {
        match self {
            Distribution::Exponential { .. } => 1.0,
            Distribution::Constant { .. } => 0.0,
            Distribution::Erlang { shape, .. } => 1.0 / f64::from(*shape),
            Distribution::Gamma { shape, .. } => 1.0 / shape,
            Distribution::Lognormal { scv, .. } => *scv,
            Distribution::Uniform { low, high } => ((high - low) / (high + low)).powi(2) / 3.0,
            Distribution::Hyperexponential { .. } | Distribution::Weibull { .. } => {
                (self.moment(2) / self.mean().powi(2) - 1.0).max(0.0)
            }
        }
    }
}

/// E[X^k] of a gamma of mean 1: (a)(a+1)…(a+k-1)/a^k.
fn gamma_moment(shape: f64, order: u32) -> f64 {
    (0..order).map(|i| 1.0 + f64::from(i) / shape).product()
}

impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Distribution::Exponential { mean } => write!(f, "exponential({mean})"),
            Distribution::Constant { value } => write!(f, "constant({value})"),
            Distribution::Erlang { shape, mean } => write!(f, "erlang({shape}, {mean})"),
            Distribution::Hyperexponential { branches } => {
                let parts: Vec<String> = branches.iter().map(|(p, m)| format!("{p}, {m}")).collect();
                write!(f, "hyperexponential({})", parts.join(", "))
            }
            Distribution::Gamma { shape, mean } => write!(f, "gamma({shape}, {mean})"),
            Distribution::Lognormal { mean, scv } => write!(f, "lognormal({mean}, {scv})"),
            Distribution::Uniform { low, high } => write!(f, "uniform({low}, {high})"),
            Distribution::Weibull { shape, mean } => write!(f, "weibull({shape}, {mean})"),
        }
    }
}

impl FromStr for Distribution {
    type Err = ModelError;

    fn from_str(text: &str) -> Result<Self> {
        let text = text.trim();
        let unreadable = || {
            ModelError::parameter(
                "distribution",
                format!("`{text}` is none"),
                "write it like exponential(3us), constant(3us), erlang(4, 3us), hyperexponential(0.9, 1us, 0.1, 20us), \
                 gamma(0.5, 3us), lognormal(3us, 2), uniform(1us, 5us) or weibull(1.5, 3us)",
            )
        };
        let (name, rest) = text.split_once('(').ok_or_else(unreadable)?;
        let name = name.trim();
        let inside = rest.strip_suffix(')').ok_or_else(unreadable)?;
        let given: Vec<&str> = inside.split(',').map(str::trim).collect();
        let read = |i: usize| quantity::time(name, given[i]);
        let plain = |i: usize| quantity::number(name, given[i]);
        let distribution = match (name, given.len()) {
            ("exponential", 1) => Distribution::Exponential { mean: read(0)? },
            ("constant", 1) => Distribution::Constant { value: read(0)? },
            ("erlang", 2) => Distribution::Erlang {
                shape: quantity::whole(given[0]).and_then(|shape| shape.try_into().ok()).ok_or_else(
                    || {
                        ModelError::parameter(
                            "erlang: shape",
                            format!("`{}` is no whole number", given[0]),
                            "write 4",
                        )
                    },
                )?,
                mean: read(1)?,
            },
            ("hyperexponential", n) if n >= 2 && n % 2 == 0 => Distribution::Hyperexponential {
                branches: (0..n / 2).map(|i| Ok((plain(2 * i)?, read(2 * i + 1)?))).collect::<Result<_>>()?,
            },
            ("gamma", 2) => Distribution::Gamma { shape: plain(0)?, mean: read(1)? },
            ("lognormal", 2) => Distribution::Lognormal { mean: read(0)?, scv: plain(1)? },
            ("uniform", 2) => Distribution::Uniform { low: read(0)?, high: read(1)? },
            ("weibull", 2) => Distribution::Weibull { shape: plain(0)?, mean: read(1)? },
            _ => return Err(unreadable()),
        };
        distribution.checked(name)
    }
}

impl Serialize for Distribution {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Distribution {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [&str; 8] = [
        "exponential(3us)",
        "constant(3us)",
        "erlang(4, 3us)",
        "hyperexponential(0.9, 1us, 0.1, 20us)",
        "gamma(0.5, 3us)",
        "lognormal(3us, 2)",
        "uniform(1us, 5us)",
        "weibull(1.5, 3us)",
    ];

    #[test]
    fn written_and_read_again_it_is_the_same() {
        for text in ALL {
            let first: Distribution = text.parse().unwrap();
            assert_eq!(first.to_string().parse::<Distribution>().unwrap(), first, "{text}");
        }
    }

    #[test]
    fn the_simplest_name_is_of_the_same_distribution() {
        for (text, simplest) in [
            ("gamma(2, 3us)", "erlang(2, 3us)"),
            ("gamma(1, 3us)", "exponential(3us)"),
            ("erlang(1, 3us)", "exponential(3us)"),
            ("weibull(1, 3us)", "exponential(3us)"),
            ("hyperexponential(0.25, 3us, 0.75, 3us)", "exponential(3us)"),
            ("hyperexponential(1, 3us, 0, 9us)", "exponential(3us)"),
            ("gamma(2.5, 3us)", "gamma(2.5, 3us)"),
            ("weibull(2, 3us)", "weibull(2, 3us)"),
        ] {
            let [of, wanted]: [Distribution; 2] = [text, simplest].map(|text| text.parse().unwrap());
            assert_eq!(of.simplest(), wanted, "{text}");
            for t in [1e-7, 3e-6, 2e-5] {
                assert!((of.cdf(t) - wanted.cdf(t)).abs() < 1e-12, "{text}");
            }
        }
    }

    #[test]
    fn moments_agree_with_mean_and_variation() {
        for text in ALL {
            let d: Distribution = text.parse().unwrap();
            assert!((d.moment(1) / d.mean() - 1.0).abs() < 1e-12, "{text}");
            let second = d.mean().powi(2) * (1.0 + d.scv());
            assert!((d.moment(2) / second - 1.0).abs() < 1e-12, "{text}");
            assert!(d.moment(3) >= d.moment(2) * d.mean() * (1.0 - 1e-12), "{text}");
        }
    }

    #[test]
    fn what_is_none_says_what_would_be() {
        for bad in [
            "",
            "3us",
            "exponential",
            "exponential()",
            "exponential(-1)",
            "exponential(NaN)",
            "uniform(5, 1)",
        ] {
            assert!(bad.parse::<Distribution>().is_err(), "{bad}");
        }
        assert!("hyperexponential(0.5, 1, 0.4, 2)".parse::<Distribution>().is_err());
        assert!("erlang(2.5, 1)".parse::<Distribution>().is_err());
    }
}
