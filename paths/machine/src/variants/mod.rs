//! The parts of the suite as variants, one a file.

pub(crate) mod business;
mod cpu;
mod disk;
mod image;
mod memory;
mod network;
mod service;

use tollway_core::Variant;

use crate::engine::service::OpenPostgres;

pub(crate) fn all(postgres: OpenPostgres) -> Vec<Box<dyn Variant>> {
    let parts = [cpu::all(), memory::all(), disk::variants(), network::variants()].into_iter().flatten();
    let service: Box<dyn Variant> = Box::new(service::Service { postgres });
    parts.map(business::beside).chain(image::variants()).chain([service]).collect()
}
