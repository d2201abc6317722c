//! Distributions of waits and responses in M/G/1 with a server that is woken late: by conditioning on what an arrival
//! finds, and inversion of the transform.
//!
//! An arrival finds the server not serving with 1 − ρ; what it waits for then is the model's own. Else it finds it in a
//! busy phase, which began with some work V: then its wait is that of M/G/1 and, independent of it, what is left of V
//! at a random time. The catalogue leaves quantiles out: an inversion may take seconds where the law has kinks or no
//! closed transform. Source: Conway, Maxwell and Miller (1967), Theory of Scheduling, chapter 8 (delay cycles).

use num_complex::Complex64;

use crate::general::inversion;
use crate::interrupt::means::Load;
use crate::numeric::quantile;
use crate::{Distribution, Result, check};

/// Waits of all customers, in order of arrival, in the steady state.
pub trait Waits {
    /// Times of one service, independent of the wait.
    fn service(&self) -> &Distribution;

    /// Mean wait, seconds.
    fn mean_wait(&self) -> f64;

    /// Waits that are the same for a share of all customers: the share, and the wait in seconds.
    fn lumps(&self) -> Vec<(f64, f64)>;

    /// Transform of the others' waits: E\[e^−sW\] less e^−sw times its share for each lump, for Re s > 0.
    ///
    /// # Errors
    /// Those of [`Distribution::transform`].
    fn others(&self, s: Complex64) -> Result<Complex64>;

    /// Shares of all customers whose wait is what is left of a time when somebody comes by, and nothing else: the share,
    /// and the law of that time. They are among the others. Told where the law may be constant: then the slope of
    /// P(wait > t) jumps at its value, where no inversion is quick.
    fn leftovers(&self) -> Vec<(f64, &Distribution)> {
        Vec::new()
    }

    /// P(wait > `time`), `time` in seconds, to 1e-6.
    ///
    /// # Errors
    /// When the transform cannot be had or inverted to that error.
    fn wait_survival(&self, time: f64) -> Result<f64> {
        let lumps = self.lumps();
        let rest = 1.0 - lumps.iter().map(|(share, _)| share).sum::<f64>();
        let known: f64 = lumps.iter().filter(|(_, wait)| *wait > time).map(|(share, _)| share).sum();
        if time <= 0.0 {
            return Ok(known + rest);
        }
        let leftovers = self.leftovers();
        let left: f64 = leftovers.iter().map(|(share, law)| share * law.residual_survival(time)).sum();
        let transform = |s| {
            let mut short = rest - self.others(s)?;
            for (share, law) in &leftovers {
                short -= law.residual_shortfall(s)? * share;
            }
            Ok(short / s)
        };
        Ok(known + left + inversion::survival(transform, time)?)
    }

    /// P(response > `time`), `time` in seconds, to 1e-6.
    ///
    /// # Errors
    /// When the transform cannot be had or inverted to that error.
    fn response_survival(&self, time: f64) -> Result<f64> {
        if let Distribution::Constant { value } = self.service() {
            return if time < *value { Ok(1.0) } else { self.wait_survival(time - value) };
        }
        if time <= 0.0 {
            return Ok(1.0);
        }
        let lumps = self.lumps();
        let rest = 1.0 - lumps.iter().map(|(share, _)| share).sum::<f64>();
        let after = |wait: f64| if time < wait { 1.0 } else { self.service().survival(time - wait) };
        let known: f64 = lumps.iter().map(|(share, wait)| share * after(*wait)).sum();
        let transform = |s| Ok((rest - self.others(s)? * self.service().transform(s)?) / s);
        Ok(known + inversion::survival(transform, time)?)
    }

