//! When frames are due, as people say it: rates per second and stretches of time, made into the streams of ticks of
//! `tollway_load`.

use std::time::Duration;

use tollway_core::Ticks;
use tollway_load::{Bursts, OnOff, Poisson, Regular};

use super::GenerateError;

/// When frames are due. Rates are frames per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Schedule {
    /// As fast as the interface takes them.
    FullSpeed,
    /// Always the same gap: the n-th, counted from 0, is due n / rate seconds after the first.
    Constant {
        /// Frames per second.
        rate: f64,
    },
    /// Exponential gaps.
    Poisson {
        /// Frames per second on average.
        rate: f64,
    },
    /// So many one after the other, then a pause.
    Bursts {
        /// Frames per second on average: a burst begins every length / rate seconds.
        rate: f64,
        /// Frames of a burst.
        length: u64,
        /// Frames per second within a burst; `None`: as fast as the interface takes them. [`line_rate`](super::line_rate)
        /// says what a link of a given speed carries.
        peak: Option<f64>,
    },
    /// A constant rate, switched on and off for exponential stretches of time.
    OnOff {
        /// Frames per second on average.
        rate: f64,
        /// Mean stretch that is on.
        on: Duration,
        /// Mean stretch that is off.
        off: Duration,
    },
}

impl Schedule {
    /// Frames per second on average; `None` where the interface decides.
    pub fn rate(&self) -> Option<f64> {
        match *self {
            Schedule::FullSpeed => None,
            Schedule::Constant { rate }
            | Schedule::Poisson { rate }
            | Schedule::Bursts { rate, .. }
            | Schedule::OnOff { rate, .. } => Some(rate),
        }
    }

    /// The stream of due times on a clock of `hz` ticks per second.
    pub(super) fn arrivals(&self, hz: f64, seed: u64) -> Result<Arrivals, GenerateError> {
        let gap = |rate: f64| {
            // From a frame in a quarter of an hour to one in a nanosecond.
            if (1e-3..=1e9).contains(&rate) {
                return Ok(hz / rate);
            }
            Err(GenerateError::input(
                format!("a rate of {rate} frames/s"),
                "nothing can be sent at it",
                "give 0.001 to 1e9, or full speed",
            ))
        };
        Ok(match *self {
            Schedule::FullSpeed => Arrivals::Regular(Regular::every(0.0)),
            Schedule::Constant { rate } => Arrivals::Regular(Regular::every(gap(rate)?)),
            Schedule::Poisson { rate } => Arrivals::Poisson(Box::new(Poisson::with_mean(gap(rate)?, seed))),
            Schedule::Bursts { rate, length, peak } => {
                let within = peak.map_or(Ok(0.0), gap)?;
                let period = gap(rate)? * length as f64;
                if length == 0 || peak.is_some_and(|peak| peak < rate) {
                    return Err(GenerateError::input(
                        format!("bursts of {length} frames at {peak:?} frames/s, {rate} on average"),
                        "there are none such",
                        "give 1 frame or more, and a rate within bursts that is above the mean",
                    ));
                }
                Arrivals::Bursts(Bursts::of(length, within, period))
            }
            Schedule::OnOff { rate, on, off } => {
                let share = on.as_secs_f64() / (on.as_secs_f64() + off.as_secs_f64());
                let while_on = gap(rate)? * share;
                if on.is_zero() || on.as_secs_f64() * hz < while_on {
                    return Err(GenerateError::input(
                        format!("stretches of {on:?} on and {off:?} off at {rate} frames/s"),
                        "a stretch that is on has not one frame on average",
                        "make it longer, or the rate higher",
                    ));
                }
                let ticks = |stretch: Duration| stretch.as_secs_f64() * hz;
                Arrivals::OnOff(Box::new(OnOff::with_means(while_on, ticks(on), ticks(off), seed)))
            }
        })
    }
}

/// Due times in ticks after the start; rising, without end.
#[derive(Debug)]
pub(super) enum Arrivals {
    Regular(Regular),
    Poisson(Box<Poisson>),
    Bursts(Bursts),
    OnOff(Box<OnOff>),
}

impl Iterator for Arrivals {
    type Item = Ticks;

    #[inline]
    fn next(&mut self) -> Option<Ticks> {
        match self {
            Arrivals::Regular(stream) => stream.next(),
            Arrivals::Poisson(stream) => stream.next(),
            Arrivals::Bursts(stream) => stream.next(),
            Arrivals::OnOff(stream) => stream.next(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_schedule_keeps_its_rate() {
        let (hz, rate, n) = (2.1e9, 10_000.0, 100_000usize);
        let ms = Duration::from_millis;
        for schedule in [
            Schedule::Constant { rate },
            Schedule::Poisson { rate },
            Schedule::Bursts { rate, length: 50, peak: None },
            Schedule::Bursts { rate, length: 50, peak: Some(148_809.5) },
            Schedule::OnOff { rate, on: ms(1), off: ms(3) },
        ] {
            let mut stream = schedule.arrivals(hz, 3).unwrap();
            let last = stream.nth(n).unwrap() as f64;
            let seen = n as f64 / (last / hz);
            // On-off: 2500 cycles of squared variation about 1; five standard errors.
            assert!((seen / rate - 1.0).abs() < 0.1, "{schedule:?}: {seen}");
        }
    }

    #[test]
    fn what_cannot_be_followed_is_refused() {
        let ms = Duration::from_millis;
        for schedule in [
            Schedule::Constant { rate: 0.0 },
            Schedule::Constant { rate: -1.0 },
            Schedule::Poisson { rate: f64::NAN },
            Schedule::Poisson { rate: f64::INFINITY },
            Schedule::Bursts { rate: 10.0, length: 0, peak: None },
            Schedule::Bursts { rate: 10.0, length: 5, peak: Some(9.0) },
            Schedule::OnOff { rate: 10.0, on: ms(0), off: ms(10) },
            Schedule::OnOff { rate: 10.0, on: ms(0), off: ms(0) },
            Schedule::OnOff { rate: 1.0, on: ms(1), off: ms(1) },
        ] {
            let error = schedule.arrivals(2.1e9, 1).unwrap_err();
            assert!(matches!(error, GenerateError::Input { .. }), "{schedule:?}: {error}");
        }
    }
}
