//! Random times of a given distribution.

use rand_distr::Distribution as _;
use tollway_model::Distribution;

use crate::SimError;
use crate::stream::Stream;

/// Up to this shape an Erlang time is the logarithm of a product of so many uniform numbers: 16 of at least 2⁻⁵³ stay
/// above the smallest normal number.
const PRODUCT: u32 = 16;

/// A distribution, ready to be drawn from.
#[derive(Clone, Debug)]
pub(crate) enum Sampler {
    /// Of this mean.
    Exponential(f64),
    /// This value.
    Constant(f64),
    /// Lower end, and distance to the upper one.
    Uniform(f64, f64),
    /// Stages, and the mean of one.
    Erlang(u32, f64),
    /// Cumulative probability and mean of each branch.
    Hyperexponential(Box<[(f64, f64)]>),
    /// From `rand_distr`.
    Gamma(Box<rand_distr::Gamma<f64>>),
    /// From `rand_distr`.
    Lognormal(Box<rand_distr::LogNormal<f64>>),
    /// From `rand_distr`.
    Weibull(Box<rand_distr::Weibull<f64>>),
}

impl Sampler {
    /// Of this distribution.
    ///
    /// # Errors
    /// When it is a distribution that has no sampler, or its parameters leave floating point.
    pub(crate) fn new(distribution: &Distribution) -> Result<Self, SimError> {
        let unusable =
            |reason: String| SimError::Distribution { distribution: distribution.to_string(), reason };
        Ok(match distribution {
            Distribution::Exponential { mean } => Sampler::Exponential(*mean),
            Distribution::Constant { value } => Sampler::Constant(*value),
            Distribution::Uniform { low, high } => Sampler::Uniform(*low, high - low),
            Distribution::Erlang { shape, mean } if *shape <= PRODUCT => {
                Sampler::Erlang(*shape, mean / f64::from(*shape))
            }
            Distribution::Erlang { shape, mean } => gamma(f64::from(*shape), *mean).map_err(unusable)?,
            Distribution::Gamma { shape, mean } => gamma(*shape, *mean).map_err(unusable)?,
            Distribution::Hyperexponential { branches } => {
                let mut sum = 0.0;
                let cumulative = branches.iter().map(|(probability, mean)| {
                    sum += probability;
                    (sum, *mean)
                });
                Sampler::Hyperexponential(cumulative.collect())
            }
            Distribution::Lognormal { mean, scv } => {
                let variance = scv.ln_1p();
                let law = rand_distr::LogNormal::new(mean.ln() - 0.5 * variance, variance.sqrt());
                Sampler::Lognormal(Box::new(law.map_err(|error| unusable(error.to_string()))?))
            }
            Distribution::Weibull { shape, mean } => {
                let scale = mean / statrs::function::gamma::gamma(1.0 + 1.0 / shape);
                let law = rand_distr::Weibull::new(scale, *shape);
                Sampler::Weibull(Box::new(law.map_err(|error| unusable(error.to_string()))?))
            }
            _ => return Err(unusable("the simulator does not know it".into())),
        })
    }

    /// One time, in seconds.
    #[inline(always)]
    pub(crate) fn draw(&self, stream: &mut Stream) -> f64 {
        match self {
            Sampler::Exponential(mean) => mean * stream.exponential(),
            Sampler::Constant(value) => *value,
            _ => self.draw_other(stream),
        }
    }

    /// As many as fit, one after the other.
    pub(crate) fn fill(&self, stream: &mut Stream, times: &mut [f64]) {
        let Sampler::Exponential(mean) = self else {
            return times.iter_mut().for_each(|time| *time = self.draw(stream));
        };
        // Apart from each other, generator and logarithm keep their registers.
        times.iter_mut().for_each(|time| *time = stream.uniform());
        times.iter_mut().for_each(|time| *time = mean * -time.ln());
    }

