//! The parts of the suite, of use without the laboratory.

pub mod network;
