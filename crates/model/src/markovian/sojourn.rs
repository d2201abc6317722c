//! Waits and responses where arrivals find a known number of customers: c exponential servers, first come first served.
//!
//! Whoever finds n ≥ c others waits for n − c + 1 ends of service, each exponential of rate cμ. All servers' ends are
//! seen as one Poisson stream of rate cμ (uniformisation); a customer in service is the one that ends with probability
//! 1/c. So each tail is a Poisson mixture of sums that never rise: no alternating sign, nothing to cancel.

use crate::Result;
use crate::chain::poisson;
use crate::numeric::quantile;

/// The time in system of a customer, given the distribution of those it finds.
#[derive(Clone, Debug)]
pub(crate) struct Sojourn {
    servers: u64,
    mu: f64,
    /// P(still waiting after i ends of service), i = 0, 1, …
    waiting: Vec<f64>,
    /// P(in service after i ends of service), one entry more.
    serving: Vec<f64>,
}

impl Sojourn {
    /// `found[n]` is the probability of finding n customers, up to a factor.
    pub(crate) fn new(servers: usize, mu: f64, found: &[f64]) -> Self {
        let free = servers.min(found.len());
        let mut waiting = found[free..].to_vec();
        let mut sum = 0.0;
        for chance in waiting.iter_mut().rev() {
            sum += *chance;
            *chance = sum;
        }
        let at_once: f64 = found[..free].iter().sum();
        let all = at_once + sum;
        for chance in &mut waiting {
            *chance /= all;
        }
        let stays = 1.0 - 1.0 / servers as f64;
        let mut serving = Vec::with_capacity(waiting.len() + 1);
        serving.push(at_once / all);
        for (i, chance) in found[free..].iter().enumerate() {
            serving.push(serving[i] * stays + chance / all);
        }
        Self { servers: servers as u64, mu, waiting, serving }
    }

    /// P(wait > 0).
    pub(crate) fn wait_probability(&self) -> f64 {
        self.waiting.first().copied().unwrap_or(0.0)
    }

    /// Mean wait, seconds.
    pub(crate) fn mean_wait(&self) -> f64 {
        self.waiting.iter().sum::<f64>() / self.rate()
    }

    /// Second moment of the wait, seconds squared: k ends of service of rate r have k(k + 1)/r², which is 2i summed over
    /// i = 1 … k.
    pub(crate) fn wait_second_moment(&self) -> f64 {
        let terms = self.waiting.iter().enumerate().map(|(i, chance)| 2.0 * (i + 1) as f64 * chance);
        terms.sum::<f64>() / self.rate().powi(2)
    }

    /// P(wait > t).
    pub(crate) fn wait_survival(&self, t: f64) -> f64 {
        poisson::mixture(self.rate() * t, self.waiting.len() as u64, |i| self.waiting[i as usize])
    }

    /// P(response > t).
    pub(crate) fn response_survival(&self, t: f64) -> f64 {
        // Beyond that a service alone is longer than the smallest number.
        if self.mu * t > 800.0 + 2.0 * self.waiting.len() as f64 {
            return 0.0;
        }
        let known = self.waiting.len();
        let leaves = 1.0 / self.servers as f64;
        poisson::mixture(self.rate() * t, u64::MAX, |i| match usize::try_from(i) {
            Ok(i) if i < known => self.waiting[i] + self.serving[i],
            Ok(i) if i > known => self.serving[known] * ((i - known) as f64 * (-leaves).ln_1p()).exp(),
            _ => self.serving[known],
        })
    }

    /// The time that a `share` of customers wait no longer than, seconds.
    pub(crate) fn wait_quantile(&self, share: f64) -> Result<f64> {
        quantile::of_survival(|t| self.wait_survival(t), share, 1.0 / self.rate())
    }

    /// The time that a `share` of customers spend at most, seconds.
    pub(crate) fn response_quantile(&self, share: f64) -> Result<f64> {
        quantile::of_survival(|t| self.response_survival(t), share, 1.0 / self.mu)
    }

    fn rate(&self) -> f64 {
        self.servers as f64 * self.mu
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_found_at_one_server_is_two_stages() {
        let sojourn = Sojourn::new(1, 2.0, &[0.0, 1.0]);
        for t in [0.0, 0.1, 1.0, 20.0] {
            assert!((sojourn.wait_survival(t) / (-2.0 * t).exp() - 1.0).abs() < 1e-13);
            let two = (1.0 + 2.0 * t) * (-2.0 * t).exp();
            assert!((sojourn.response_survival(t) / two - 1.0).abs() < 1e-13, "{t}");
        }
    }

    #[test]
    fn nobody_found_is_one_service() {
        for servers in [1, 3, 1000] {
            let sojourn = Sojourn::new(servers, 0.5, &[1.0]);
            assert_eq!(sojourn.wait_probability(), 0.0);
            for t in [0.0, 0.1, 1.0, 100.0, 900.0] {
                assert!(
                    (sojourn.response_survival(t) / (-0.5 * t).exp() - 1.0).abs() < 1e-11,
                    "{servers} {t}"
                );
            }
        }
    }

    #[test]
    fn waits_for_k_of_c_servers() {
        // Found 5 at 3 servers: three ends of service at rate 3, then one of one's own at rate 1.
        let sojourn = Sojourn::new(3, 1.0, &[0.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
        let t: f64 = 1.7;
        let wait = (1.0 + 3.0 * t + 4.5 * t * t) * (-3.0 * t).exp();
        assert!((sojourn.wait_survival(t) / wait - 1.0).abs() < 1e-13);
        assert!((sojourn.mean_wait() - 1.0).abs() < 1e-14);
        assert!((sojourn.wait_second_moment() - 12.0 / 9.0).abs() < 1e-14);
        // ∫ of the density of the wait times the tail of the service, in closed form.
        let own = 27.0 / 2.0 * (-t).exp() * (1.0 - (-2.0 * t).exp() * (1.0 + 2.0 * t + 2.0 * t * t)) / 4.0;
        assert!((sojourn.response_survival(t) / (wait + own) - 1.0).abs() < 1e-13);
    }
}
