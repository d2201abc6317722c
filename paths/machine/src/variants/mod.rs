//! The parts of the suite as variants, one a file.

mod memory;

use tollway_core::Variant;

pub(crate) fn all() -> Vec<Box<dyn Variant>> {
    let mut all: Vec<Box<dyn Variant>> = Vec::new();
    all.extend(memory::all());
    all
}
