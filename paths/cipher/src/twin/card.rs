//! The card: sleeps, serves, tells.

use std::collections::VecDeque;

use super::core::Core;
use super::run::{Event, World};

/// What the card does.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Doing {
    /// Somebody's request, which was to begin then.
    Serves(usize, f64),
    /// Writes an eventfd.
    Tells,
    Looks,
    Sleeps {
        since: f64,
    },
    /// Was kicked.
    Wakes,
}

/// The card, with one engine.
pub(super) struct Card<'p> {
    doing: Doing,
    sleeps: u64,
    /// Requests that stand there, since when as many, and nanoseconds that any did, all together.
    standing: (usize, f64, f64),
    /// Whether it has slept since the last request.
    cold: bool,
    /// Requests that lie there: whose, and when each was to begin.
    pub(super) asked: VecDeque<(usize, f64)>,
    pub(super) core: Core<'p>,
}

impl<'p> Card<'p> {
    pub(super) fn new(core: Core<'p>) -> Card<'p> {
        Card {
            doing: Doing::Looks,
            sleeps: 0,
            standing: (0, 0.0, 0.0),
            cold: false,
            asked: VecDeque::new(),
            core,
        }
    }

    /// One more stands there, or one less.
    fn stands(&mut self, now: f64, one: isize) {
        let (many, since, all) = self.standing;
        // Of what comes while it sleeps the card knows when it is awake.
        let known = if matches!(self.doing, Doing::Sleeps { .. } | Doing::Wakes) { 0 } else { many };
        self.standing = (many.saturating_add_signed(one), now, all + known as f64 * (now - since));
    }

    /// How many stood there, in the mean, since it was asked last, so many nanoseconds ago.
    pub(super) fn stood(&mut self, now: f64, ago: f64) -> f64 {
        self.stands(now, 0);
        std::mem::take(&mut self.standing.2) / ago.max(1.0)
    }

    /// Whether it is to be kicked for what lies there.
    pub(super) fn wants_kicks(&self) -> bool {
        matches!(self.doing, Doing::Sleeps { .. })
    }
}

impl World<'_> {
    /// The card has nothing under way.
    pub(super) fn card_steps(&mut self) {
        let now = self.now as u64;
        for tenant in 0..self.tenants.len() {
            if self.tenants[tenant].teller.is_due(now) && self.tells(tenant) {
                return;
            }
        }
        if let Some((tenant, start)) = self.card.asked.pop_front() {
            self.card.doing = Doing::Serves(tenant, start);
            let cold = if std::mem::take(&mut self.card.cold) { self.parts.cold } else { 0.0 };
            let long = self.draw(&self.parts.serve) + cold;
            let end = self.card.core.work(self.now, long);
            return self.plan(end, Event::Served);
        }
        let due = self.tenants.iter().filter_map(|tenant| tenant.teller.due()).min();
        let due = due.map(|due| (due as f64).max(self.now));
        if self.question.awake {
            self.card.doing = Doing::Looks;
            if let Some(due) = due {
                self.plan(due, Event::CardLooks);
            }
            return;
        }
        self.card.doing = Doing::Sleeps { since: self.now };
        self.card.sleeps += 1;
        self.card.cold = true;
        self.answer.card_sleeps += 1;
        if let Some(due) = due {
            self.plan(due, Event::CardDue(self.card.sleeps));
        }
    }

    /// Something is due to be told: the card wakes up by itself.
    pub(super) fn card_due(&mut self, number: u64) {
        let Doing::Sleeps { since } = self.card.doing else { return };
        if number == self.card.sleeps {
            self.card.doing = Doing::Wakes;
            let naps = if self.owner.is_none() { &self.parts.nap_idle } else { &self.parts.nap };
            let late = self.late(naps, self.now - since);
            self.plan(self.now + late, Event::CardWoke(number));
        }
    }

    /// Writes a tenant's eventfd, if that wants to be called: whether the card is at that for a while.
    fn tells(&mut self, tenant: usize) -> bool {
        // Once: then it has to ask again (VIRTIO 1.2, 2.7.7.2: `used_event` is passed).
        if !std::mem::take(&mut self.tenants[tenant].wants_calls) {
            return false;
        }
        self.answer.interrupts += 1;
        let is_shared = self.owner.is_some();
        let Some(slept) = self.called(tenant) else { return false };
        self.card.doing = Doing::Tells;
        let calls = if is_shared { &self.parts.call_shared } else { &self.parts.call };
        let long = self.late(calls, slept);
        let end = self.card.core.work(self.now, long);
        self.plan(end, Event::Served);
        true
    }

    /// The card's request is done, or it has told.
    pub(super) fn served(&mut self) {
        if let Doing::Serves(tenant, start) = self.card.doing {
            self.card.doing = Doing::Looks;
            self.card.stands(self.now, -1);
            self.tenants[tenant].done.push_back(start);
            self.looks_again(tenant);
            if self.tenants[tenant].teller.done(self.now as u64) && self.tells(tenant) {
                return;
            }
        }
        self.card_steps();
    }

    /// Something lies there now.
    pub(super) fn asked(&mut self, tenant: usize, start: f64) {
        self.card.asked.push_back((tenant, start));
        self.card.stands(self.now, 1);
        if self.card.doing == Doing::Looks {
            self.plan(self.now, Event::CardLooks);
        }
    }

    /// The card, looking, may find something.
    pub(super) fn card_looks(&mut self) {
        if self.card.doing != Doing::Looks {
            return;
        }
        match self.card.core.free(self.now) {
            runs if runs > self.now => self.plan(runs, Event::CardLooks),
            _ => self.card_steps(),
        }
    }

    /// Somebody kicks the card, which sleeps; how long that takes.
    pub(super) fn kicked(&mut self) -> f64 {
        let Doing::Sleeps { since } = self.card.doing else { return 0.0 };
        self.card.doing = Doing::Wakes;
        self.card.sleeps += 1;
        let late = self.late(&self.parts.card, self.now - since);
        self.plan(self.now + late, Event::CardWoke(self.card.sleeps));
        self.late(&self.parts.kick, self.now - since)
    }

    pub(super) fn card_woke(&mut self, number: u64) {
        if number == self.card.sleeps {
            self.card.stands(self.now, 0);
            self.card_steps();
        }
    }
}
