//! Tasks that wait for one of several alike: each that comes wakes the first in line, and is kept for it. Who comes later, or has just had one, does not take
//! it away.
//!
//! A waker is foreign code: its clone, its drop and its wake may come back to what the line is part of. So none of them is called here, where that is
//! borrowed: wakers are handed in ready-made, and what is to be dropped or woken is handed out.

use alloc::collections::VecDeque;
use core::task::Waker;

/// Who waits, the first first; their tickets grow.
#[derive(Default)]
pub(crate) struct Line {
    waiting: VecDeque<(u64, Waker)>,
    joined: u64,
    /// How many were called and have not come yet.
    called: usize,
}

/// How who has a ticket stands in line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stands {
    /// It waits, and is woken by the waker that was asked about.
    Waits,
    /// It waits, but another waker is woken.
    Otherwise,
    /// It was called: one is kept for it until it was [served](Line::serves), or [leaves](Line::leave).
    Called,
}

/// What is to be done when one has left.
#[derive(Default)]
pub(crate) struct Left {
    /// The waker by which it waited: to be dropped.
    pub own: Option<Waker>,
    /// Who comes in its place: to be woken.
    pub next: Option<Waker>,
}

impl Line {
    /// Whether one of so many that are there is for who does not stand in line.
    pub fn leaves_one_of(&self, there: usize) -> bool {
        there > self.called
    }

    /// Who was called takes what was kept for it.
    pub fn serves(&mut self) {
        self.called -= 1;
    }

    /// Waits from now on, behind all others; its ticket.
    pub fn join(&mut self, waker: Waker) -> u64 {
        self.joined += 1;
        self.waiting.push_back((self.joined, waker));
        self.joined
    }

    /// Whether it waits still, and by that waker.
    pub fn stands(&self, ticket: u64, waker: &Waker) -> Stands {
        match self.place(ticket) {
            Some(at) if self.waiting[at].1.will_wake(waker) => Stands::Waits,
            Some(_) => Stands::Otherwise,
            None => Stands::Called,
        }
    }

    /// It is woken by that waker from now on. The one that is not needed is to be dropped: the old one, or this if it was called.
    pub fn renew(&mut self, ticket: u64, waker: Waker) -> Waker {
        match self.place(ticket) {
            Some(at) => core::mem::replace(&mut self.waiting[at].1, waker),
            None => waker,
        }
    }

    /// Waits no longer. If it had been called by then, the next one is to take its place.
    pub fn leave(&mut self, ticket: u64) -> Left {
        match self.place(ticket) {
            Some(at) => Left { own: self.waiting.remove(at).map(|(_, waker)| waker), next: None },
            None => {
                self.serves();
                Left { own: None, next: self.call() }
            }
        }
    }

    /// The first one waits no longer, and is to be woken.
    pub fn call(&mut self) -> Option<Waker> {
        let (_, waker) = self.waiting.pop_front()?;
        self.called += 1;
        Some(waker)
    }

    fn place(&self, ticket: u64) -> Option<usize> {
        self.waiting.binary_search_by_key(&ticket, |(of, _)| *of).ok()
    }
}

impl Left {
    /// Drops the one, wakes the other. Nothing of the line may be borrowed.
    pub fn settle(self) {
        drop(self.own);
        self.next.into_iter().for_each(Waker::wake);
    }
}
