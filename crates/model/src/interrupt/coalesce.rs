//! Completions held by count, by a timer from the first held, or by both: what a NIC's or disk's coalescing does.

use crate::card::{Family, Given, Kind, Model, Parameter};
use crate::interrupt::moderation::{self, Moderation};
use crate::interrupt::parameters::{COMPLETIONS, MOST_HELD};
use crate::interrupt::poisson::Poisson;
use crate::{Result, Solution, check};

/// Completions held until so many are there, or the first has been held so long, whichever is first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coalesce {
    lambda: f64,
    /// N − 1: completions that join the first one at most; infinite without a count.
    others: f64,
    /// Seconds; infinite without a timer.
    timer: f64,
}

impl Coalesce {
    /// `lambda` completions per second; `count` from 1 to 10⁶; `timer` in seconds. Without either, completions are
    /// told at once.
    ///
    /// # Errors
    /// When a parameter is not usable.
    pub fn new(lambda: f64, count: Option<u64>, timer: Option<f64>) -> Result<Self> {
        check::positive("lambda", lambda)?;
        let others = match count {
            Some(count) => check::count("count", count, 1, MOST_HELD)? as f64 - 1.0,
            None if timer.is_none() => 0.0,
            None => f64::INFINITY,
        };
        let timer = timer.map_or(Ok(f64::INFINITY), |timer| check::positive("timer", timer))?;
        Ok(Self { lambda, others, timer })
    }

    /// E\[min(N(t), most)\] of the completions N(t) that come in a time, which may be infinite.
    fn joined(&self, time: f64, most: f64) -> f64 {
        match (time.is_infinite(), most.is_infinite()) {
            (true, _) => most,
            (false, true) => self.lambda * time,
            (false, false) => Poisson::new(self.lambda * time).capped_mean(most),
        }
    }
}

impl Moderation for Coalesce {
    fn completions(&self) -> f64 {
        self.lambda
    }

    /// 1 + E\[m\], m = min(Poisson(λT), N − 1).
    fn mean_batch(&self) -> f64 {
        1.0 + self.joined(self.timer, self.others)
    }

    /// E\[m(m + 1)/2\]/(λ(1 + E\[m\])).
    fn mean_delay(&self) -> f64 {
        let mean = self.lambda * self.timer;
        let triangle = match (self.timer.is_infinite(), self.others.is_infinite()) {
            (true, _) => 0.5 * self.others * (self.others + 1.0),
            (false, true) => mean * (0.5 * mean + 1.0),
            (false, false) => Poisson::new(mean).capped_triangle(self.others),
        };
        triangle / self.mean_batch() / self.lambda
    }

    /// With x < T: (P(N(x) ≤ N − 2) + E\[min(N(T), N − 2)\] − E\[min(N(x), N − 2)\])/(1 + E\[m\]): the first one and
    /// those who come while x is left until the timer ends, as far as the count is not reached within x.
    fn still_held(&self, time: f64) -> f64 {
        if time >= self.timer || self.others == 0.0 {
            return 0.0;
        }
        let most = self.others - 1.0;
        let first = if most.is_infinite() { 1.0 } else { Poisson::new(self.lambda * time).at_most(most) };
        let later = if most.is_infinite() {
            self.lambda * (self.timer - time)
        } else {
            self.joined(self.timer, most) - self.joined(time, most)
        };
        (first + later) / self.mean_batch()
    }

    fn longest_delay(&self) -> f64 {
        self.timer
    }
}

/// In the catalogue.
pub(crate) const MODEL: Model = Model {
    name: "coalesce",
    title: "interrupt coalescing",
    family: Family::Interrupts,
    summary: "completions are held until so many are there or the first has been held so long",
    formula: "m = min(Poisson(λT), N − 1); delay E[m(m + 1)/2]/(λ(1 + E[m])); batch 1 + E[m]; interrupts λ/(1 + E[m]); for x < T P(delay > x) = (P(N(x) ≤ N − 2) + E[min(N(T), N − 2)] − E[min(N(x), N − 2)])/(1 + E[m])",
    assumptions: "Poisson completions; the timer starts with the first one held; an interrupt tells all that are held; nothing else delays it",
    source: "renewal-reward over one batch, written out here (Ross 1996, Stochastic Processes, chapter 3); quantiles from the same counting",
    holds: "exact; with neither count nor timer nothing is held",
    parameters: &[
        COMPLETIONS,
        Parameter {
            name: "count",
            kind: Kind::Count,
            means: "completions held when the interrupt is raised; 0: no such limit",
            default: Some("0"),
            example: "8",
        },
        Parameter {
            name: "timer",
            kind: Kind::Time,
            means: "time that the first one is held at most; 0: no such limit",
            default: Some("0"),
            example: "50us",
        },
    ],
    solve,
};

