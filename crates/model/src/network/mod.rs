//! Several stations, and customers that go from one to the other.

use crate::catalogue::Model;

/// The models of this family.
pub(crate) const MODELS: &[Model] = &[];
