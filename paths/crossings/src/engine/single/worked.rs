//! Processor time of calls that may wait for a disk: what they last on the clock is no work.

use std::time::Duration;

use tollway_core::{Result, Tally};
use tollway_host::samplers::thread_time;

use crate::engine::processor_time::Spent;

/// What the thread's own clock counts from just before a sample to just after its stamp. What others do for it (the journal's thread, the
/// disk's interrupt, the idle task) is charged to nobody here.
pub(super) struct Worked {
    /// The thread's clock before the sample whose end is not known yet, and the calls of it.
    begun: Option<(Duration, u32)>,
    spent: Spent,
}

impl Worked {
    pub(super) fn new() -> Result<Worked> {
        Ok(Worked { begun: None, spent: Spent::nothing()? })
    }

    /// So many calls come next.
    pub(super) fn begin(&mut self, calls: u32) {
        self.begun = Some((thread_time::thread(), calls));
    }

    /// The calls are over, if any had begun.
    pub(super) fn end(&mut self) {
        if let Some((begun, calls)) = self.begun.take() {
            self.spent.add(thread_time::thread().saturating_sub(begun), calls);
        }
    }

    pub(super) fn tally(&self) -> Tally {
        self.spent.tally()
    }
}
