//! The open loop: requests begin when a schedule says, whether or not earlier ones are answered.
//!
//! The schedule is computed beforehand, so that sending costs a comparison. Latency is counted from the intended start: a
//! sender that is late, because it was interrupted or because sending blocks, must not hide the wait it causes
//! ("coordinated omission"). How late it was is kept on its own.

use tollway_core::{Clock, Ticks};

use crate::{Poisson, Regular, wait_until};

/// When requests begin, in ticks after the start; rising.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    starts: Vec<Ticks>,
}

impl Schedule {
    /// Independent exponential gaps of this mean, in ticks: a Poisson stream. The same seed gives the same schedule.
    pub fn poisson(mean_gap: f64, requests: usize, seed: u64) -> Self {
        Self::of(Poisson::with_mean(mean_gap, seed), requests)
    }

    /// Always the same gap, in ticks, before the first one too.
    pub fn regular(gap: f64, requests: usize) -> Self {
        Self::of(Regular::every(gap).skip(1), requests)
    }

    /// The first so many of any stream.
    pub fn of(starts: impl Iterator<Item = Ticks>, requests: usize) -> Self {
        Schedule { starts: starts.take(requests).collect() }
    }

    /// The intended starts, in ticks after the start of the schedule.
    pub fn starts(&self) -> &[Ticks] {
        &self.starts
    }
}

/// How late a sender was, in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Lateness {
    /// On average.
    pub mean: f64,
    /// At worst.
    pub worst: Ticks,
}

/// Sends each request of the schedule at its time after `begin`, or as soon after that as it can. Spins meanwhile.
pub fn follow<C: Clock>(
    clock: C,
    begin: Ticks,
    schedule: &Schedule,
    mut send: impl FnMut(usize),
) -> Lateness {
    let (mut sum, mut worst) = (0.0, 0);
    for (number, start) in schedule.starts.iter().enumerate() {
        wait_until(clock, begin + start);
        let late = clock.now() - (begin + start);
        send(number);
        sum += late as f64;
        worst = worst.max(late);
    }
    Lateness { mean: sum / schedule.starts.len().max(1) as f64, worst }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    thread_local! {
        static NOW: Cell<Ticks> = const { Cell::new(0) };
    }

    /// A clock that a reading moves on by one.
    #[derive(Clone, Copy)]
    struct Steps;

    impl Clock for Steps {
        fn now(&self) -> Ticks {
            NOW.set(NOW.get() + 1);
            NOW.get()
        }
        fn open(&self) -> Ticks {
            self.now()
        }
        fn close(&self) -> Ticks {
            self.now()
        }
    }

    #[test]
    fn a_poisson_schedule_has_the_mean_and_the_spread_of_one() {
        let schedule = Schedule::poisson(1000.0, 100_000, 7);
        let gaps: Vec<f64> = schedule.starts().windows(2).map(|w| (w[1] - w[0]) as f64).collect();
        let n = gaps.len() as f64;
        let mean = gaps.iter().sum::<f64>() / n;
        let scv = gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / n / mean.powi(2);
        // Five standard errors: 1/√n of the mean, √(8/n) of the squared variation.
        assert!((mean / 1000.0 - 1.0).abs() < 5.0 / n.sqrt(), "{mean}");
        assert!((scv - 1.0).abs() < 5.0 * (8.0 / n).sqrt(), "{scv}");
        assert_eq!(schedule, Schedule::poisson(1000.0, 100_000, 7));
        assert_ne!(schedule, Schedule::poisson(1000.0, 100_000, 8));
    }

    #[test]
    fn gaps_shorter_than_a_tick_keep_the_rate() {
        assert_eq!(Schedule::regular(0.25, 8).starts(), [0, 0, 0, 1, 1, 1, 1, 2]);
    }

    #[test]
    fn a_sender_that_is_late_says_so_and_catches_up() {
        NOW.set(0);
        let schedule = Schedule::regular(100.0, 5);
        let mut sent = Vec::new();
        let lateness = follow(Steps, 0, &schedule, |number| {
            sent.push(NOW.get());
            if number == 1 {
                NOW.set(NOW.get() + 250);
            }
        });
        // The third is sent 150 late, the fourth 50, the fifth in time again.
        assert!(sent[2] >= 450 && sent[3] < 460 && (500..510).contains(&sent[4]), "{sent:?}");
        assert!((150..160).contains(&lateness.worst), "{lateness:?}");
    }
}