    /// The shortest time, in seconds, that this share of waits does not exceed.
    ///
    /// # Errors
    /// When the share is not above 0 and below 1; those of [`Waits::wait_survival`].
    fn wait_quantile(&self, share: f64) -> Result<f64> {
        let beyond = beyond(share)?;
        // A lump may be the quantile by itself: more wait so long than what is left of the share.
        for (_, wait) in self.lumps() {
            let longer = self.wait_survival(wait)?;
            let as_long: f64 = self.lumps().iter().filter(|(_, w)| *w == wait).map(|(share, _)| share).sum();
            let reached =
                if wait == 0.0 { quantile::starts_at_zero(longer, beyond) } else { longer <= beyond };
            if reached && beyond < longer + as_long {
                return Ok(wait);
            }
        }
        searched(|time| self.wait_survival(time), share, self.mean_wait() / beyond)
    }

    /// The shortest time, in seconds, that this share of responses does not exceed.
    ///
    /// # Errors
    /// When the share is not above 0 and below 1; those of [`Waits::response_survival`].
    fn response_quantile(&self, share: f64) -> Result<f64> {
        if let Distribution::Constant { value } = self.service() {
            return Ok(value + self.wait_quantile(share)?);
        }
        let mean = self.mean_wait() + self.service().mean();
        searched(|time| self.response_survival(time), share, mean / beyond(share)?)
    }
}

fn beyond(share: f64) -> Result<f64> {
    check::positive("share", check::share("share", share)?)?;
    check::positive("1 − share", 1.0 - share)
}

/// Between Markov's bound and the first of ever smaller times that is exceeded often enough.
fn searched(survival: impl Fn(f64) -> Result<f64>, share: f64, high: f64) -> Result<f64> {
    let mut low = 0.1 * high;
    while survival(low)? <= 1.0 - share {
        low *= 0.01;
        if low < 1e-14 * high {
            return Ok(0.0);
        }
    }
    inversion::quantile(survival, share, low, high)
}

/// What transforms of waits are made of, at one s.
pub(super) struct Parts {
    /// S*(s).
    pub(super) service: Complex64,
    /// (1 − S*(s))/(sE\[S\]).
    pub(super) left_of_service: Complex64,
    /// Transform of the wait of M/G/1.
    pub(super) plain: Complex64,
    /// λ(1 − S*(s)).
    pub(super) coming: Complex64,
    /// s − λ(1 − S*(s)), without cancellation.
    pub(super) net: Complex64,
}

impl Parts {
    /// Of a load whose services have this distribution.
    pub(super) fn at(s: Complex64, load: &Load, service: &Distribution) -> Result<Self> {
        // One of the three is asked for, the one that loses no digits here: some take an integral each.
        let scaled = s * load.service;
        let (transform, left_of_service, shortfall) = if scaled.norm_sqr() > 1.0 {
            let transform = service.transform(s)?;
            let left = (1.0 - transform) / scaled;
            (transform, left, 1.0 - left)
        } else {
            let shortfall = service.residual_shortfall(s)?;
            (1.0 - scaled * (1.0 - shortfall), 1.0 - shortfall, shortfall)
        };
        let slack = load.spare() + load.utilization() * shortfall;
        Ok(Self {
            service: transform,
            left_of_service,
            plain: load.spare() / slack,
            coming: s * load.utilization() * left_of_service,
            net: s * slack,
        })
    }
}

