//! How cost and rate grow: saturation, crossover, amortisation, bills.

use crate::catalogue::Model;

/// The models of this family.
pub(crate) const MODELS: &[Model] = &[];
