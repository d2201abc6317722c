//! What device interrupts really are: batches, coalescing, caps, polling.

use crate::catalogue::Model;

/// The models of this family.
pub(crate) const MODELS: &[Model] = &[];
