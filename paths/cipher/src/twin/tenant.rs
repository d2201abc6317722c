//! The tenant's thread: sends, takes, sleeps.

use std::collections::VecDeque;

use tollway_load::Poisson;

use super::Question;
use super::run::{Event, World};
use crate::engine::device::Teller;
use crate::engine::driver::Waiting;

/// What a tenant does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum State {
    /// A step, or it waits for its core.
    Runs,
    /// Looks without pause.
    Looks,
    /// Until it is called, or something is due.
    Sleeps { since: f64 },
    /// For a while; nobody calls it.
    Naps { since: f64 },
    /// Was called.
    Wakes,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    Submits(f64),
    Takes(f64),
    Kicks,
    Wakes,
}

/// A tenant with one thread.
pub(super) struct Tenant {
    pub(super) state: State,
    step: Step,
    /// Which sleep or look it is.
    number: u64,
    /// None of one that loops.
    starts: Option<Poisson>,
    /// When the next request is to begin.
    due: f64,
    /// Results that lie there: when each request was to begin.
    pub(super) done: VecDeque<f64>,
    /// Whether something lies in the queue that the card was not kicked for.
    unseen: bool,
    pub(super) wants_calls: bool,
    /// Whether its core was another's when it was called.
    switches: bool,
    /// Whether it was called and has not slept since: its next sleep is none.
    was_called: bool,
    /// The card's rule for it.
    pub(super) teller: Teller,
}

impl Tenant {
    pub(super) fn new(question: &Question, seed: u64) -> Tenant {
        let mut starts = (question.rate > 0.0).then(|| Poisson::with_mean(1e9 / question.rate, seed));
        let due = starts.as_mut().map_or(0.0, next);
        Tenant {
            state: State::Runs,
            step: Step::Kicks,
            number: 0,
            starts,
            due,
            done: VecDeque::new(),
            unseen: false,
            wants_calls: question.waiting == Waiting::Interrupt,
            switches: false,
            was_called: false,
            teller: Teller::new(question.delivery.clone()),
        }
    }
}

fn next(starts: &mut Poisson) -> f64 {
    starts.next().map_or(f64::INFINITY, |at| at as f64)
}

