//! How cost and rate grow: saturation, crossover, amortisation, bills.

mod amortisation;
mod bill;
mod crossover;
mod saturation;
mod usl;

pub use amortisation::Amortisation;
pub use bill::{Bill, CriticalPath, Gate, Stage, work};
pub use crossover::{Crossover, Line, Sizes};
pub use saturation::{Cores, Limit, Saturation};
pub use usl::Usl;

use crate::card::Model;

/// The models of this family.
pub(crate) const MODELS: &[Model] =
    &[saturation::MODEL, crossover::MODEL, amortisation::MODEL, bill::MODEL, usl::MODEL];
