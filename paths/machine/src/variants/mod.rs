//! The parts of the suite as variants, one a file.

mod network;

use tollway_core::Variant;

pub(crate) fn all() -> Vec<Box<dyn Variant>> {
    network::variants()
}
