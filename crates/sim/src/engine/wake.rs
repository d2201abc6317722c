//! Servers that sleep: what they wait for when they ran out of work, and how they wake.
//!
//! A server sleeps from the beginning and whenever nobody waits any more. If it has a `spin`, it first looks without
//! pause for so long and serves at once whoever comes meanwhile. Asleep, it is woken when `count` customers wait, or when
//! the first of them has waited for `timer`, whichever is first; with `poll` it looks by itself at the end of each such
//! time and wakes if anybody is there; with none of these the first customer wakes it. Woken, it needs `setup` before
//! its first service.

use rand_distr::Distribution as _;

use super::{Cause, Engine};
use crate::error::Flow;
use crate::sampler::Sampler;
use crate::stream::Stream;
use crate::system::WakePlan;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Awake,
    Spinning,
    Asleep,
    SettingUp,
}

/// The sleep of a station's only server.
pub(super) struct Sleeper<'s> {
    plan: &'s WakePlan,
    state: State,
    /// Slot of the timer, the end of set-up, the end of spinning.
    alarm: usize,
    /// Slot of the next look.
    poll: usize,
    asleep_since: f64,
    pub(super) wakes: u64,
    /// Looks; more of them than an integer holds, where a period is short and nobody comes for long.
    pub(super) polls: f64,
    pub(super) setups: u64,
    spun: f64,
    spinning_since: f64,
}

impl<'s> Sleeper<'s> {
    pub(super) fn new(engine: &mut Engine<'s>, i: usize, plan: &'s WakePlan) -> Flow<Self> {
        Ok(Sleeper {
            plan,
            state: State::Asleep,
            alarm: engine.slot(Cause::Alarm, i)?,
            poll: engine.slot(Cause::Poll, i)?,
            asleep_since: 0.0,
            wakes: 0,
            polls: 0.0,
            setups: 0,
            spun: 0.0,
            spinning_since: 0.0,
        })
    }

    /// Seconds of spinning until now.
    pub(super) fn spinning(&self, now: f64) -> f64 {
        self.spun + if self.state == State::Spinning { now - self.spinning_since } else { 0.0 }
    }
}

/// Whether looks that find nobody need not happen one by one.
fn can_be_skipped(poll: &Sampler) -> bool {
    matches!(poll, Sampler::Constant(_) | Sampler::Exponential(_))
}

/// How often a server looked that slept for so long, and how much later it looks next. A look at the very moment is over.
fn skip(poll: &Sampler, asleep: f64, stream: &mut Stream) -> (f64, f64) {
    match poll {
        Sampler::Constant(period) => {
            let looks = (asleep / period).floor();
            (looks, ((looks + 1.0) * period - asleep).clamp(0.0, *period))
        }
        // Without memory, the looks until now say nothing about the next one.
        Sampler::Exponential(mean) => {
            let looks = rand_distr::Poisson::new(asleep / mean).map(|law| law.sample(&mut stream.generator));
            // So many that their number is certain have no law.
            (looks.unwrap_or(asleep / mean), poll.draw(stream))
        }
        _ => (0.0, poll.draw(stream)),
    }
}

