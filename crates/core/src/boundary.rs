//! The boundaries that can be crossed: what a price list is grouped by.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Where control or data passes between two worlds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Boundary {
    /// No boundary at all: the floor under every other figure.
    Floor,
    /// None either: a piece of work within a program that a path cannot do without.
    Work,
    /// A program and the kernel it runs on.
    UserKernel,
    /// A virtual machine and what runs it.
    GuestHost,
    /// A processor and something that is not memory: a clock, a generator, a disk.
    CpuDevice,
    /// Two cores.
    CoreCore,
    /// Two processes.
    ProcessProcess,
    /// Two places in memory.
    MemoryMemory,
}

impl Boundary {
    /// All boundaries, in the order in which a price list shows them.
    pub const ALL: [Boundary; 8] = [
        Boundary::Floor,
        Boundary::CpuDevice,
        Boundary::UserKernel,
        Boundary::ProcessProcess,
        Boundary::CoreCore,
        Boundary::MemoryMemory,
        Boundary::GuestHost,
        Boundary::Work,
    ];

    /// The name as a person reads it.
    pub fn title(self) -> &'static str {
        match self {
            Boundary::Floor => "no boundary",
            Boundary::Work => "within a program",
            Boundary::UserKernel => "user ↔ kernel",
            Boundary::GuestHost => "guest ↔ host",
            Boundary::CpuDevice => "CPU ↔ device",
            Boundary::CoreCore => "core ↔ core",
            Boundary::ProcessProcess => "process ↔ process",
            Boundary::MemoryMemory => "memory ↔ memory",
        }
    }
}

impl fmt::Display for Boundary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.title())
    }
}
