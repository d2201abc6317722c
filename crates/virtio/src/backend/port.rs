//! A tenant's queues, between the thread that sets them up and those that serve them.

use std::sync::MutexGuard;

use super::Ring;
use crate::courtesy::Courtesy;

/// A tenant's queues; those that do not run are absent. Who serves them holds the lock for a turn, and lets those go first who wait
/// for it, so that a queue stops promptly when it is told to.
#[derive(Debug)]
pub struct Port {
    rings: Courtesy<Vec<Option<Ring>>>,
}

impl Port {
    /// Of that many queues, none of which runs.
    pub(crate) fn new(queues: usize) -> Port {
        Port { rings: Courtesy::new((0..queues).map(|_| None).collect()) }
    }

    /// The queues. What a thread that panicked left is checked like anything that a guest could have written there.
    pub fn rings(&self) -> MutexGuard<'_, Vec<Option<Ring>>> {
        self.rings.lock()
    }

    /// The queues, for one who takes them again and again: after all who wait for them.
    pub fn rings_last(&self) -> MutexGuard<'_, Vec<Option<Ring>>> {
        self.rings.lock_last()
    }

    /// The queues, if nobody else has them just now.
    pub fn try_rings(&self) -> Option<MutexGuard<'_, Vec<Option<Ring>>>> {
        self.rings.try_lock()
    }
}
