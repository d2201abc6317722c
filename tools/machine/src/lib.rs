//! `tollway machine`: a machine judged part by part, and two modes of running it side by side.
//!
//! | command | does |
//! |---|---|
//! | `suite` | every part: processor, memory, disk, network, under a business load or without, by this program or the field's tools |
//! | `modes` | the suite in two modes in turns, with a verdict a row, and what encryption was foretold to cost |
//!
//! It is mounted in the program as a verb; its options are in [`args`].

pub mod args;
pub mod mode;
pub mod modes;
pub mod suite;

/// The path whose variants are measured.
pub const PATH: &str = "machine";