    #[inline(never)]
    fn draw_other(&self, stream: &mut Stream) -> f64 {
        match self {
            Sampler::Exponential(mean) => mean * stream.exponential(),
            Sampler::Constant(value) => *value,
            Sampler::Uniform(low, width) => low + width * stream.uniform(),
            Sampler::Erlang(shape, mean) => {
                let product: f64 = (0..*shape).map(|_| stream.uniform()).product();
                -mean * product.ln()
            }
            Sampler::Hyperexponential(branches) => {
                let chosen = stream.uniform();
                let branch = branches.iter().find(|(cumulative, _)| chosen <= *cumulative);
                let (_, mean) = branch.unwrap_or(&branches[branches.len() - 1]);
                mean * stream.exponential()
            }
            Sampler::Gamma(law) => law.sample(&mut stream.generator),
            Sampler::Lognormal(law) => law.sample(&mut stream.generator),
            Sampler::Weibull(law) => law.sample(&mut stream.generator),
        }
    }
}

/// Times that were drawn ahead, a cache line of them.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(crate) struct Ahead {
    times: [f64; 8],
    next: usize,
    sampler: Sampler,
}

impl Ahead {
    pub(crate) fn new(sampler: Sampler) -> Self {
        let times = [0.0; 8];
        Ahead { times, next: times.len(), sampler }
    }

    /// The next time, seconds.
    #[inline(always)]
    pub(crate) fn draw(&mut self, stream: &mut Stream) -> f64 {
        if self.next >= self.times.len() {
            self.refill(stream);
        }
        let time = self.times[self.next % 8];
        self.next += 1;
        time
    }

    #[inline(never)]
    fn refill(&mut self, stream: &mut Stream) {
        self.sampler.fill(stream, &mut self.times);
        self.next = 0;
    }
}

fn gamma(shape: f64, mean: f64) -> Result<Sampler, String> {
    let law = rand_distr::Gamma::new(shape, mean / shape).map_err(|error| error.to_string())?;
    Ok(Sampler::Gamma(Box::new(law)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawn_ahead_or_not_they_are_the_same() {
        for text in ["exponential(3us)", "constant(3us)", "gamma(0.5, 3us)", "erlang(3, 1us)"] {
            let sampler = Sampler::new(&text.parse().unwrap()).unwrap();
            let (mut stream, mut other) = (Stream::new(1, 2, 3), Stream::new(1, 2, 3));
            let mut ahead = Ahead::new(sampler.clone());
            (0..100).for_each(|_| assert_eq!(ahead.draw(&mut stream), sampler.draw(&mut other)));
        }
    }

    #[test]
    fn means_and_variances_are_those_of_the_distribution() {
        for text in [
            "exponential(3us)",
            "constant(3us)",
            "erlang(4, 3us)",
            "erlang(40, 3us)",
            "hyperexponential(0.9, 1us, 0.1, 20us)",
            "gamma(0.5, 3us)",
            "lognormal(3us, 0.5)",
            "uniform(1us, 5us)",
            "weibull(1.5, 3us)",
        ] {
            let distribution: Distribution = text.parse().unwrap();
            let sampler = Sampler::new(&distribution).unwrap();
            let mut stream = Stream::new(11, 0, 0);
            let n = 400_000;
            let draws: Vec<f64> = (0..n).map(|_| sampler.draw(&mut stream)).collect();
            let mean = draws.iter().sum::<f64>() / f64::from(n);
            let squares: Vec<f64> = draws.iter().map(|x| (x - distribution.mean()).powi(2)).collect();
            let variance = squares.iter().sum::<f64>() / f64::from(n);
            let spread = squares.iter().map(|x| (x - variance).powi(2)).sum::<f64>() / f64::from(n);
            let n = f64::from(n);
            let slack = 1e-10 * distribution.mean();
            assert!(
                (mean - distribution.mean()).abs() <= 5.0 * (variance / n).sqrt() + slack,
                "{text}: {mean}"
            );
            assert!(
                (variance - distribution.variance()).abs() <= 5.0 * (spread / n).sqrt() + slack * slack,
                "{text}"
            );
        }
    }
}
