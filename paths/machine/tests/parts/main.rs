//! The parts of a machine: processor, memory, disk, network, and a web service that needs them all.

mod cpu;
mod disk;
#[path = "../../../../crates/host/testing/eventually.rs"]
mod eventually;
mod image;
mod memory;
mod network;
#[path = "../../../../crates/host/testing/quiet.rs"]
mod quiet;
mod service;
mod titles;
mod turn;