impl Engine<'_> {
    /// The server of the station sleeps from the beginning, if it does at all.
    pub(super) fn start_sleep(&mut self, i: usize) {
        if self.stations[i].sleeper.is_some() {
            self.sleep(i);
        }
    }

    fn sleep(&mut self, i: usize) {
        let station = &mut self.stations[i];
        let Some(sleeper) = &mut station.sleeper else { return };
        sleeper.state = State::Asleep;
        sleeper.asleep_since = self.now;
        if let Some(poll) = &sleeper.plan.poll
            && !can_be_skipped(poll)
        {
            self.calendar.set(sleeper.poll, self.now + poll.draw(&mut station.stream));
        }
    }

    /// Whether the server serves; customers who wait may wake it.
    pub(super) fn is_awake(&mut self, i: usize) -> bool {
        let now = self.now;
        let station = &mut self.stations[i];
        let waiting = station.waiting();
        let Some(sleeper) = &mut station.sleeper else { return true };
        match sleeper.state {
            State::Awake => true,
            State::SettingUp => false,
            State::Spinning => {
                if waiting > 0 {
                    sleeper.spun += now - sleeper.spinning_since;
                    sleeper.state = State::Awake;
                    self.calendar.cancel(sleeper.alarm);
                }
                waiting > 0
            }
            State::Asleep => {
                let WakePlan { count, timer, poll, .. } = sleeper.plan;
                let at_once = count.is_none() && timer.is_none() && poll.is_none();
                if waiting > 0 && at_once || count.is_some_and(|count| waiting >= count) {
                    return self.wake(i);
                }
                if let Some(poll) = poll
                    && waiting > 0
                    && can_be_skipped(poll)
                    && self.calendar.time(sleeper.poll) == f64::INFINITY
                {
                    let (looks, wait) = skip(poll, now - sleeper.asleep_since, &mut station.stream);
                    sleeper.polls += looks;
                    self.calendar.set(sleeper.poll, now + wait);
                }
                if let Some(timer) = timer
                    && waiting > 0
                    && self.calendar.time(sleeper.alarm) == f64::INFINITY
                {
                    self.calendar.set(sleeper.alarm, now + timer);
                }
                false
            }
        }
    }

    /// Wakes the server; whether it is awake at once.
    fn wake(&mut self, i: usize) -> bool {
        let station = &mut self.stations[i];
        let Some(sleeper) = &mut station.sleeper else { return true };
        sleeper.wakes += 1;
        self.calendar.cancel(sleeper.alarm);
        self.calendar.cancel(sleeper.poll);
        match &sleeper.plan.setup {
            None => sleeper.state = State::Awake,
            Some(setup) => {
                sleeper.setups += 1;
                sleeper.state = State::SettingUp;
                self.calendar.set(sleeper.alarm, self.now + setup.draw(&mut station.stream));
            }
        }
        sleeper.state == State::Awake
    }

    /// A server that has nothing more to do goes on looking, or sleeps.
    pub(super) fn fall_asleep_if_idle(&mut self, i: usize) {
        let station = &mut self.stations[i];
        if station.inside > 0 {
            return;
        }
        let Some(sleeper) = &mut station.sleeper else { return };
        match sleeper.plan.spin {
            None => self.sleep(i),
            Some(spin) => {
                sleeper.state = State::Spinning;
                sleeper.spinning_since = self.now;
                self.calendar.set(sleeper.alarm, self.now + spin);
            }
        }
    }

    /// The end of spinning, of a timer or of a set-up.
    pub(super) fn alarm(&mut self, i: usize) -> Flow {
        let station = &mut self.stations[i];
        let Some(sleeper) = &mut station.sleeper else { return Ok(()) };
        self.calendar.cancel(sleeper.alarm);
        station.pass(self.now);
        let Some(sleeper) = &mut self.stations[i].sleeper else { return Ok(()) };
        match sleeper.state {
            State::Spinning => {
                sleeper.spun += self.now - sleeper.spinning_since;
                self.sleep(i);
                Ok(())
            }
            State::Asleep => {
                self.wake(i);
                self.serve_waiting(i)
            }
            State::SettingUp | State::Awake => {
                sleeper.state = State::Awake;
                self.serve_waiting(i)
            }
        }
    }

    /// The server looks whether anybody is there.
    pub(super) fn poll(&mut self, i: usize) -> Flow {
        self.looks += 1;
        let station = &mut self.stations[i];
        station.pass(self.now);
        let waiting = station.waiting();
        let Some(sleeper) = &mut station.sleeper else { return Ok(()) };
        sleeper.polls += 1.0;
        if waiting > 0 {
            self.wake(i);
            return self.serve_waiting(i);
        }
        let Some(poll) = &sleeper.plan.poll else { return Ok(()) };
        self.calendar.set(sleeper.poll, self.now + poll.draw(&mut station.stream));
        Ok(())
    }
}
