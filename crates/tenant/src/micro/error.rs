//! What can go wrong with a micro-guest, each with what to do about it.

use std::time::Duration;

use tollway_core::{Error, Missing};

use super::vcpu::Exception;
use super::{culprit, own};

/// Why a micro-guest could not be made, or why a call in it did not come back.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MicroError {
    /// The machine offers no usable KVM.
    #[error("{0}")]
    Unavailable(Missing),
    /// One step of setting the machine up was refused by the kernel.
    #[error("cannot {step}: {source}")]
    Setup {
        /// The step, in words.
        step: &'static str,
        /// What the kernel said.
        source: std::io::Error,
    },
    /// The program maps more than a guest may see.
    #[error(
        "the program maps {total} bytes, a micro-guest may map {limit}; the largest mapping is {name} at {start:#x} with {bytes} bytes → raise Options::mapped_bytes or leave the mapping out with Options::leave_out"
    )]
    TooMuchMapped {
        /// All bytes that would have to be mapped.
        total: u64,
        /// The limit they break.
        limit: u64,
        /// Name of the largest mapping, as in the list of mappings.
        name: String,
        /// Where the largest mapping starts.
        start: usize,
        /// How large it is.
        bytes: u64,
    },
    /// More of something than a guest may have, or fewer.
    #[error("{wanted} {what} are not possible: a micro-guest may have {least} to {most}")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many were asked for.
        wanted: usize,
        /// How few there may be.
        least: usize,
        /// How many there may be.
        most: usize,
    },
    /// The closure and its result do not fit on the guest's stack.
    #[error(
        "{bytes} bytes of closure and result do not fit on a guest stack of {stack} bytes → Options::stack_bytes"
    )]
    ClosureTooLarge {
        /// Bytes that the closure and its result take.
        bytes: usize,
        /// Bytes of the stack.
        stack: usize,
    },
    /// The code in the guest did something that a guest without an operating system cannot do.
    #[error("{0}")]
    Fault(Box<Fault>),
    /// The call did not come back in time and was stopped.
    #[error("the call was stopped after {after:?} (limit {limit:?}) at {rip:#x}")]
    TimedOut {
        /// The limit that was set.
        limit: Duration,
        /// When it was stopped.
        after: Duration,
        /// Where the code was.
        rip: u64,
    },
    /// The code used a port that is not one of its devices.
    #[error(
        "the code {} port {port:#x}, which is not one of its devices, at {rip:#x}",
        if *.write { "wrote to" } else { "read from" }
    )]
    WildPort {
        /// The port.
        port: u16,
        /// Whether it wrote.
        write: bool,
        /// Where the code was.
        rip: u64,
    },
    /// The code used a device's page in a way that the device does not know, or the page of another guest's device.
    #[error(
        "the code at {rip:#x} used a page without memory in a way that no device of its own knows (guest-physical {physical:#x})"
    )]
    NoDevice {
        /// Guest-physical address of the access.
        physical: u64,
        /// Where the code was.
        rip: u64,
    },
    /// The image of an isolated guest has no such entry.
    #[error("the image has {has} entries, numbered from 0: there is no entry {wanted}")]
    NoEntry {
        /// The entry that was asked for.
        wanted: usize,
        /// How many there are.
        has: usize,
    },
    /// The code touched a device by an instruction that KVM cannot take apart.
    #[error(
        "KVM cannot emulate the instruction at {rip:#x}: devices take plain loads and stores of up to 8 bytes"
    )]
    NotEmulated {
        /// Where the code was.
        rip: u64,
    },
    /// The guest touched memory that the program has given back since the guest was made.
    #[error(
        "the guest at {rip:#x} touched memory that the program has no longer mapped → make the guest after the memory, and keep it"
    )]
    MemoryGone {
        /// Where the code was.
        rip: u64,
    },
    /// KVM ended the run in a way that nothing here knows.
    #[error("KVM ended the run at {rip:#x} with {exit}")]
    Unexpected {
        /// The exit, as KVM names it.
        exit: String,
        /// Where the code was.
        rip: u64,
    },
}

