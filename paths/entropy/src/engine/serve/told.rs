//! What happens while serving that somebody may want to know at once.

use tollway_virtio::backend::Refused;

/// Something happened. Tenants and workers are told by their numbers.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Told {
    /// A tenant's peer connected.
    Connected(usize),
    /// A tenant's peer is gone.
    Gone(usize),
    /// A tenant's queue is served from now on.
    Started(usize),
    /// A tenant's queue is not served any more.
    Stopped(usize),
    /// A message or a buffer of a tenant was refused.
    Refused(usize, Refused),
    /// A worker's source failed, or its bytes are not good enough: it serves nobody.
    Failing {
        /// Which worker.
        worker: usize,
        /// What is wrong.
        reason: String,
    },
    /// A worker's source gives nothing any more: it serves nobody from now on.
    Over {
        /// Which worker.
        worker: usize,
        /// What its source said.
        reason: String,
    },
    /// A worker's source has passed its start-up test after it had failed.
    Recovered(usize),
    /// A thread of the server ended for a reason that should not be.
    Ended(String),
}
