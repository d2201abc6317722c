//! The parts of the suite as variants, one a file.

pub(crate) mod business;
mod memory;
mod service;

use tollway_core::Variant;

pub(crate) fn all() -> Vec<Box<dyn Variant>> {
    let mut all: Vec<Box<dyn Variant>> = Vec::new();
    all.extend(memory::all());
    let mut all: Vec<_> = all.into_iter().map(business::beside).collect();
    all.push(Box::new(service::Service));
    all
}
