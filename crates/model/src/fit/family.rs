//! The families of distributions that a trace is held against, each fitted by maximum likelihood.

use serde::Serialize;

use super::likelihood::{erlang_shape, gamma_shape, hyperexponential, weibull_shape};
use crate::Distribution;

/// A family of distributions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// Always the same.
    Constant,
    /// Memoryless.
    Exponential,
    /// Sums of exponential stages.
    Erlang,
    /// Gamma.
    Gamma,
    /// Log-normal.
    Lognormal,
    /// Weibull.
    Weibull,
    /// One of two exponential branches.
    Hyperexponential,
    /// Equally likely between two ends.
    Uniform,
}

impl Family {
    /// All, the simplest first.
    pub const ALL: [Family; 8] = [
        Family::Constant,
        Family::Exponential,
        Family::Uniform,
        Family::Erlang,
        Family::Gamma,
        Family::Weibull,
        Family::Lognormal,
        Family::Hyperexponential,
    ];

    /// Its name, as [`Distribution`] writes it.
    pub fn name(self) -> &'static str {
        match self {
            Family::Constant => "constant",
            Family::Exponential => "exponential",
            Family::Erlang => "erlang",
            Family::Gamma => "gamma",
            Family::Lognormal => "lognormal",
            Family::Weibull => "weibull",
            Family::Hyperexponential => "hyperexponential",
            Family::Uniform => "uniform",
        }
    }

    /// How many numbers were fitted.
    pub fn parameters(self) -> u32 {
        match self {
            Family::Constant | Family::Exponential => 1,
            Family::Hyperexponential => 3,
            _ => 2,
        }
    }

    /// The likeliest member for these values in ascending order; the error says why there is none.
    ///
    /// Two members are not those of the greatest likelihood: constant is the mean, and a hyperexponential of values
    /// that vary less than exponential ones has a single branch.
    pub(super) fn fit(self, ascending: &[f64]) -> Result<Distribution, String> {
        let (Some(&least), Some(&most)) = (ascending.first(), ascending.last()) else {
            return Err("there is no value".into());
        };
        let n = ascending.len() as f64;
        let mean = ascending.iter().sum::<f64>() / n;
        if most <= 0.0 {
            return Err("all values are zero".into());
        }
        let needs_spread = !matches!(self, Family::Constant | Family::Exponential);
        if needs_spread && least == most {
            return Err("all values are equal".into());
        }
        let needs_logarithms =
            matches!(self, Family::Erlang | Family::Gamma | Family::Lognormal | Family::Weibull);
        if needs_logarithms && least <= 0.0 {
            return Err("some values are zero, which it never is".into());
        }
        let mean_logarithm = || ascending.iter().map(|x| x.ln()).sum::<f64>() / n;
        let member = match self {
            Family::Constant => Distribution::Constant { value: mean },
            Family::Exponential => Distribution::Exponential { mean },
            Family::Uniform => Distribution::Uniform { low: least, high: most },
            Family::Gamma => Distribution::Gamma { shape: gamma_shape(mean.ln() - mean_logarithm())?, mean },
            Family::Erlang => {
                Distribution::Erlang { shape: erlang_shape(mean.ln() - mean_logarithm())?, mean }
            }
            Family::Lognormal => {
                let centre = mean_logarithm();
                let variance = ascending.iter().map(|x| (x.ln() - centre).powi(2)).sum::<f64>() / n;
                Distribution::Lognormal { mean: (centre + 0.5 * variance).exp(), scv: variance.exp_m1() }
            }
            Family::Weibull => {
                let (shape, scale) = weibull_shape(ascending, mean_logarithm())?;
                let mean = scale * statrs::function::gamma::gamma(1.0 + 1.0 / shape);
                Distribution::Weibull { shape, mean }
            }
            Family::Hyperexponential => hyperexponential(ascending, mean)?,
        };
        member.checked(self.name()).map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_family_cannot_be_is_said() {
        for family in Family::ALL {
            assert!(family.fit(&[]).is_err());
            assert!(family.fit(&[0.0, 0.0]).is_err());
        }
        assert!(Family::Gamma.fit(&[0.0, 1.0, 2.0]).unwrap_err().contains("zero"));
        assert!(Family::Weibull.fit(&[2.0, 2.0]).unwrap_err().contains("equal"));
        assert_eq!(Family::Exponential.fit(&[0.0, 4.0]), Ok(Distribution::Exponential { mean: 2.0 }));
        // A member beyond what a distribution may be is no member.
        assert!(Family::Gamma.fit(&[1.0, 1.0 + 1e-6]).is_err());
    }
}
