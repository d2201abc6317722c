//! The variants: the whole path in its designs, and each of its gates alone.

mod gate;
mod gates;
mod live;
mod whole;

use tollway_core::Variant;

/// All of them, whole paths first, in one process and live.
pub(crate) fn all() -> Vec<Box<dyn Variant>> {
    let mut all = whole::variants();
    all.extend(live::variants());
    all.extend(gates::variants());
    all
}
