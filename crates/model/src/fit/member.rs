//! What fitting asks of a member of a family: how likely values are, both tails, and draws from it.

use rand::Rng;
use rand::distr::Distribution as Draw;
use rand_distr::{Exp, Gamma, LogNormal, Weibull};
use statrs::function::erf::erfc;
use statrs::function::gamma::{gamma, gamma_lr, gamma_ur, ln_gamma};

use crate::Distribution;

/// A distribution with what its density, tails and draws share worked out once.
pub(super) enum Member<'a> {
    /// (mean)
    Exponential(f64),
    /// (value)
    Constant(f64),
    /// Shape, and scale: the mean over the shape.
    Gamma { shape: f64, scale: f64, draw: Option<Gamma<f64>> },
    /// Mean and standard deviation of the logarithm.
    Lognormal { centre: f64, spread: f64, draw: Option<LogNormal<f64>> },
    /// Shape and scale.
    Weibull { shape: f64, scale: f64, draw: Option<Weibull<f64>> },
    /// Ends.
    Uniform(f64, f64),
    /// Probability and mean of each branch.
    Hyperexponential(&'a [(f64, f64)]),
}

impl<'a> Member<'a> {
    pub(super) fn of(distribution: &'a Distribution) -> Member<'a> {
        match distribution {
            Distribution::Exponential { mean } => Member::Exponential(*mean),
            Distribution::Constant { value } => Member::Constant(*value),
            Distribution::Erlang { shape, mean } => Self::gamma(f64::from(*shape), *mean),
            Distribution::Gamma { shape, mean } => Self::gamma(*shape, *mean),
            Distribution::Lognormal { mean, scv } => {
                let variance = scv.ln_1p();
                let (centre, spread) = (mean.ln() - 0.5 * variance, variance.sqrt());
                Member::Lognormal { centre, spread, draw: LogNormal::new(centre, spread).ok() }
            }
            Distribution::Weibull { shape, mean } => {
                let scale = mean / gamma(1.0 + 1.0 / shape);
                Member::Weibull { shape: *shape, scale, draw: Weibull::new(scale, *shape).ok() }
            }
            Distribution::Uniform { low, high } => Member::Uniform(*low, *high),
            Distribution::Hyperexponential { branches } => Member::Hyperexponential(branches),
        }
    }

    fn gamma(shape: f64, mean: f64) -> Self {
        let scale = mean / shape;
        Member::Gamma { shape, scale, draw: Gamma::new(shape, scale).ok() }
    }

    /// P(X ≤ x) and P(X > x).
    pub(super) fn tails(&self, x: f64) -> (f64, f64) {
        if x <= 0.0 {
            return (0.0, 1.0);
        }
        match self {
            Member::Exponential(mean) => (-(-x / mean).exp_m1(), (-x / mean).exp()),
            Member::Constant(value) => {
                if x >= *value {
                    (1.0, 0.0)
                } else {
                    (0.0, 1.0)
                }
            }
            Member::Gamma { shape, scale, .. } => {
                let scaled = x / scale;
                if scaled < f64::MIN_POSITIVE {
                    (0.0, 1.0)
                } else if scaled < *shape {
                    let lower = gamma_lr(*shape, scaled).clamp(0.0, 1.0);
                    (lower, 1.0 - lower)
                } else {
                    let upper = gamma_ur(*shape, scaled).clamp(0.0, 1.0);
                    (1.0 - upper, upper)
                }
            }
            Member::Lognormal { centre, spread, .. } => {
                let z = (x.ln() - centre) / (spread * std::f64::consts::SQRT_2);
                (0.5 * erfc(-z), 0.5 * erfc(z))
            }
            Member::Weibull { shape, scale, .. } => {
                let power = (x / scale).powf(*shape);
                (-(-power).exp_m1(), (-power).exp())
            }
            Member::Uniform(low, high) => {
                let width = high - low;
                (((x - low) / width).clamp(0.0, 1.0), ((high - x) / width).clamp(0.0, 1.0))
            }
            Member::Hyperexponential(branches) => {
                branches.iter().fold((0.0, 0.0), |(lower, upper), (p, mean)| {
                    (
                        f64::min(lower - p * (-x / mean).exp_m1(), 1.0),
                        f64::min(upper + p * (-x / mean).exp(), 1.0),
                    )
                })
            }
        }
    }

    /// Logarithm of the density at x; of a constant, of no meaning.
    pub(super) fn log_density(&self, x: f64) -> f64 {
        match self {
            Member::Exponential(mean) => -x / mean - mean.ln(),
            Member::Constant(_) => f64::NAN,
            Member::Gamma { shape, scale, .. } => {
                (shape - 1.0) * (x / scale).ln() - x / scale - ln_gamma(*shape) - scale.ln()
            }
            Member::Lognormal { centre, spread, .. } => {
                let z = (x.ln() - centre) / spread;
                -0.5 * z * z - x.ln() - spread.ln() - 0.5 * std::f64::consts::TAU.ln()
            }
            Member::Weibull { shape, scale, .. } => {
                let ratio = x / scale;
                (shape / scale).ln() + (shape - 1.0) * ratio.ln() - ratio.powf(*shape)
            }
            Member::Uniform(low, high) => -(high - low).ln(),
            Member::Hyperexponential(branches) => {
                branches.iter().map(|(p, mean)| p / mean * (-x / mean).exp()).sum::<f64>().ln()
            }
        }
    }

    /// One value.
    pub(super) fn draw(&self, generator: &mut impl Rng) -> f64 {
        use rand::RngExt;
        match self {
            Member::Exponential(mean) => exponential(generator, *mean),
            Member::Constant(value) => *value,
            Member::Gamma { shape, scale, draw } => draw.map_or(shape * scale, |d| d.sample(generator)),
            Member::Lognormal { centre, draw, .. } => draw.map_or(centre.exp(), |d| d.sample(generator)),
            Member::Weibull { scale, draw, .. } => draw.map_or(*scale, |d| d.sample(generator)),
            Member::Uniform(low, high) => low + (high - low) * generator.random::<f64>(),
            Member::Hyperexponential(branches) => {
                let mut at: f64 = generator.random();
                let mut mean = branches.last().map_or(0.0, |(_, mean)| *mean);
                for (p, branch) in *branches {
                    if at < *p {
                        mean = *branch;
                        break;
                    }
                    at -= p;
                }
                exponential(generator, mean)
            }
        }
    }
}

fn exponential(generator: &mut impl Rng, mean: f64) -> f64 {
    Exp::new(1.0).map_or(0.0, |unit| unit.sample(generator)) * mean
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand::rngs::Xoshiro256PlusPlus;

    const ALL: [&str; 7] = [
        "exponential(3)",
        "erlang(4, 3)",
        "hyperexponential(0.9, 1, 0.1, 20)",
        "gamma(0.5, 3)",
        "lognormal(3, 2)",
        "uniform(1, 5)",
        "weibull(1.5, 3)",
    ];

    #[test]
    fn densities_are_slopes_of_tails_and_tails_complement_each_other() {
        for text in ALL {
            let distribution: Distribution = text.parse().unwrap();
            let member = Member::of(&distribution);
            for x in [0.3, 1.5, 2.9, 3.0, 3.1, 4.9, 30.0] {
                let (lower, upper) = member.tails(x);
                assert!((lower + upper - 1.0).abs() < 1e-12, "{text} at {x}: {lower} {upper}");
                // The same that the models compute, by another route.
                assert!((lower - distribution.cdf(x)).abs() < 1e-9, "{text} at {x}");
                assert!((upper - distribution.survival(x)).abs() < 1e-9, "{text} at {x}");
                let slope = (member.tails(x + 1e-5).0 - member.tails(x - 1e-5).0) / 2e-5;
                if slope > 1e-6 {
                    assert!((member.log_density(x).exp() / slope - 1.0).abs() < 1e-4, "{text} at {x}");
                }
            }
        }
    }

    #[test]
    fn draws_have_the_mean_and_the_variation() {
        let mut generator = Xoshiro256PlusPlus::seed_from_u64(3);
        for text in ALL {
            let distribution: Distribution = text.parse().unwrap();
            let member = Member::of(&distribution);
            let n = 200_000;
            let values: Vec<f64> = (0..n).map(|_| member.draw(&mut generator)).collect();
            let mean = values.iter().sum::<f64>() / f64::from(n);
            let error = (distribution.variance() / f64::from(n)).sqrt();
            assert!((mean - distribution.mean()).abs() < 4.5 * error, "{text}: {mean}");
            // The tail beyond the mean, which neither moment fixes.
            let beyond = values.iter().filter(|x| **x > distribution.mean()).count() as f64 / f64::from(n);
            assert!((beyond - member.tails(distribution.mean()).1).abs() < 0.006, "{text}: {beyond}");
        }
    }
}
