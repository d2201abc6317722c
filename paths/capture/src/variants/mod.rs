//! The variants: the whole path in its designs, and each of its gates alone.

mod gate;
mod gates;
mod whole;

use tollway_core::Variant;

/// All of them, whole paths first.
pub(crate) fn all() -> Vec<Box<dyn Variant>> {
    let mut all = whole::variants();
    all.extend(gates::variants());
    all
}
