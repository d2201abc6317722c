//! Mappings made, protected and removed.

use std::os::fd::OwnedFd;
use std::ptr;

use rustix::fs::{Mode, OFlags, open};
use rustix::io::{Errno, read};
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};
use tollway_core::{Error, Params, Place, Result, Tally};

use super::region::{PAGE, Region};
use super::{Operation, thread_faults};

/// Maps a page, touches it or not, and unmaps it.
pub struct MapUnmap {
    touch: bool,
    before: u64,
    faults: u64,
    failed: u64,
}

impl Operation for MapUnmap {
    fn prepare(params: &Params, _: &Place) -> Result<Self> {
        let touch = params.word("kind")? == "touched";
        Ok(MapUnmap { touch, before: thread_faults::minor(), faults: 0, failed: 0 })
    }

    #[inline]
    fn once(&mut self) {
        // SAFETY: a new mapping at an address that the kernel chooses overlaps nothing.
        let mapped = unsafe {
            mmap_anonymous(ptr::null_mut(), PAGE, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE)
        };
        let Ok(page) = mapped else {
            self.failed += 1;
            return;
        };
        if self.touch {
            // SAFETY: the page was just mapped writable and nobody else knows of it.
            unsafe { page.cast::<u8>().write_volatile(1) };
        }
        // SAFETY: exactly what was mapped above; no reference to it exists.
        self.failed += u64::from(unsafe { munmap(page, PAGE) }.is_err());
    }

    fn verify(&mut self, done: u64) -> Result<()> {
        self.faults = thread_faults::minor() - self.before;
        match self.failed {
            0 if self.touch && self.faults < done => {
                Err(Error::Wrong(format!("{done} fresh pages were touched, with {} faults", self.faults)))
            }
            0 => Ok(()),
            n => Err(Error::Wrong(format!("{n} of {done} mappings could not be made or removed"))),
        }
    }

    fn tally(&self, done: u64) -> Tally {
        Tally::default().counter("operations", done).counter("faults", self.faults)
    }
}

/// Takes the right to write a page away and gives it back.
pub struct ProtectUnprotect {
    page: Region,
    zeroes: OwnedFd,
    failed: u64,
}

impl ProtectUnprotect {
    #[inline]
    fn allow(&mut self, rights: MprotectFlags) -> bool {
        // SAFETY: the page belongs to `self` and is borrowed exclusively. No safe code of this type writes to it
        // while it is read-only.
        unsafe { mprotect(self.page.address(), PAGE, rights) }.is_ok()
    }

    /// What the kernel says to writing into the page: unlike a store of ours, it is refused by an error.
    fn fill(&mut self) -> Result<usize, Errno> {
        read(&self.zeroes, self.page.bytes_mut())
    }
}

impl Operation for ProtectUnprotect {
    fn prepare(_: &Params, _: &Place) -> Result<Self> {
        let zeroes = open("/dev/zero", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
            .map_err(|e| Error::system("opening /dev/zero", e))?;
        let mut page = Region::new(PAGE)?;
        page.touch();
        Ok(ProtectUnprotect { page, zeroes, failed: 0 })
    }

    #[inline]
    fn once(&mut self) {
        let there = self.allow(MprotectFlags::READ);
        let back = self.allow(MprotectFlags::READ | MprotectFlags::WRITE);
        self.failed += u64::from(!(there & back));
    }

    fn verify(&mut self, done: u64) -> Result<()> {
        if self.failed > 0 {
            return Err(Error::Wrong(format!("{} of {done} changes were refused", self.failed)));
        }
        let open = self.fill();
        let closed = self.allow(MprotectFlags::READ).then(|| self.fill());
        self.allow(MprotectFlags::READ | MprotectFlags::WRITE);
        if (open, closed) == (Ok(PAGE), Some(Err(Errno::FAULT))) {
            return Ok(());
        }
        Err(Error::Wrong(format!("writing gave {open:?} with the right to it and {closed:?} without")))
    }
}
