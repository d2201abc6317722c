//! What a chain is after some time, by uniformisation (Jensen 1953; Grassmann 1977): a Poisson number of steps of a
//! chain in discrete time. Only positive numbers are added, so that small probabilities keep their digits as well.

use super::{Generator, poisson};
use crate::{ModelError, Result};

/// The most multiplications that are spent: some seconds.
const MOST_WORK: f64 = 2e9;

/// Weights below are left out. So small, because a state that is many steps away has nothing else.
const LEAST_WEIGHT: f64 = 1e-300;

impl Generator {
    /// Whether [`transient`](Self::transient) can count its steps out, without a steady state to end them.
    pub(crate) fn transient_is_affordable(&self, time: f64) -> bool {
        let mean = self.step_rate() * time;
        (mean + 38.0 * mean.sqrt() + 200.0) * (self.entries() + self.len()) as f64 <= MOST_WORK
    }

    /// The probabilities of all states, `time` seconds after they were `start`. If the steady state is known, it ends
    /// as soon as that is reached.
    ///
    /// # Errors
    /// When `start` is not of this chain, the time is negative or not finite, or it would take more than 2e9
    /// multiplications.
    pub fn transient(&self, start: &[f64], time: f64, steady: Option<&[f64]>) -> Result<Vec<f64>> {
        let failed = |reason: String| Err(ModelError::Numerical { method: "uniformisation", reason });
        if start.len() != self.len() || steady.is_some_and(|steady| steady.len() != self.len()) {
            return failed(format!("{} probabilities were given for {} states", start.len(), self.len()));
        }
        if !(time >= 0.0 && time.is_finite()) {
            return Err(ModelError::parameter(
                "time",
                format!("{time} is no time"),
                "give seconds, 0 or more",
            ));
        }
        let rate = self.step_rate();
        let mean = rate * time;
        if mean == 0.0 {
            return Ok(start.to_vec());
        }
        let too_much = || {
            let states = self.len();
            failed(format!(
                "{mean:.1e} steps of {states} states are too many; give less time or fewer states"
            ))
        };
        if steady.is_none() && !self.transient_is_affordable(time) {
            return too_much();
        }
        // Nothing has weight before.
        let first = (mean - 38.0 * mean.sqrt() - 20.0).max(0.0) as u64;
        let stay: Vec<f64> = (0..self.len()).map(|state| (rate - self.exit_rate(state)) / rate).collect();
        let (mut now, mut next) = (start.to_vec(), vec![0.0; self.len()]);
        let mut sum = vec![0.0; self.len()];
        let mut weighed = 0.0;
        let mut left = MOST_WORK;
        let mut n = 0u64;
        loop {
            let weight = if n < first { 0.0 } else { poisson::probability(mean, n) };
            if weight > LEAST_WEIGHT {
                sum.iter_mut().zip(&now).for_each(|(sum, p)| *sum += weight * p);
                weighed += weight;
            } else if n as f64 > mean {
                break;
            }
            if let Some(steady) = steady.filter(|_| n.is_multiple_of(64))
                && reached(&now, steady)
            {
                sum.iter_mut().zip(steady).for_each(|(sum, p)| *sum += (1.0 - weighed).max(0.0) * p);
                break;
            }
            left -= (self.entries() + self.len()) as f64;
            if left < 0.0 {
                return too_much();
            }
            self.step(rate, &stay, &now, &mut next);
            std::mem::swap(&mut now, &mut next);
            n += 1;
        }
        // Rounding of many steps is common to all states; so is what the least weight left out.
        let total: f64 = sum.iter().sum();
        sum.iter_mut().for_each(|p| *p /= total);
        Ok(sum)
    }

    /// One step of the chain in discrete time.
    fn step(&self, step_rate: f64, stay: &[f64], now: &[f64], next: &mut [f64]) {
        let normal = |p: f64| if p < f64::MIN_POSITIVE { 0.0 } else { p };
        next.iter_mut().zip(stay).zip(now).for_each(|((next, stay), p)| *next = stay * normal(*p));
        // Subnormal numbers have few digits and are slow: they are nothing.
        for (state, p) in now.iter().enumerate().filter(|(_, p)| **p >= f64::MIN_POSITIVE) {
            let moved = p / step_rate;
            self.row(state).for_each(|(to, rate)| next[to] += moved * rate);
        }
    }

    /// Steps per second: somewhat faster than any state is left, so that steps do not alternate.
    fn step_rate(&self) -> f64 {
        1.05 * (0..self.len()).map(|state| self.exit_rate(state)).fold(0.0, f64::max)
    }
}

/// Whether every state has its share of the steady state. From then on it stays so: a step averages the shares.
fn reached(now: &[f64], steady: &[f64]) -> bool {
    now.iter().zip(steady).all(|(p, limit)| (p - limit).abs() <= 1e-14 * limit)
}

#[cfg(test)]
mod tests {
    use crate::chain::{Generator, explore};

    fn two_states(up: f64, down: f64) -> Generator {
        explore(false, 2, |on, next| next.push((!on, if *on { down } else { up }))).unwrap().generator
    }

    #[test]
    fn two_states_in_closed_form() {
        let (up, down) = (0.3, 2.0);
        let chain = two_states(up, down);
        for t in [0.0, 1e-12, 0.1, 1.0, 30.0, 1e5] {
            let on = up / (up + down) * -(-(up + down) * t).exp_m1();
            let found = chain.transient(&[1.0, 0.0], t, None).unwrap()[1];
            assert!((found - on).abs() <= 1e-12 * on, "{t}: {found} {on}");
        }
    }

    #[test]
    fn a_state_many_steps_away_keeps_its_digits() {
        // Births only: state n after time t is a Poisson probability.
        let births = explore(0u32, 30, |n, next| next.extend((*n < 20).then_some((n + 1, 1.0)))).unwrap();
        let mut start = vec![0.0; 21];
        start[0] = 1.0;
        let found = births.generator.transient(&start, 1e-3, None).unwrap();
        for (n, found) in found[..20].iter().enumerate() {
            let right = super::poisson::probability(1e-3, n as u64);
            assert!((found / right - 1.0).abs() < 1e-12, "{n}");
        }
    }

    #[test]
    fn the_steady_state_ends_it_and_too_much_is_refused() {
        let chain = two_states(1.0, 1.0);
        let found = chain.transient(&[1.0, 0.0], 1e15, Some(&[0.5, 0.5])).unwrap();
        assert!((found[0] - 0.5).abs() < 1e-15);
        assert!(chain.transient(&[1.0, 0.0], 1e15, None).is_err());
        assert!(chain.transient(&[1.0], 1.0, None).is_err());
        assert!(chain.transient(&[1.0, 0.0], f64::NAN, None).is_err());
    }
}
