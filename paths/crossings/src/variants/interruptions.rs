//! What takes the core from a thread that never gives it away: interrupts, other threads, a hypervisor's other guests.

use std::time::Duration;

use tollway_core::{
    Actor, Address, Clock, Crossing, Error, Gate, Params, Place, Plan, Recorder, Requirement, Result, Role,
    Taken, Tally, Ticks, TollKey, Variant, Window,
};
use tollway_host::clock::{RunClock, hz};
use tollway_host::gap::{self, Gaps};
use tollway_load::wait_until;

const WATCHER: &str = "watcher";

/// How long a trial goes on in which nothing happens.
const PATIENCE: Duration = Duration::from_secs(2);

/// Pieces of so many nanoseconds and more are told one by one: ticks are shorter.
const LONG_NS: f64 = 100e3;

/// A thread on each of two cores that does nothing but read the clock.
pub(super) struct Interruptions;

impl Variant for Interruptions {
    fn name(&self) -> &str {
        Crossing::Interruption.name()
    }

    fn about(&self) -> &str {
        Crossing::Interruption.title()
    }

    fn caveats(&self) -> &str {
        "Stretches of more than 2 µs between two readings of the clock in a row, on two cores at once: timer ticks, other interrupts, \
         other threads, exits to a hypervisor, time that it gives others. The figure is how long one is; how many there are is \
         counted, beside the nanoseconds watched; those of 100 µs and more are kept one by one, with when they came. Shorter ones are not seen."
    }

    fn plan(&self, _: &Params) -> Result<Plan> {
        let key = TollKey::of(Crossing::Interruption);
        Ok(Plan {
            operation: "interruption".into(),
            roles: vec![Role { count: 2, ..Role::measured(WATCHER) }],
            gates: vec![Gate::new(self.name(), WATCHER, key.clone())],
            provides: Some(key),
            needs: Vec::new(),
            requires: vec![Requirement::Cores(2)],
            guests: Vec::new(),
        })
    }

    fn actor(&self, _: &str, _: &Params) -> Result<Box<dyn Actor>> {
        Ok(Box::new(Watcher { hz: 0.0, gaps: Gaps::default(), long: Vec::new() }))
    }
}

struct Watcher {
    hz: f64,
    gaps: Gaps,
    long: Vec<Taken>,
}

impl Actor for Watcher {
    fn ready(&mut self, _: &Place) -> Result<Address> {
        self.hz = hz()?;
        Ok(Address::none())
    }

    fn run(&mut self, window: &Window, recorder: &mut Recorder) -> Result<()> {
        let (clock, threshold) = (RunClock::chosen(), gap::threshold(self.hz));
        recorder.set_batch(1);
        let ns = |ticks: Ticks| ticks as f64 / self.hz * 1e9;
        // What comes while a list grows is no interruption.
        self.long.reserve(1 << 14);
        wait_until(clock, window.open);
        let last = window.close.saturating_add((PATIENCE.as_secs_f64() * self.hz) as u64);
        let mut until = window.close;
        // A sample at least: where ticks are rare a window may have none.
        while self.gaps.count == 0 && until <= last {
            self.gaps += gap::watch_each(clock, until, threshold, |begun, ticks| {
                recorder.sample(ticks);
                if ns(ticks) >= LONG_NS && begun < window.close && self.long.len() < self.long.capacity() {
                    let at = ns(begun.saturating_sub(window.open)) as u64;
                    self.long.push(Taken { at, long: ns(ticks) as u64 });
                }
            });
            until = clock.now() + (last - window.close) / 100;
        }
        Ok(())
    }

    fn verify(&mut self) -> Result<()> {
        if self.gaps.count > 0 {
            return Ok(());
        }
        Err(Error::Wrong(format!("nothing took the core away for {PATIENCE:?}: there is nothing to measure")))
    }

    fn tally(&mut self) -> Tally {
        let watched = self.gaps.watched.saturating_sub(self.gaps.lost) as f64 / self.hz * 1e9;
        let counted = Tally::default().counter("operations", self.gaps.count);
        Tally { taken: vec![std::mem::take(&mut self.long)], ..counted }
            .counter("watched_nanoseconds", watched as u64)
    }
}
