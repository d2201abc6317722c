//! What holding completions back comes to, whatever holds them: how long, how many interrupts, how many completions
//! each tells.

use crate::{Result, Solution, Unit, check};

/// Completions that come as a Poisson stream and are held back until an interrupt tells them, all at once.
pub trait Moderation {
    /// Completions per second.
    fn completions(&self) -> f64;

    /// Completions told by one interrupt, on average.
    fn mean_batch(&self) -> f64;

    /// Mean delay, seconds.
    fn mean_delay(&self) -> f64;

    /// P(delay > `time`), `time` in seconds, 0 or above.
    fn still_held(&self, time: f64) -> f64;

    /// A time that no delay exceeds, seconds; infinite where there is none.
    fn longest_delay(&self) -> f64;

    /// Interrupts per second.
    fn interrupt_rate(&self) -> f64 {
        self.completions() / self.mean_batch()
    }

    /// The shortest time, in seconds, that this share of all delays does not exceed.
    ///
    /// # Errors
    /// When the share is not above 0 and below 1.
    fn delay_quantile(&self, share: f64) -> Result<f64> {
        check::share("share", share)?;
        let beyond = 1.0 - check::positive("share", share)?;
        check::positive("1 − share", beyond)?;
        if self.still_held(0.0) <= beyond {
            return Ok(0.0);
        }
        let mut high = self.longest_delay();
        if high.is_infinite() {
            high = self.mean_batch() / self.completions();
            while self.still_held(high) > beyond {
                high *= 2.0;
            }
        }
        let mut low = 0.0_f64;
        // Halves the logarithm while the quantile may be of a smaller order, then the time itself.
        for _ in 0..300 {
            let middle =
                if high > 4.0 * low { (low.max(1e-12 * high) * high).sqrt() } else { 0.5 * (low + high) };
            if middle <= low || middle >= high {
                break;
            }
            if self.still_held(middle) <= beyond {
                high = middle;
            } else {
                low = middle;
            }
        }
        Ok(high)
    }
}

/// As figures under their flat names.
pub(super) fn solution(held: &impl Moderation) -> Result<Solution> {
    Ok(Solution::new()
        .with("delay.mean", held.mean_delay(), Unit::Seconds)
        .with("delay.p50", held.delay_quantile(0.5)?, Unit::Seconds)
        .with("delay.p90", held.delay_quantile(0.9)?, Unit::Seconds)
        .with("delay.p99", held.delay_quantile(0.99)?, Unit::Seconds)
        .with("interrupts.rate", held.interrupt_rate(), Unit::PerSecond)
        .with("batch.mean", held.mean_batch(), Unit::Count))
}