fn solve(given: &Given) -> Result<Solution> {
    let count = Some(given.count("count", 0, MOST_HELD)?).filter(|count| *count > 0);
    let timer = Some(given.time("timer")?).filter(|timer| *timer > 0.0);
    moderation::solution(&Coalesce::new(given.rate("lambda")?, count, timer)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interrupt::trials::{Delays, held};

    fn close(got: f64, want: f64, tolerance: f64) {
        assert!((got / want - 1.0).abs() <= tolerance, "{got} for {want}");
    }

    #[test]
    fn agrees_with_trials() {
        for (lambda, count, timer) in
            [(1.0, Some(4), None), (1.0, None, Some(1.5)), (2.0, Some(5), Some(1.5))]
        {
            let model = Coalesce::new(lambda, count, timer).unwrap();
            let trial = held(lambda, |arrivals| {
                let by_timer = timer.map_or(f64::INFINITY, |timer| arrivals.peek(0) + timer);
                let by_count = count.map_or(f64::INFINITY, |count| arrivals.peek(count as usize - 1));
                by_timer.min(by_count)
            });
            agree(&model, &trial);
        }
    }

    fn agree(model: &Coalesce, trial: &Delays) {
        trial.delay.holds(model.mean_delay());
        trial.interrupts.holds(model.interrupt_rate());
        trial.distributed(|time| model.still_held(time));
    }

    #[test]
    fn the_mean_is_the_area_under_the_distribution() {
        // By Simpson's rule; the distribution of the delay and its mean come from different sums.
        for (count, timer) in
            [(Some(6), Some(3.0)), (Some(40), Some(3.0)), (None, Some(3.0)), (Some(6), None)]
        {
            let model = Coalesce::new(1.7, count, timer).unwrap();
            let end = timer.unwrap_or(60.0) * (1.0 - 1e-15);
            let n = 6000;
            let at = |i: u32| model.still_held(end * f64::from(i) / f64::from(n));
            let inner: f64 = (1..n).map(|i| at(i) * if i % 2 == 1 { 4.0 } else { 2.0 }).sum();
            close((at(0) + inner + at(n)) * end / f64::from(n) / 3.0, model.mean_delay(), 1e-10);
        }
    }

    #[test]
    fn quantiles_turn_the_distribution_round() {
        let model = Coalesce::new(1.0, Some(5), Some(2.0)).unwrap();
        for share in [0.4, 0.5, 0.7] {
            close(model.still_held(model.delay_quantile(share).unwrap()), 1.0 - share, 1e-12);
        }
        // Those who reach the count are not held at all; the first is held for the whole timer when that is first.
        assert_eq!(model.delay_quantile(0.01).unwrap(), 0.0);
        assert_eq!(model.delay_quantile(0.99).unwrap(), 2.0);
        // By a timer alone the delay is the timer with 1/(1 + λT), else uniform: P(delay > x) = (1 + λ(T − x))/(1 + λT).
        let timer = Coalesce::new(1.0, None, Some(3.0)).unwrap();
        close(timer.delay_quantile(0.5).unwrap(), 2.0, 1e-14);
        // By a count of 2 alone it is 0 or one gap, at even chances: the 90th percentile solves e^−x/2 = 0.1.
        let count = Coalesce::new(1.0, Some(2), None).unwrap();
        close(count.delay_quantile(0.9).unwrap(), 5_f64.ln(), 1e-13);
        assert!(count.delay_quantile(1.0).is_err() && count.delay_quantile(0.0).is_err());
    }

    #[test]
    fn at_the_limits_nothing_is_held() {
        for (count, timer) in [(None, None), (Some(1), None), (Some(1), Some(1.0))] {
            let model = Coalesce::new(1e4, count, timer).unwrap();
            assert_eq!((model.mean_delay(), model.mean_batch(), model.interrupt_rate()), (0.0, 1.0, 1e4));
            assert_eq!(model.delay_quantile(0.99).unwrap(), 0.0);
        }
        // A timer far below the gap between completions: nearly each one is held for the whole timer.
        close(Coalesce::new(1.0, None, Some(1e-12)).unwrap().mean_delay(), 1e-12, 1e-11);
        // The largest numbers that are taken.
        let large = Coalesce::new(1e15, Some(1_000_000), Some(1e15)).unwrap();
        close(large.mean_delay(), 0.5 * 999_999.0 / 1e15, 1e-13);
        close(large.delay_quantile(0.5).unwrap(), 500_000.0 / 1e15, 1e-3);
        let small = Coalesce::new(1e-15, Some(1_000_000), Some(1e-15)).unwrap();
        close(small.mean_batch(), 1.0, 1e-15);
        close(small.delay_quantile(0.99).unwrap(), 1e-15, 1e-15);
    }
}
