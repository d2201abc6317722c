//! What a variant needs of a machine, and how the lack of it is told.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A processor feature that a variant can need.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CpuFeature {
    /// RDRAND.
    Rdrand,
    /// RDSEED.
    Rdseed,
    /// CLFLUSHOPT.
    Clflushopt,
    /// User interrupts (UINTR).
    UserInterrupts,
}

impl CpuFeature {
    /// The name that processor manuals use.
    pub fn name(self) -> &'static str {
        match self {
            CpuFeature::Rdrand => "RDRAND",
            CpuFeature::Rdseed => "RDSEED",
            CpuFeature::Clflushopt => "CLFLUSHOPT",
            CpuFeature::UserInterrupts => "user interrupts",
        }
    }
}

/// Something that a machine has or has not; `tollway-host` checks it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Requirement {
    /// A time-stamp counter that is constant and never stops.
    InvariantTsc,
    /// At least so many processors that this process may run on.
    Cores(u32),
    /// A processor feature.
    Cpu(CpuFeature),
    /// This machine is itself a virtual machine.
    InsideVm,
    /// /dev/kvm, with what micro-guests need of it.
    Kvm,
    /// A KVM on a processor with VMX or SVM, on which code of every ring runs natively.
    HardwareKvm,
    /// QEMU, a kernel and its modules, and an agent that can be a guest's first program.
    LinuxGuest,
    /// io_uring allowed to this process.
    IoUring,
    /// POSIX message queues.
    PosixQueues,
    /// Loopback networking.
    Loopback,
    /// A folder whose file system does O_DIRECT.
    DirectIo,
    /// Network namespaces of our own.
    NetworkNamespaces,
    /// Sockets that see whole frames.
    PacketSockets,
    /// AF_XDP sockets, and XDP programs that feed them.
    AfXdp,
    /// A generator behind /dev/hwrng.
    HwRng,
    /// Sockets of family AF_ALG, by which a kernel does ciphers for programs.
    AfAlg,
    /// A program of that name, from the Debian package of that name.
    Program(String, String),
}

/// Something that this machine lacks: what, why it is known, what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing {
    /// What is lacking.
    pub what: String,
    /// How that was found.
    pub reason: String,
    /// What would provide it.
    pub remedy: String,
}

impl Missing {
    /// All three texts at once.
    pub fn new(what: impl Into<String>, reason: impl Into<String>, remedy: impl Into<String>) -> Self {
        Missing { what: what.into(), reason: reason.into(), remedy: remedy.into() }
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} → {}", self.what, self.reason, self.remedy)
    }
}
