//! The path of a captured packet: driver, tap, filter, timestamp, buffer, read, application.
//!
//! [`engine`] is the real thing, of use without the laboratory: a machine for classic BPF, buffers, files, live sources,
//! a traffic generator.

pub mod engine;
