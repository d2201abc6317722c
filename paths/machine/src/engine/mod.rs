//! The parts of the suite, of use without the laboratory.

mod answer;
pub mod cpu;
pub mod disk;
pub mod image;
pub mod memory;
pub mod network;
mod noise;
pub mod service;
