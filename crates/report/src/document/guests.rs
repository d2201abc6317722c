//! The virtual machines that a run used, in a document.

use serde::{Deserialize, Serialize};
use tollway_core::{Accelerator, GuestFacts, KvmKind, LinuxGuestFacts};

use super::Range;

/// The virtual machines that a run used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct GuestsDocument {
    /// On what KVM micro-guests ran: `vmx`, `svm` or `software`; null where none ran, or where it was not recorded.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub micro_guests: Option<KvmKind>,
    /// The Linux guests; null where none ran, or where nothing was recorded of them.
    pub linux_guests: Option<LinuxGuestsDocument>,
}

/// The Linux guests of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct LinuxGuestsDocument {
    /// What ran their instructions: `kvm` or `tcg`.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub accelerator: Accelerator,
    /// Why that one.
    pub why: String,
    /// QEMU's version.
    pub qemu: String,
    /// The release of their kernel.
    pub kernel: String,
    /// Memory of a guest, in MiB; the most that one had.
    pub memory_mib: u32,
    /// How many were started.
    pub boots: u64,
    /// From the start of a guest to the first word of its agent, in milliseconds; null where none was recorded.
    pub boot_ms: Option<Range>,
}

impl From<&GuestFacts> for GuestsDocument {
    fn from(facts: &GuestFacts) -> Self {
        GuestsDocument {
            micro_guests: facts.micro_guests,
            linux_guests: facts.linux_guests.as_ref().map(LinuxGuestsDocument::from),
        }
    }
}

impl From<&LinuxGuestFacts> for LinuxGuestsDocument {
    fn from(facts: &LinuxGuestFacts) -> Self {
        LinuxGuestsDocument {
            accelerator: facts.accelerator,
            why: facts.why.clone(),
            qemu: facts.qemu.clone(),
            kernel: facts.kernel.clone(),
            memory_mib: facts.memory_mib,
            boots: facts.boot_ms.len() as u64,
            boot_ms: Range::of(&facts.boot_ms),
        }
    }
}
