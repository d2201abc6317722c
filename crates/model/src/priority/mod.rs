//! Classes of customers, and who is served first.

use crate::catalogue::Model;

/// The models of this family.
pub(crate) const MODELS: &[Model] = &[];
