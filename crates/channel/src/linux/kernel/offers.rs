//! Whether this kernel has an operation: asked of it, not guessed from its version.

use io_uring::{IoUring, Probe, opcode};
use tollway_core::Missing;

/// An operation, or some that came together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    /// Reads and writes without offsets, sends, receipts, polls, timeouts, connections (Linux 5.6).
    Plain,
    /// madvise(2) and fallocate(2) (Linux 5.6).
    Memory,
    /// Waiting for a futex (Linux 6.7).
    Futex,
}

impl Offer {
    pub(super) fn check(self, ring: &IoUring) -> Result<(), Missing> {
        let (codes, what, since): (&[u8], _, _) = match self {
            Offer::Plain => (
                &[
                    opcode::Nop::CODE,
                    opcode::Read::CODE,
                    opcode::Write::CODE,
                    opcode::ReadFixed::CODE,
                    opcode::WriteFixed::CODE,
                    opcode::Send::CODE,
                    opcode::Recv::CODE,
                    opcode::Accept::CODE,
                    opcode::PollAdd::CODE,
                    opcode::Timeout::CODE,
                    opcode::AsyncCancel::CODE,
                ],
                "reads, writes, connections and timeouts through io_uring",
                "use Linux 5.6 or later",
            ),
            Offer::Memory => (
                &[opcode::Madvise::CODE, opcode::Fallocate::CODE],
                "madvise and fallocate through io_uring",
                "use Linux 5.6 or later, built with CONFIG_ADVISE_SYSCALLS",
            ),
            Offer::Futex => (
                &[opcode::FutexWait::CODE],
                "waiting for a futex through io_uring",
                "use Linux 6.7 or later, or a channel whose ends are woken by eventfds",
            ),
        };
        let mut probe = Probe::new();
        ring.submitter().register_probe(&mut probe).map_err(|error| {
            // A kernel that has opened a ring has that call, and forbids it to nobody.
            let remedy = match error.raw_os_error() {
                Some(libc::EPERM | libc::EACCES | libc::ENOSYS) => {
                    "allow io_uring_register in the sandbox's filter"
                }
                _ => "use Linux 5.6 or later",
            };
            Missing::new(what, format!("the kernel does not say what it has: {error}"), remedy)
        })?;
        match codes.iter().find(|code| !probe.is_supported(**code)) {
            None => Ok(()),
            Some(code) => Err(Missing::new(what, format!("the kernel has no operation {code}"), since)),
        }
    }
}
