//! sysbench's processor test: events a second.

use std::hint::black_box;
use std::time::Duration;

use tollway_core::{
    Actor, Address, Axis, Domain, Error, Params, Place, Plan, Recorder, Requirement, Result, Role, Unit,
    Value, Variant, Window, Yield,
};
use tollway_host::clock::RunClock;
use tollway_load::repeat;

use super::sysbench::Sysbench;
use crate::engine::cpu::events::{LIMIT, event, found};
use crate::engine::cpu::sysbench::{BESIDES, SYSBENCH};
use crate::{params, surroundings};

pub(super) struct Events;

impl Variant for Events {
    fn name(&self) -> &str {
        "events"
    }

    fn about(&self) -> &str {
        "events of sysbench's processor test: each finds the primes below a number by trial division"
    }

    fn caveats(&self) -> &str {
        "Threads beyond the processors share them, as sysbench's do. By sysbench a trial takes whole seconds, one at least, and latencies are those of its histogram, whose steps are 1.8 %; it does \
         not tell what it found."
    }

    fn axes(&self) -> Vec<Axis> {
        let mut axes = vec![
            Axis {
                name: "below",
                about: "the number below which an event finds the primes (sysbench: --cpu-max-prime)",
                domain: Domain::Whole(1, 10_000_000),
                default: Value::Int(LIMIT),
            },
            params::threads(),
            params::by(&[params::TOLLWAY, SYSBENCH.0]),
        ];
        axes.extend(surroundings::axes());
        axes
    }

    fn pinned(&self, params: Params) -> Result<Params> {
        params::threads_named(params)
    }

    fn plan(&self, params: &Params) -> Result<Plan> {
        let threads = params::threads_of(params)?;
        let mut requires = Vec::new();
        let role = if surroundings::by_a_tool(params)? {
            requires.push(Requirement::Program(SYSBENCH.0.into(), SYSBENCH.1.into()));
            Role::measured("sysbench")
        } else {
            Role { count: threads, ..Role::measured("thread") }
        };
        let plan = Plan {
            operation: "event".into(),
            roles: vec![role],
            gates: Vec::new(),
            provides: None,
            needs: Vec::new(),
            requires,
            guests: Vec::new(),
        };
        surroundings::settled(plan, params, None)
    }

    fn title(&self, params: &Params) -> Option<String> {
        let below = params.int("below").ok()?;
        let threads = params::threads_told(params);
        surroundings::titled(format!("events of primes below {below}{threads}"), params)
    }

    fn yields(&self, _: &Params) -> Vec<Yield> {
        vec![Yield::one(Unit::Events)]
    }

    fn patience(&self, params: &Params) -> Duration {
        // It runs for whole seconds, and is killed before its agent is.
        let by_sysbench = surroundings::by_a_tool(params).unwrap_or_default();
        if by_sysbench { BESIDES + Duration::from_secs(5) } else { Duration::ZERO }
    }

    fn actor(&self, _: &str, params: &Params) -> Result<Box<dyn Actor>> {
        let below = params.int("below")?;
        Ok(match surroundings::by_a_tool(params)? {
            true => Box::new(Sysbench::new(below, params::threads_of(params)?)),
            false => Box::new(Thread { below, events: 0, primes: 0 }),
        })
    }
}

struct Thread {
    below: u64,
    events: u64,
    primes: u64,
}

impl Actor for Thread {
    fn ready(&mut self, _: &Place) -> Result<Address> {
        Ok(Address::none())
    }

    fn run(&mut self, window: &Window, recorder: &mut Recorder) -> Result<()> {
        let below = self.below;
        let mut primes = 0u64;
        let mut one = || primes += event(black_box(below));
        self.events = repeat(RunClock::chosen(), window, recorder, &mut one);
        self.primes = primes;
        Ok(())
    }

    fn verify(&mut self) -> Result<()> {
        let known = found(self.below);
        if self.events > 0 && self.primes == self.events * known {
            return Ok(());
        }
        Err(Error::Wrong(format!(
            "{} events found {} primes, and each should have found {known}",
            self.events, self.primes
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prime_too_many_is_refused_and_so_is_no_event() {
        let verified = |events, primes| Thread { below: LIMIT, events, primes }.verify();
        assert_eq!(verified(3, 3 * 1228), Ok(()));
        for (events, primes) in [(0, 0), (3, 3 * 1228 + 1), (2, 3 * 1228)] {
            assert!(matches!(verified(events, primes), Err(Error::Wrong(_))), "{events} {primes}");
        }
    }
}
