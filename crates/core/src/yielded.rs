//! What an operation gives, so that how fast a variant is can be told as a rate.

use serde::{Deserialize, Serialize};

/// What is counted by the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Bytes moved.
    Bytes,
    /// Bits carried by a network.
    Bits,
    /// Reads and writes of a disk.
    Accesses,
    /// Events, as sysbench calls what its processor test repeats.
    Events,
    /// Requests answered.
    Requests,
    /// Packets that arrived.
    Packets,
    /// Additions and multiplications of numbers.
    Arithmetic,
    /// Page faults.
    Faults,
}

impl Unit {
    /// What so many in a second are called.
    pub fn per_second(self) -> &'static str {
        match self {
            Unit::Bytes => "B/s",
            Unit::Bits => "bit/s",
            Unit::Accesses => "IO/s",
            Unit::Events => "events/s",
            Unit::Requests => "requests/s",
            Unit::Packets => "packets/s",
            Unit::Arithmetic => "op/s",
            Unit::Faults => "faults/s",
        }
    }
}

/// So many of a unit for each operation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Yield {
    /// What.
    pub unit: Unit,
    /// How many.
    pub each: f64,
}

impl Yield {
    /// One for each operation.
    pub fn one(unit: Unit) -> Yield {
        Yield { unit, each: 1.0 }
    }

    /// So many bytes for each operation.
    pub fn bytes(each: u64) -> Yield {
        Yield { unit: Unit::Bytes, each: each as f64 }
    }
}
