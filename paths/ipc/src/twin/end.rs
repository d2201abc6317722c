//! One end: the messages on their way to it, and how it waits for them.

use std::collections::VecDeque;

use super::Patience;

/// After so many waits in vain a phase is left out, and tried again after twice as many, at the latest once in so many: as `tollway_channel::wait` has it.
const VAIN: u32 = 16;
pub(super) const AGAIN: u32 = 2048;

/// What one phase of waiting has been good for.
#[derive(Clone, Copy, Debug, Default)]
struct Use(u32);

impl Use {
    fn is_tried(self) -> bool {
        self.0 < VAIN || self.0.is_power_of_two() || self.0.is_multiple_of(AGAIN)
    }

    fn had(&mut self, success: bool) {
        self.0 = if success { 0 } else { self.0.wrapping_add(1).max(1) };
    }
}

/// What an end does.
#[derive(Clone, Copy, Debug)]
enum State {
    /// Something, until its time.
    Busy,
    /// It waits: since then it looks, from then it gives way, and from then it sleeps.
    Waits { gives_way: f64, sleeps: f64 },
}

/// An end.
#[derive(Debug)]
pub(super) struct End {
    patience: Patience,
    /// What giving way takes.
    call: f64,
    /// From when on each message is to be seen.
    inbox: VecDeque<f64>,
    /// When it is done with what it does.
    pub(super) now: f64,
    state: State,
    /// Since when it does something; that may be to come, as what it waits for is on its way.
    begun: f64,
    /// Whether it has written something since it looked whether the other end sleeps.
    pub(super) owes: bool,
    /// Whether it looks now, although there may be more for it to do.
    pub(super) is_hinting: bool,
    /// Whether it has had messages since it was last idle.
    pub(super) is_in_round: bool,
    looking: Use,
    giving_way: Use,
    pub(super) notices: u64,
    pub(super) yields: u64,
    pub(super) sleeps: u64,
}

impl End {
    pub(super) fn new(patience: Patience, call: f64) -> End {
        End {
            patience,
            call,
            inbox: VecDeque::new(),
            now: 0.0,
            state: State::Busy,
            begun: 0.0,
            owes: false,
            is_hinting: false,
            is_in_round: false,
            looking: Use::default(),
            giving_way: Use::default(),
            notices: 0,
            yields: 0,
            sleeps: 0,
        }
    }

    pub(super) fn is_waiting(&self) -> bool {
        matches!(self.state, State::Waits { .. })
    }

    /// Whether it does something then, and for longer.
    pub(super) fn is_busy_at(&self, time: f64) -> bool {
        !self.is_waiting() && (self.begun..self.now).contains(&time)
    }

    /// Whether it sleeps then, and has to be woken.
    pub(super) fn sleeps_at(&self, time: f64) -> bool {
        matches!(self.state, State::Waits { sleeps, .. } if sleeps <= time)
    }

    /// A message that it sees from then on.
    pub(super) fn gets(&mut self, seen: f64) {
        self.inbox.push_back(seen);
        if let State::Waits { sleeps, .. } = self.state
            && seen <= sleeps
        {
            self.finds(seen);
        }
    }

    /// The first message that is to be seen by now.
    pub(super) fn takes(&mut self) -> bool {
        self.inbox.pop_front_if(|seen| *seen <= self.now).is_some()
    }

    /// Whether there is nothing for it to do.
    pub(super) fn is_idle(&self) -> bool {
        !self.is_in_round && self.inbox.front().is_none_or(|seen| *seen > self.now)
    }

    /// It has nothing to do. `woken` says whether the other end has still to look whether it sleeps.
    pub(super) fn waits(&mut self, woken: bool) {
        let spin = if self.looking.is_tried() { self.patience.spin } else { 0.0 };
        let calls = if self.giving_way.is_tried() { f64::from(self.patience.yields) } else { 0.0 };
        let gives_way = self.now + spin;
        let sleeps = gives_way + calls * self.call;
        self.state = State::Waits { gives_way, sleeps };
        // What was written before, and will not be told, it finds at its last look at the latest.
        if let Some(seen) = self.inbox.front().copied()
            && (seen <= sleeps || !woken)
        {
            self.finds(seen);
        }
    }

    /// The other end has looked, and it did not sleep yet: what is on its way it finds at its last look, before it sleeps.
    pub(super) fn is_left_awake(&mut self) {
        if self.is_waiting()
            && let Some(seen) = self.inbox.front().copied()
        {
            self.finds(seen);
        }
    }

    /// A message ends its wait before it sleeps.
    fn finds(&mut self, seen: f64) {
        let State::Waits { gives_way, sleeps } = self.state else { return };
        let by_looking = seen <= gives_way;
        self.looking.had(by_looking);
        if !by_looking {
            let by_giving_way = seen <= sleeps;
            self.giving_way.had(by_giving_way);
            self.yields += u64::from(by_giving_way);
        }
        self.now = self.now.max(seen);
        (self.begun, self.state) = (self.now, State::Busy);
    }

    /// It is woken, and runs from then on.
    pub(super) fn is_woken(&mut self, runs: f64) {
        self.looking.had(false);
        self.giving_way.had(false);
        self.sleeps += 1;
        self.now = runs;
        (self.begun, self.state) = (self.now, State::Busy);
    }
}
