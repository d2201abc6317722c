//! Queues with exponential gaps and services: birth and death.

mod mm1;

pub use mm1::Mm1;

use crate::catalogue::Model;

/// The models of this family.
pub(crate) const MODELS: &[Model] = &[mm1::MODEL];
