//! When requests or frames are due, one after the other, without end and without drift.
//!
//! Each is an iterator of intended starts in ticks after the start, rising. Moments are kept with 64 bits behind the point
//! and added up before they are rounded, so the n-th is where arithmetic puts it however large n is: a gap that an `f64`
//! holds is added without any error of its own.

use rand::{RngExt, SeedableRng, rngs::StdRng};
use tollway_core::Ticks;

/// A moment or a stretch of time in ticks, with 64 bits behind the point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Exact(u128);

impl Exact {
    /// What is below 0 or no number is 0; what is beyond 2^64 is that.
    fn of(ticks: f64) -> Exact {
        Exact((ticks * 2f64.powi(64)) as u128)
    }

    fn ticks(self) -> Ticks {
        (self.0 >> 64) as Ticks
    }

    fn after(self, stretch: Exact) -> Exact {
        Exact(self.0.saturating_add(stretch.0))
    }
}

/// Always the same gap: the n-th, counted from 0, is due at n gaps.
#[derive(Clone, Debug)]
pub struct Regular {
    at: Exact,
    gap: Exact,
}

impl Regular {
    /// A gap in ticks. 0: all of them at once.
    pub fn every(gap: f64) -> Regular {
        Regular { at: Exact::default(), gap: Exact::of(gap) }
    }
}

impl Iterator for Regular {
    type Item = Ticks;

    #[inline]
    fn next(&mut self) -> Option<Ticks> {
        let at = self.at;
        self.at = at.after(self.gap);
        Some(at.ticks())
    }
}

/// Independent exponential gaps, before the first one too: a Poisson stream.
#[derive(Debug)]
pub struct Poisson {
    at: Exact,
    mean: f64,
    random: StdRng,
}

impl Poisson {
    /// A mean gap in ticks. The same seed gives the same stream.
    pub fn with_mean(gap: f64, seed: u64) -> Poisson {
        Poisson { at: Exact::default(), mean: gap, random: StdRng::seed_from_u64(seed) }
    }
}

impl Iterator for Poisson {
    type Item = Ticks;

    #[inline]
    fn next(&mut self) -> Option<Ticks> {
        self.at = self.at.after(exponential(self.mean, &mut self.random));
        Some(self.at.ticks())
    }
}

fn exponential(mean: f64, random: &mut StdRng) -> Exact {
    let uniform: f64 = random.random();
    // In (0, 1], so that its logarithm is finite.
    Exact::of(-(1.0 - uniform).ln() * mean)
}

/// So many at a short gap, then a pause until the period is over.
#[derive(Clone, Debug)]
pub struct Bursts {
    start: Exact,
    at: Exact,
    length: u64,
    left: u64,
    within: Exact,
    period: Exact,
}

impl Bursts {
    /// Bursts of `length` (at least 1), `within` ticks from one to the next in it, and `period` ticks from burst to burst.
    /// One that takes longer than the period puts off the next.
    pub fn of(length: u64, within: f64, period: f64) -> Bursts {
        let start = Exact::default();
        let length = length.max(1);
        let (within, period) = (Exact::of(within), Exact::of(period));
        Bursts { start, at: start, length, left: length, within, period }
    }
}

impl Iterator for Bursts {
    type Item = Ticks;

    #[inline]
    fn next(&mut self) -> Option<Ticks> {
        let at = self.at;
        self.left -= 1;
        if self.left == 0 {
            self.left = self.length;
            self.start = self.start.after(self.period).max(at);
            self.at = self.start;
        } else {
            self.at = at.after(self.within);
        }
        Some(at.ticks())
    }
}

/// A regular stream that is switched on and off for exponential stretches of time.
///
/// The gap counts only time that is on, so the mean rate is exactly on / (on + off) / gap.
#[derive(Debug)]
pub struct OnOff {
    at: Exact,
    gap: Exact,
    /// What is left of the stretch that is on.
    left: Exact,
    on: f64,
    off: f64,
    random: StdRng,
}

impl OnOff {
    /// A gap while it is on, and the mean stretches on and off, in ticks. The same seed gives the same stream. Stretches
    /// on that are shorter than a thousandth of the gap are made that long: each start would take as many draws.
    pub fn with_means(gap: f64, on: f64, off: f64, seed: u64) -> OnOff {
        let mut random = StdRng::seed_from_u64(seed);
        let on = on.max(gap / 1000.0).max(1.0);
        let left = exponential(on, &mut random);
        OnOff { at: Exact::default(), gap: Exact::of(gap), left, on, off, random }
    }
}

