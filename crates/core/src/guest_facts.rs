//! What virtual machines a run used: without it nobody can say what figures measured in them mean.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What helps KVM to run virtual machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KvmKind {
    /// Intel's VMX: code of every ring runs on the processor.
    Vmx,
    /// AMD's SVM: code of every ring runs on the processor.
    Svm,
    /// Software such as PVM: code in ring 3 runs on the processor, code in ring 0 is emulated.
    Software,
}

impl KvmKind {
    /// Whether the processor helps, so that code of every ring runs on it.
    pub fn is_hardware(self) -> bool {
        self != KvmKind::Software
    }

    /// What that means for figures, in words.
    pub fn meaning(self) -> &'static str {
        match self {
            KvmKind::Vmx => "hardware virtualisation (VMX)",
            KvmKind::Svm => "hardware virtualisation (SVM)",
            KvmKind::Software => "software: ring 0 is emulated: exit tolls are this host's, not silicon's",
        }
    }
}

impl fmt::Display for KvmKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            KvmKind::Vmx => "hardware (VMX)",
            KvmKind::Svm => "hardware (SVM)",
            KvmKind::Software => "software (ring 0 is emulated, ring 3 is native)",
        })
    }
}

/// What runs the instructions of a Linux guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Accelerator {
    /// The processor, by KVM.
    Kvm,
    /// QEMU's translator.
    Tcg,
}

impl Accelerator {
    /// The name in QEMU's options and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Accelerator::Kvm => "kvm",
            Accelerator::Tcg => "tcg",
        }
    }
}

impl fmt::Display for Accelerator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The Linux guests of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinuxGuestFacts {
    /// What ran their instructions.
    pub accelerator: Accelerator,
    /// Why that one: what was tried, and what came of it.
    pub why: String,
    /// QEMU's version: "10.0.2".
    pub qemu: String,
    /// The release of their kernel: "6.1.0-49-amd64".
    pub kernel: String,
    /// Memory of a guest, in MiB; the most that one had.
    pub memory_mib: u32,
    /// From the start of a guest to the first word of its agent, in milliseconds, guest by guest.
    pub boot_ms: Vec<f64>,
}

/// The virtual machines that a run used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GuestFacts {
    /// On what KVM the micro-guests ran; `None` where the run used none.
    pub micro_guests: Option<KvmKind>,
    /// The Linux guests; `None` where the run used none.
    pub linux_guests: Option<LinuxGuestFacts>,
}

impl GuestFacts {
    /// Whether the run used no guest.
    pub fn is_empty(&self) -> bool {
        self.micro_guests.is_none() && self.linux_guests.is_none()
    }
}
