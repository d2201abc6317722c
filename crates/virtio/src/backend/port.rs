//! A tenant's queues, between the thread that sets them up and those that serve them.

use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use super::Ring;

/// A tenant's queues; those that do not run are absent. The lock is held for one buffer, or a part of a large one, so
/// that a queue stops promptly when it is told to.
#[derive(Debug)]
pub struct Port {
    rings: Mutex<Vec<Option<Ring>>>,
}

impl Port {
    /// Of that many queues, none of which runs.
    pub(crate) fn new(queues: usize) -> Port {
        Port { rings: Mutex::new((0..queues).map(|_| None).collect()) }
    }

    /// The queues.
    pub fn rings(&self) -> MutexGuard<'_, Vec<Option<Ring>>> {
        // What a thread that panicked left is checked like anything that a guest could have written there.
        self.rings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The queues, if nobody else has them just now.
    pub fn try_rings(&self) -> Option<MutexGuard<'_, Vec<Option<Ring>>>> {
        match self.rings.try_lock() {
            Ok(rings) => Some(rings),
            Err(TryLockError::Poisoned(left)) => Some(left.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}
