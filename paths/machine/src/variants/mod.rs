//! The parts of the suite as variants, one a file.

mod cpu;
mod memory;

use tollway_core::Variant;

pub(crate) fn all() -> Vec<Box<dyn Variant>> {
    [cpu::all(), memory::all()].into_iter().flatten().collect()
}
