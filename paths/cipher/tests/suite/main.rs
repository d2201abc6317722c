//! Sessions against vectors of standards, and against another library.

mod ciphers;
mod digests;
mod memory;
mod refusals;
mod vectors;