/// a^(n−1) + a^(n−2)b + … + b^(n−1) by doubling, without a quotient.
pub(super) fn powers_between(a: Complex64, b: Complex64, n: u64) -> Complex64 {
    let (mut sum, mut a_power, mut b_power) = (Complex64::ZERO, Complex64::ONE, Complex64::ONE);
    for bit in (0..u64::BITS - n.leading_zeros()).rev() {
        sum *= a_power + b_power;
        (a_power, b_power) = (a_power * a_power, b_power * b_power);
        if n >> bit & 1 == 1 {
            sum = sum * a + b_power;
            (a_power, b_power) = (a_power * a, b_power * b);
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interrupt::{Batch, HybridPolling, MxG1, NPolicy, TPolicy, Vacations};

    fn close(got: f64, want: f64, tolerance: f64) {
        assert!((got / want - 1.0).abs() <= tolerance, "{got} for {want}");
    }

    #[test]
    fn woken_at_once_the_quantiles_are_those_of_mm1() {
        // P(W > t) = ρe^−(μ−λ)t, P(R > t) = e^−(μ−λ)t at λ = 0.8, μ = 1.
        let service = Distribution::exponential(1.0).unwrap();
        let queues: [Box<dyn Waits>; 4] = [
            Box::new(NPolicy::new(0.8, &service, 1).unwrap()),
            Box::new(TPolicy::new(0.8, &service, 0.0).unwrap()),
            Box::new(MxG1::new(0.8, &service, Batch::new(&[(1.0, 1.0)]).unwrap()).unwrap()),
            Box::new(HybridPolling::new(0.8, &service, 1e9, &service).unwrap()),
        ];
        for queue in queues {
            for share in [0.5, 0.9, 0.999] {
                close(queue.wait_quantile(share).unwrap(), (0.8_f64 / (1.0 - share)).ln() / 0.2, 1e-6);
                close(queue.response_quantile(share).unwrap(), (1.0 / (1.0 - share)).ln() / 0.2, 1e-6);
            }
            assert_eq!(queue.wait_quantile(0.1).unwrap(), 0.0);
            assert!(queue.wait_quantile(1.0).is_err());
        }
    }

    #[test]
    fn a_vacation_as_long_as_a_response_makes_an_erlang_of_it() {
        // M/M/1's wait, and an exponential vacation of mean 1/(μ−λ) = 5: 0.2 of the vacation alone, 0.8 of two such.
        let service = Distribution::exponential(1.0).unwrap();
        let queue = Vacations::new(0.8, &service, &Distribution::exponential(5.0).unwrap()).unwrap();
        for time in [0.1, 3.0, 40.0] {
            let x = 0.2 * time;
            close(queue.wait_survival(time).unwrap(), (1.0 + 0.8 * x) * (-x).exp(), 1e-6);
        }
    }

    #[test]
    fn a_lump_may_be_the_quantile() {
        // Hardly any load: nearly all wait for exactly the timer, and respond a service later.
        let service: Distribution = "uniform(1, 3)".parse().unwrap();
        let queue = TPolicy::new(1e-4, &service, 7.0).unwrap();
        assert_eq!(queue.wait_quantile(0.5).unwrap(), 7.0);
        close(queue.response_quantile(0.5).unwrap(), 9.0, 1e-3);
        let constant = TPolicy::new(1e-4, &Distribution::constant(2.0).unwrap(), 7.0).unwrap();
        assert_eq!(constant.response_quantile(0.5).unwrap(), 9.0);
    }

    #[test]
    fn the_mean_response_is_the_area_under_its_distribution() {
        let service: Distribution = "erlang(3, 1)".parse().unwrap();
        let setup: Distribution = "uniform(1, 2)".parse().unwrap();
        let queues: [Box<dyn Waits>; 3] = [
            Box::new(NPolicy::new(0.5, &service, 3).unwrap()),
            Box::new(HybridPolling::new(0.5, &service, 1.0, &setup).unwrap()),
            Box::new(MxG1::new(0.25, &service, Batch::new(&[(1.0, 0.5), (3.0, 0.5)]).unwrap()).unwrap()),
        ];
        for queue in queues {
            let (end, n) = (60.0, 300);
            let at = |i: u32| queue.response_survival(end * f64::from(i) / f64::from(n)).unwrap();
            let inner: f64 = (1..n).map(|i| at(i) * if i % 2 == 1 { 4.0 } else { 2.0 }).sum();
            let area = (at(0) + inner + at(n)) * end / f64::from(n) / 3.0;
            close(area, queue.mean_wait() + 1.0, 1e-4);
        }
    }

    #[test]
    fn powers_between_are_added_up() {
        let (a, b) = (Complex64::new(0.3, 0.4), Complex64::new(-0.2, 0.9));
        for n in [0_u64, 1, 2, 3, 7, 12, 100] {
            let plain: Complex64 = (0..n).map(|i| a.powu((n - 1 - i) as u32) * b.powu(i as u32)).sum();
            assert!((powers_between(a, b, n) - plain).norm() < 1e-14, "{n}");
        }
    }
}
