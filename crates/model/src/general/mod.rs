//! General arrivals or services.

use crate::catalogue::Model;

/// The models of this family.
pub(crate) const MODELS: &[Model] = &[];
