//! The image of an isolated guest, and the memory functions that it has of its own.

mod image;
mod memory;
