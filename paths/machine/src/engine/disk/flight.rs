//! Accesses that are under way: an io_uring, and the memory that the kernel reads and writes for it.
//!
//! Memory that the kernel has a part of is neither looked at nor freed before the kernel has given it back, whatever goes
//! wrong in between.

use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

use io_uring::{IoUring, Probe, opcode, types};
use rustix::io::Errno;
use tollway_core::{Error, Missing, Result};

use super::memory::{Memory, PAGE};

/// One access that has come back.
#[derive(Clone, Copy, Debug)]
pub(super) struct Landed {
    pub(super) slot: usize,
    /// How many bytes were read or written.
    pub(super) came: Result<usize, Errno>,
}

/// So many slots for accesses of so many bytes.
pub(super) struct Flight {
    /// Its end cancels nothing that is under way, and does not wait for it either.
    ring: IoUring,
    memory: ManuallyDrop<Memory>,
    file: OwnedFd,
    size: usize,
    away: Vec<bool>,
}

impl Flight {
    pub(super) fn new(file: BorrowedFd<'_>, slots: usize, size: usize) -> Result<Flight> {
        let refused = |e: io::Error| {
            Error::Missing(Missing::new(
                "io_uring with reads and writes",
                format!("the kernel refused: {e}"),
                "Linux 5.6 or later; sysctl kernel.io_uring_disabled=0; a sandbox that allows io_uring_setup",
            ))
        };
        let ring = ring(slots as u32).map_err(refused)?;
        let mut probe = Probe::new();
        ring.submitter().register_probe(&mut probe).map_err(refused)?;
        if !probe.is_supported(opcode::Read::CODE) || !probe.is_supported(opcode::Write::CODE) {
            return Err(refused(io::ErrorKind::Unsupported.into()));
        }
        let file = file.try_clone_to_owned().map_err(|e| Error::system("getting a descriptor", e))?;
        let memory = ManuallyDrop::new(Memory::new(slots * size.next_multiple_of(PAGE))?);
        Ok(Flight { ring, memory, file, size, away: vec![false; slots] })
    }

    /// The memory of a slot that is not under way.
    pub(super) fn block(&mut self, slot: usize) -> &mut [u8] {
        assert!(!self.away[slot], "the kernel has that block");
        self.memory.part(slot * self.size.next_multiple_of(PAGE), self.size)
    }

    /// Starts reading into a slot, or writing from it, in a call of its own: so fio does, where it is not told to collect some,
    /// and so the kernel does not join neighbours.
    pub(super) fn start(&mut self, slot: usize, write: bool, at: u64) -> Result<(), Errno> {
        assert!(!self.away[slot], "the kernel has that block");
        let block = self.memory.address(slot * self.size.next_multiple_of(PAGE), self.size);
        let (file, bytes) = (types::Fd(self.file.as_raw_fd()), self.size as u32);
        let entry = if write {
            opcode::Write::new(file, block, bytes).offset(at).build()
        } else {
            opcode::Read::new(file, block, bytes).offset(at).build()
        };
        // SAFETY: the block is within the memory, which is freed only once all that was pushed has come back (`drop`); until then
        // the slot is away, so that `block` does not hand it out, and no other access is started on it. The descriptor is this
        // one's own and open.
        unsafe { self.ring.submission().push(&entry.user_data(slot as u64)) }.map_err(|_| Errno::BUSY)?;
        self.away[slot] = true;
        self.enter(0)
    }

    /// Waits until at least one has come back, and hands out all that have.
    pub(super) fn land(&mut self, landed: &mut Vec<Landed>) -> Result<(), Errno> {
        self.ring.completion().sync();
        if self.ring.completion().is_empty() {
            self.enter(1)?;
        }
        for entry in self.ring.completion() {
            let slot = entry.user_data() as usize;
            self.away[slot] = false;
            let came = usize::try_from(entry.result()).map_err(|_| Errno::from_raw_os_error(-entry.result()));
            landed.push(Landed { slot, came });
        }
        Ok(())
    }

    /// How many are under way.
    pub(super) fn under_way(&self) -> usize {
        self.away.iter().filter(|away| **away).count()
    }

    fn enter(&self, want: usize) -> Result<(), Errno> {
        loop {
            match self.ring.submit_and_wait(want) {
                Ok(_) => return Ok(()),
                Err(error) => match Errno::from_io_error(&error) {
                    Some(Errno::INTR) => {}
                    other => return Err(other.unwrap_or(Errno::IO)),
                },
            }
        }
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        let mut landed = Vec::new();
        while self.under_way() > 0 {
            if self.land(&mut landed).is_err() {
                // Nobody knows when the kernel will be done: the memory stays, for ever.
                return;
            }
        }
        // SAFETY: it is dropped here only, and not used after.
        unsafe { ManuallyDrop::drop(&mut self.memory) };
    }
}

/// A ring as fio makes it: completions are seen to when we look for them, where the kernel can do that (Linux 6.1).
fn ring(slots: u32) -> io::Result<IoUring> {
    let modern =
        IoUring::builder().setup_single_issuer().setup_defer_taskrun().setup_taskrun_flag().build(slots);
    modern.or_else(|_| IoUring::new(slots))
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::fd::AsFd;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;
    use std::time::Duration;

    use tollway_core::Requirement;
    use tollway_host::requirement::test_has;

    use super::*;

    fn pipe() -> (OwnedFd, std::fs::File) {
        let (reads, writes) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap();
        (reads, writes.into())
    }

    fn can() -> bool {
        test_has(&[(Requirement::IoUring, "io-uring")])
    }

    #[test]
    fn what_was_started_comes_back_with_its_bytes_or_its_error() {
        if !can() {
            return;
        }
        let (reads, mut writes) = pipe();
        writes.write_all(b"through").unwrap();
        let mut flight = Flight::new(reads.as_fd(), 2, 512).unwrap();
        let mut landed = Vec::new();
        flight.start(1, false, u64::MAX).unwrap();
        assert_eq!(flight.under_way(), 1);
        flight.land(&mut landed).unwrap();
        assert_eq!((landed[0].slot, landed[0].came), (1, Ok(7)));
        assert_eq!(&flight.block(1)[..7], b"through");
        // This end cannot be written to.
        flight.start(0, true, u64::MAX).unwrap();
        flight.land(&mut landed).unwrap();
        assert_eq!((landed[1].slot, landed[1].came), (0, Err(Errno::BADF)));
        assert_eq!(flight.under_way(), 0);
    }

    #[test]
    fn its_end_waits_for_what_is_under_way() {
        if !can() {
            return;
        }
        let (reads, mut writes) = pipe();
        let mut flight = Flight::new(reads.as_fd(), 4, 512).unwrap();
        flight.start(2, false, u64::MAX).unwrap();
        let wrote = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(50));
                wrote.store(true, Ordering::SeqCst);
                writes.write_all(b"late").unwrap();
            });
            drop(flight);
            assert!(wrote.load(Ordering::SeqCst), "its memory was freed before the kernel was done with it");
        });
    }

    #[test]
    #[should_panic = "the kernel has that block"]
    fn memory_of_the_kernel_is_not_handed_out() {
        let (reads, mut writes) = pipe();
        if !can() {
            panic!("the kernel has that block");
        }
        let mut flight = Flight::new(reads.as_fd(), 1, 512).unwrap();
        flight.start(0, false, u64::MAX).unwrap();
        // So that the unwinding's wait for it ends.
        writes.write_all(b"then").unwrap();
        flight.block(0);
    }
}
