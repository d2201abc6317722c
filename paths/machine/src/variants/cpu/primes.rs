//! The study's test of a processor: how long one thread takes to find the primes below a number.

use std::time::Duration;

use tollway_core::{
    Actor, Address, Axis, Clock, Domain, Error, Missing, Params, Place, Plan, Recorder, Requirement, Result,
    Role, Ticks, Value, Variant, Window,
};
use tollway_host::clock::{self, RunClock};
use tollway_host::cpu::allowed_cpus;
use tollway_load::{delay, wait_until};

use crate::engine::cpu::primes::{self, Count};
use crate::engine::cpu::python::{self, PYTHON};
use crate::engine::cpu::sieve::primes_below;
use crate::{params, surroundings};

/// The axis of what a count may take.
const BOX: &str = "box";

/// To start and end an interpreter besides.
const BESIDES: Duration = Duration::from_secs(30);

pub(super) struct Primes;

impl Variant for Primes {
    fn name(&self) -> &str {
        "primes"
    }

    fn about(&self) -> &str {
        "the primes below a number, each tried by every whole number up to its square root, by one thread"
    }

    fn caveats(&self) -> &str {
        "An operation is the whole count, which goes on beyond the window until it is done. What is not done within its box has no \
         figure: the point is skipped and says how far it came. python3 times itself, without the start of the interpreter."
    }

    fn axes(&self) -> Vec<Axis> {
        let mut axes = vec![
            Axis {
                name: "below",
                about: "the number below which primes are counted",
                domain: Domain::Whole(2, 1_000_000_000),
                default: Value::Int(1_000_000),
            },
            Axis {
                name: BOX,
                about: "what a count may take, in seconds",
                domain: Domain::Whole(1, 86_400),
                default: Value::Int(20),
            },
            params::by(&[params::TOLLWAY, PYTHON.0]),
        ];
        axes.extend(surroundings::axes());
        axes
    }

    fn plan(&self, params: &Params) -> Result<Plan> {
        let mut requires = Vec::new();
        if surroundings::by_a_tool(params)? {
            requires.push(Requirement::Program(PYTHON.0.into(), PYTHON.1.into()));
        }
        let plan = Plan {
            operation: format!("primes below {} counted", params.int("below")?),
            roles: vec![Role::measured("counter")],
            gates: Vec::new(),
            provides: None,
            needs: Vec::new(),
            requires,
            guests: Vec::new(),
        };
        surroundings::settled(plan, params, None)
    }

    fn title(&self, params: &Params) -> Option<String> {
        let below = match params.int("below").ok()? {
            millions if millions % 1_000_000 == 0 => format!("{} million", millions / 1_000_000),
            other => other.to_string(),
        };
        surroundings::titled(format!("primes below {below}"), params)
    }

    fn patience(&self, params: &Params) -> Duration {
        Duration::from_secs(params.int(BOX).unwrap_or_default()) + BESIDES
    }

    fn actor(&self, _: &str, params: &Params) -> Result<Box<dyn Actor>> {
        let below = params.int("below")?;
        Ok(Box::new(Counter {
            below: u32::try_from(below).map_err(|e| Error::system("reading the axis `below`", e))?,
            within: Duration::from_secs(params.int(BOX)?),
            by_python: surroundings::by_a_tool(params)?,
            counts: Vec::with_capacity(1024),
        }))
    }
}

struct Counter {
    below: u32,
    within: Duration,
    by_python: bool,
    counts: Vec<u64>,
}

impl Counter {
    fn once(&self, clock: RunClock, planted: u32) -> Result<(Count, Ticks)> {
        if self.by_python {
            let count = python::count(self.below, self.within, &allowed_cpus()?)?;
            return Ok((count, (count.took.as_secs_f64() * clock::hz()?) as Ticks));
        }
        let begun = clock.open();
        let count = primes::count(self.below, self.within);
        if planted > 0 {
            delay(planted);
        }
        Ok((count, clock.close().saturating_sub(begun)))
    }

    fn unfinished(&self, count: &Count) -> Error {
        Error::Missing(Missing::new(
            "time for the count",
            format!(
                "it was not done in {} s: it had come to {} of {}",
                self.within.as_secs(),
                count.reached,
                self.below
            ),
            format!("a larger `{BOX}`, or count fewer"),
        ))
    }
}

impl Actor for Counter {
    fn ready(&mut self, _: &Place) -> Result<Address> {
        if self.by_python {
            // Not within the window: it takes a while for the first time.
            clock::hz()?;
        }
        Ok(Address::none())
    }

    fn run(&mut self, window: &Window, recorder: &mut Recorder) -> Result<()> {
        let clock = RunClock::chosen();
        // A count is as warm at its end as another one would have made it at its beginning: none is thrown away.
        wait_until(clock, window.open);
        recorder.set_batch(1);
        while self.counts.is_empty() || clock.now() < window.close {
            let (count, ticks) = self.once(clock, window.planted)?;
            if count.reached < u64::from(self.below) {
                return Err(self.unfinished(&count));
            }
            self.counts.push(count.primes);
            recorder.sample(ticks);
        }
        recorder.took(recorder.total().1);
        Ok(())
    }

    fn verify(&mut self) -> Result<()> {
        let known = primes_below(u64::from(self.below));
        match self.counts.iter().find(|found| **found != known) {
            None if !self.counts.is_empty() => Ok(()),
            None => Err(Error::Wrong("no count was done".into())),
            Some(found) => Err(Error::Wrong(format!(
                "{found} primes below {} were found, and there are {known}",
                self.below
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counter(counts: &[u64]) -> Counter {
        Counter { below: 100, within: Duration::from_secs(1), by_python: false, counts: counts.to_vec() }
    }

    #[test]
    fn a_wrong_count_is_refused_and_so_is_none() {
        assert_eq!(counter(&[25, 25]).verify(), Ok(()));
        for counts in [&[][..], &[25, 26], &[24]] {
            assert!(matches!(counter(counts).verify(), Err(Error::Wrong(_))), "{counts:?}");
        }
    }
}
