//! Wakers that were called and may be of use once more: the same task often waits again at once, and need not clone its waker then.
//!
//! A waker may own its task, and the task what this is part of. So none is kept for long: whoever takes what comes [drops](Since::is_due) those that are
//! left whenever there is nothing to be taken, as before each sleep, and after so many turns if there always is.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::task::Waker;

/// After so many turns in which something came they are dropped nevertheless.
const TURNS: u32 = 256;

/// For how many turns wakers were kept.
#[derive(Default)]
struct Since(u32);

impl Since {
    /// Whether all are to be dropped, at the end of a turn in which `any` came.
    fn is_due(&mut self, any: bool) -> bool {
        self.0 += u32::from(any);
        !any || self.0 >= TURNS
    }
}

/// Each with a slot.
pub(super) struct WithSlots {
    places: Vec<Place>,
    /// Slots that one may be kept with, each once.
    listed: Vec<u16>,
    since: Since,
}

#[derive(Default)]
struct Place {
    waker: Option<Waker>,
    is_listed: bool,
}

impl WithSlots {
    pub fn new(slots: usize) -> WithSlots {
        let places = (0..slots).map(|_| Place::default()).collect();
        WithSlots { places, listed: Vec::with_capacity(slots), since: Since::default() }
    }

    /// Keeps the one of whoever had that slot; the one that is to be dropped for it.
    pub fn keeps(&mut self, slot: usize, waker: Waker) -> Option<Waker> {
        let place = &mut self.places[slot];
        if !place.is_listed {
            place.is_listed = true;
            self.listed.push(slot as u16);
        }
        place.waker.replace(waker)
    }

    /// The one that was kept with that slot, if it wakes the same task as this one.
    pub fn has(&mut self, slot: u16, waker: &Waker) -> Option<Waker> {
        self.places[usize::from(slot)].waker.take_if(|kept| kept.will_wake(waker))
    }

    /// One that is to be dropped at the end of a turn in which `any` came, until there is none.
    pub fn outdated(&mut self, any: bool) -> Option<Waker> {
        self.since.is_due(any).then(|| self.drops()).flatten()
    }

    /// One that is to be dropped, until there is none.
    pub fn drops(&mut self) -> Option<Waker> {
        while let Some(slot) = self.listed.pop() {
            let place = &mut self.places[usize::from(slot)];
            place.is_listed = false;
            if let Some(waker) = place.waker.take() {
                return Some(waker);
            }
        }
        self.since = Since::default();
        None
    }
}

/// In the order in which they were called, as tasks wait again in the same, as a rule.
pub(super) struct InOrder {
    wakers: VecDeque<Waker>,
    since: Since,
}

impl InOrder {
    /// So many at most.
    pub fn new(most: usize) -> InOrder {
        InOrder { wakers: VecDeque::with_capacity(most), since: Since::default() }
    }

    /// Keeps one; the one that is to be dropped for it.
    pub fn keeps(&mut self, waker: Waker) -> Option<Waker> {
        let first = if self.wakers.len() == self.wakers.capacity() { self.wakers.pop_front() } else { None };
        self.wakers.push_back(waker);
        first
    }

    /// The first one, if it wakes the same task as this one; else it is of no use, as tasks come in another order now.
    pub fn has(&mut self, waker: &Waker) -> Result<Waker, Option<Waker>> {
        match self.wakers.pop_front() {
            Some(kept) if kept.will_wake(waker) => Ok(kept),
            other => Err(other),
        }
    }

    /// One that is to be dropped at the end of a turn in which `any` came, until there is none.
    pub fn outdated(&mut self, any: bool) -> Option<Waker> {
        self.since.is_due(any).then(|| self.drops()).flatten()
    }

    /// One that is to be dropped, until there is none.
    pub fn drops(&mut self) -> Option<Waker> {
        let first = self.wakers.pop_front();
        if first.is_none() {
            self.since = Since::default();
        }
        first
    }
}
