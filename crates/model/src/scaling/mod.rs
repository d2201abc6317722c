//! How cost and rate grow: saturation, crossover, amortisation, the two ledgers of a bill.

mod amortisation;
mod bill;
mod crossover;
mod gates;
mod latency;
mod saturation;
mod usl;

pub use amortisation::Amortisation;
pub use bill::{Bill, Gate, weighted, work};
pub use crossover::{Crossover, Line, Sizes};
pub use gates::sum_of_gates;
pub use latency::{CriticalPath, Stage};
pub use saturation::{Cores, Limit, Saturation};
pub use usl::Usl;

use crate::card::Model;

/// The models of this family.
pub(crate) const MODELS: &[Model] =
    &[saturation::MODEL, crossover::MODEL, amortisation::MODEL, bill::MODEL, latency::MODEL, usl::MODEL];