impl Iterator for OnOff {
    type Item = Ticks;

    #[inline]
    fn next(&mut self) -> Option<Ticks> {
        let at = self.at;
        let mut wanted = self.gap;
        while wanted >= self.left {
            wanted = Exact(wanted.0 - self.left.0);
            let off = exponential(self.off, &mut self.random);
            self.at = self.at.after(self.left).after(off);
            self.left = exponential(self.on, &mut self.random);
        }
        self.at = self.at.after(wanted);
        self.left = Exact(self.left.0 - wanted.0);
        Some(at.ticks())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 148,809 a second on a counter of 2.1 GHz, as an exact fraction: the n-th is due at ⌊n · 2.1e9 / 148809⌋.
    #[test]
    fn a_regular_stream_does_not_drift() {
        let (hz, rate) = (2_100_000_000u128, 148_809u128);
        let starts = Regular::every(hz as f64 / rate as f64);
        for (n, start) in starts.take(10_000_001).enumerate().step_by(9_973) {
            let exact = n as u128 * hz / rate;
            // The gap itself is an f64: 2^-53 of 1.4e11 ticks is far below one, but may fall on the other side of a whole.
            assert!(start.abs_diff(exact as u64) <= 1, "{n}: {start} for {exact}");
        }
        // Where the gap is a whole number there is no rounding at all.
        assert_eq!(Regular::every(4200.0).nth(10_000_000), Some(42_000_000_000));
    }

    /// 100,000 gaps against the exponential distribution: Kolmogorov and Smirnov, 0.1 % point.
    #[test]
    fn gaps_of_a_poisson_stream_are_exponential() {
        let (mean, n) = (14_112.0, 100_000);
        for seed in 1..=3 {
            let mut last = 0;
            let mut gaps: Vec<f64> = Poisson::with_mean(mean, seed)
                .take(n)
                .map(|at| (at - std::mem::replace(&mut last, at)) as f64)
                .collect();
            gaps.sort_by(f64::total_cmp);
            let distance = gaps
                .iter()
                .enumerate()
                .map(|(i, gap)| {
                    let law = 1.0 - (-gap / mean).exp();
                    (law - i as f64 / n as f64).abs().max((law - (i + 1) as f64 / n as f64).abs())
                })
                .fold(0.0, f64::max);
            // Smirnov (1948), Annals of Mathematical Statistics 19:279: P(√n D > 1.949) = 0.001.
            assert!(distance * (n as f64).sqrt() < 1.949, "seed {seed}: {distance}");
        }
    }

    #[test]
    fn bursts_come_together_and_keep_the_rate() {
        let starts: Vec<Ticks> = Bursts::of(3, 2.0, 100.5).take(8).collect();
        assert_eq!(starts, [0, 2, 4, 100, 102, 104, 201, 203]);
        // Each takes longer than its period.
        let starts: Vec<Ticks> = Bursts::of(2, 10.0, 3.0).take(4).collect();
        assert_eq!(starts, [0, 10, 10, 20]);
    }

    #[test]
    fn a_stream_that_is_switched_keeps_its_mean_rate_and_its_gap() {
        let (gap, on, off, n) = (10.0, 1000.0, 3000.0, 400_000);
        let starts: Vec<Ticks> = OnOff::with_means(gap, on, off, 5).take(n).collect();
        assert!(starts.is_sorted());
        let rate = n as f64 / *starts.last().unwrap() as f64;
        // About n·gap/on = 4000 cycles; the squared variation of a cycle's off time is 1: five standard errors are 8 %.
        assert!((rate * gap * (on + off) / on - 1.0).abs() < 0.08, "{rate}");
        let regular = starts.windows(2).filter(|w| w[1] - w[0] == 10).count() as f64;
        assert!((regular / n as f64 - (-gap / on).exp()).abs() < 0.005, "{regular}");
    }

    #[test]
    fn gaps_that_are_no_times_end_nothing() {
        for gap in [-1.0, f64::NAN, f64::INFINITY, f64::MAX] {
            assert!(OnOff::with_means(gap, 10.0, 10.0, 1).take(3).is_sorted());
            assert!(Regular::every(gap).take(3).is_sorted());
            assert!(Poisson::with_mean(gap, 1).take(3).is_sorted());
            assert!(OnOff::with_means(10.0, gap, 10.0, 1).take(3).is_sorted());
        }
    }
}