impl MicroError {
    pub(super) fn setup(step: &'static str) -> impl FnOnce(kvm_ioctls::Error) -> MicroError {
        move |error| MicroError::Setup { step, source: error.into() }
    }

    /// An error unless `wanted` lies within the limits.
    pub(super) fn limit(
        what: &'static str,
        wanted: usize,
        least: usize,
        most: usize,
    ) -> Result<(), MicroError> {
        if (least..=most).contains(&wanted) {
            Ok(())
        } else {
            Err(MicroError::TooMany { what, wanted, least, most })
        }
    }

    pub(super) fn system(step: &'static str) -> impl FnOnce(rustix::io::Errno) -> MicroError {
        move |error| MicroError::Setup { step, source: error.into() }
    }
}

impl From<MicroError> for Error {
    fn from(error: MicroError) -> Error {
        match error {
            MicroError::Unavailable(missing) => Error::Missing(missing),
            MicroError::Setup { step, source } => Error::system(step, source),
            other => Error::Tenant { tenant: "micro-guest".into(), reason: other.to_string() },
        }
    }
}

/// An exception in the guest, as far as KVM tells.
///
/// Where the KVM delivers exceptions to the guest's own table, `vector`, `error_code` and `address` are what the
/// processor said. Where it shuts the guest down instead, `vector` is `None` and `instruction` is the best clue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The exception's number: 6 illegal instruction, 13 general protection, 14 page fault, …
    pub vector: Option<u8>,
    /// The code that the processor pushed, for the vectors that have one.
    pub error_code: Option<u64>,
    /// The address that could not be reached, where the cause is a page fault.
    pub address: Option<u64>,
    /// Where the code was.
    pub rip: u64,
    /// Its stack pointer.
    pub rsp: u64,
    /// The instruction at `rip`, if it is one of the well-known culprits.
    pub instruction: Option<&'static str>,
    /// The program's mapping that `address` lies in: `[vdso]` tells that somebody asked for the time, a mapping with a
    /// usual name that it was made, or grew, after the guest.
    pub address_in: Option<String>,
    /// The program's mapping that `rip` lies in.
    pub code_in: Option<String>,
}

impl Fault {
    /// What the code of this very program did.
    pub(super) fn in_this_program(exception: Exception) -> Fault {
        let Exception { vector, error_code, address, rip, rsp, system_call } = exception;
        let instruction = match vector {
            _ if system_call => Some("syscall"),
            // A trap: the address is the next instruction's.
            Some(3) => Some("int3"),
            _ => culprit::at(rip),
        };
        let (address_in, code_in) = (address.and_then(own::name_at), own::name_at(rip));
        Fault { vector, error_code, address, rip, rsp, instruction, address_in, code_in }
    }

    /// The exception in words.
    pub fn what(&self) -> &'static str {
        match (self.vector, self.instruction) {
            (_, Some("syscall")) => "a system call, which a micro-guest does not have",
            (Some(0), _) => "division error",
            (Some(3), _) => "breakpoint",
            (Some(6), _) => "illegal instruction",
            (Some(7), _) => "the floating-point unit is not available",
            (Some(8), _) => "double fault",
            (Some(13), _) => "general protection fault",
            (Some(14), _) => "page fault",
            (Some(16 | 19), _) => "floating-point exception",
            (Some(17), _) => "alignment check",
            (Some(_), _) => "exception",
            (None, Some(_)) => "an instruction that a micro-guest may not execute (the guest was shut down)",
            (None, None) => "the guest was shut down",
        }
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "fault in the guest: {}", self.what())?;
        if let Some(vector) = self.vector {
            write!(f, " (vector {vector}")?;
            if let Some(code) = self.error_code {
                write!(f, ", code {code:#x}")?;
            }
            write!(f, ")")?;
        }
        if let Some(address) = self.address {
            write!(f, " at address {address:#x}")?;
            if let Some(name) = &self.address_in {
                write!(f, " in {name}")?;
            }
        }
        if let Some(name) = self.instruction {
            write!(f, " by `{name}`")?;
        }
        write!(f, ", code at {:#x}", self.rip)?;
        if let Some(name) = &self.code_in {
            write!(f, " in {name}")?;
        }
        write!(f, ", stack at {:#x}", self.rsp)
    }
}