impl World<'_> {
    /// The core goes to whoever has waited for it longest.
    pub(super) fn next_tenant(&mut self) {
        self.owner = self.ready.pop_front();
        let Some(at) = self.owner else { return };
        if !std::mem::take(&mut self.tenants[at].switches) {
            return self.steps(at);
        }
        self.tenants[at].step = Step::Wakes;
        let long = self.draw(&self.parts.switch);
        let end = self.core.work(self.now, long);
        self.plan(end, Event::Stepped(at));
    }

    /// A tenant has the core and nothing under way.
    fn steps(&mut self, at: usize) {
        let tenant = &mut self.tenants[at];
        tenant.state = State::Runs;
        let kicks = std::mem::take(&mut tenant.unseen) && self.card.wants_kicks();
        let long = if kicks {
            tenant.step = Step::Kicks;
            self.kicked()
        } else if let Some(start) = tenant.done.pop_front() {
            tenant.step = Step::Takes(start);
            self.draw(&self.parts.take)
        } else if tenant.due <= self.now {
            tenant.step = Step::Submits(tenant.due);
            tenant.due = tenant.starts.as_mut().map_or(f64::INFINITY, next);
            self.draw(&self.parts.submit)
        } else {
            return self.rests(at);
        };
        let end = self.core.work(self.now, long);
        self.plan(end, Event::Stepped(at));
    }

    pub(super) fn stepped(&mut self, at: usize) {
        match self.tenants[at].step {
            Step::Submits(start) => {
                self.tenants[at].unseen = true;
                self.asked(at, start);
            }
            Step::Takes(start) => {
                let tenant = &mut self.tenants[at];
                tenant.wants_calls |= self.question.waiting == Waiting::Interrupt;
                if tenant.starts.is_none() {
                    tenant.due = self.now;
                }
                self.count(start);
            }
            Step::Kicks | Step::Wakes => {}
        }
        self.steps(at);
    }

    fn rests(&mut self, at: usize) {
        let due = self.tenants[at].due;
        match self.question.waiting {
            Waiting::Busy => self.looks(at, due),
            Waiting::Hybrid(spin) => self.looks(at, due.min(self.now + spin.as_nanos() as f64)),
            Waiting::Interrupt | Waiting::Epoll => self.sleeps(at),
            Waiting::Periodic(period) => {
                let long = (period.as_nanos() as f64).min(due - self.now);
                self.falls_asleep(at, State::Naps { since: self.now }, self.now + long);
            }
        }
    }

    fn looks(&mut self, at: usize, until: f64) {
        let tenant = &mut self.tenants[at];
        tenant.state = State::Looks;
        tenant.number += 1;
        // Looking is work for its core.
        self.core.busy -= self.now;
        let number = tenant.number;
        self.plan(until, Event::Looked(at, number));
    }

    /// One that looks may find something from now on.
    pub(super) fn looks_again(&mut self, at: usize) {
        let Tenant { state, number, .. } = self.tenants[at];
        if state == State::Looks {
            self.plan(self.now, Event::Looked(at, number));
        }
    }

    pub(super) fn looked(&mut self, at: usize, number: u64) {
        let tenant = &self.tenants[at];
        if tenant.state != State::Looks || tenant.number != number {
            return;
        }
        let runs = self.core.free(self.now);
        if runs > self.now {
            return self.plan(runs, Event::Looked(at, number));
        }
        let tenant = &self.tenants[at];
        self.core.busy += self.now;
        match self.question.waiting {
            Waiting::Hybrid(_) if tenant.done.is_empty() && tenant.due > self.now => self.sleeps(at),
            _ => self.steps(at),
        }
    }

    fn sleeps(&mut self, at: usize) {
        let tenant = &mut self.tenants[at];
        tenant.wants_calls = true;
        if std::mem::take(&mut tenant.was_called) {
            self.answer.sleeps += 1;
        }
        let due = tenant.due;
        self.falls_asleep(at, State::Sleeps { since: self.now }, due);
    }

    fn falls_asleep(&mut self, at: usize, state: State, until: f64) {
        let tenant = &mut self.tenants[at];
        tenant.state = state;
        tenant.number += 1;
        let number = tenant.number;
        self.answer.sleeps += 1;
        self.plan(until, Event::Due(at, number));
        self.next_tenant();
    }

    /// A tenant's sleep is to end: it wakes up by itself.
    pub(super) fn due(&mut self, at: usize, number: u64) {
        let tenant = &mut self.tenants[at];
        if tenant.number != number {
            return;
        }
        let (State::Sleeps { since } | State::Naps { since }) = tenant.state else { return };
        tenant.state = State::Wakes;
        let is_idle = self.owner.is_none() && self.card.wants_kicks();
        let naps = if is_idle { &self.parts.nap_idle } else { &self.parts.nap };
        let late = self.late(naps, self.now - since);
        self.plan(self.now + late, Event::Woke(at, number));
    }

    /// The card calls a tenant; how long that had slept, if it did.
    pub(super) fn called(&mut self, at: usize) -> Option<f64> {
        let tenant = &mut self.tenants[at];
        let State::Sleeps { since } = tenant.state else {
            tenant.was_called = self.question.waiting == Waiting::Interrupt;
            return None;
        };
        tenant.state = State::Wakes;
        tenant.number += 1;
        let number = tenant.number;
        // A core that somebody else has need not be woken.
        tenant.switches = self.owner.is_some();
        let late = match self.owner {
            Some(_) => 0.0,
            None => self.late(&self.parts.tenant, self.now - since),
        };
        self.plan(self.now + late, Event::Woke(at, number));
        Some(self.now - since)
    }

    pub(super) fn woke(&mut self, at: usize, number: u64) {
        let tenant = &mut self.tenants[at];
        if tenant.number != number {
            return;
        }
        tenant.state = State::Runs;
        tenant.number += 1;
        if self.question.waiting != Waiting::Interrupt {
            tenant.wants_calls = false;
        }
        self.ready.push_back(at);
        if self.owner.is_none() {
            self.next_tenant();
        }
    }
}
