//! What device interrupts really are: batches, coalescing, caps, polling.

mod adaptive;
mod batch_arrivals;
mod bulk_service;
mod cap;
mod coalesce;
mod delivery;
mod hybrid_polling;
mod means;
mod moderation;
mod n_policy;
mod nt_policy;
mod parameters;
mod poisson;
mod t_policy;
#[cfg(test)]
mod trials;
mod vacations;
mod waits;

pub use adaptive::Adaptive;
pub use batch_arrivals::{Batch, MxG1};
pub use bulk_service::BulkService;
pub use cap::Cap;
pub use coalesce::Coalesce;
pub use delivery::{Costs, Delivery, Visits, Way};
pub use hybrid_polling::HybridPolling;
pub use means::Means;
pub use moderation::Moderation;
pub use n_policy::NPolicy;
pub use nt_policy::NtPolicy;
pub use t_policy::TPolicy;
pub use vacations::Vacations;
pub use waits::Waits;

use crate::card::Model;

/// The models of this family.
pub(crate) const MODELS: &[Model] = &[
    batch_arrivals::MARKOVIAN,
    batch_arrivals::GENERAL,
    bulk_service::MODEL,
    n_policy::MODEL,
    t_policy::MODEL,
    nt_policy::MODEL,
    vacations::MODEL,
    vacations::POLLING,
    hybrid_polling::MODEL,
    coalesce::MODEL,
    cap::MODEL,
    adaptive::MODEL,
    delivery::MODEL,
];
