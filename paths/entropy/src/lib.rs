//! The path of a random number: drawn from a generator, conditioned, tested, handed to many virtual machines.
//!
//! [`engine`] is the real thing, of use without the laboratory: sources, tests of randomness, a fair server.

pub mod engine;
