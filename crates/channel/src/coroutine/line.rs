//! Tasks that wait for one of several alike: each that comes wakes the first in line.

use alloc::collections::VecDeque;
use core::task::Waker;

/// Who waits, the first first.
#[derive(Default)]
pub struct Line {
    waiting: VecDeque<(u64, Waker)>,
    joined: u64,
}

impl Line {
    /// Waits from now on, behind all others; its ticket.
    pub fn join(&mut self, waker: Waker) -> u64 {
        self.joined += 1;
        self.waiting.push_back((self.joined, waker));
        self.joined
    }

    /// Whether it waits still; it is woken by that waker then.
    pub fn waits(&mut self, ticket: u64, waker: &Waker) -> bool {
        let place = self.waiting.iter_mut().find(|(of, _)| *of == ticket);
        place.map(|(_, old)| old.clone_from(waker)).is_some()
    }

    /// Waits no longer. Who had been called by then is to be taken the place of: the next one is to be woken.
    pub fn leave(&mut self, ticket: u64) -> Option<Waker> {
        match self.waiting.iter().position(|(of, _)| *of == ticket) {
            Some(at) => {
                self.waiting.remove(at);
                None
            }
            None => self.call(),
        }
    }

    /// The first one waits no longer, and is to be woken.
    pub fn call(&mut self) -> Option<Waker> {
        self.waiting.pop_front().map(|(_, waker)| waker)
    }
}
