//! Memory of the host's side: mapped on creation, given back on drop.

use std::ops::Range;
use std::os::fd::OwnedFd;
use std::ptr;

use rustix::fs::MemfdFlags;
use rustix::mm::{Advice, MapFlags, ProtFlags};

use super::error::MicroError;
use super::own::{PAGE, SYSTEM_NAME};

/// A mapping of this process that is unmapped on drop.
#[derive(Debug)]
pub(super) struct Region {
    start: usize,
    len: usize,
}

// The address is only an address: every access is made where its safety is argued.
impl Region {
    /// Addresses that nothing else in this process will get; any access by the program is a fault.
    pub(super) fn reserve(len: usize) -> Result<Region, MicroError> {
        Region::map(len, ProtFlags::empty(), "reserve addresses")
    }

    /// Memory that may be read and written. It takes small pages only: of stacks, little is touched.
    pub(super) fn anonymous(len: usize) -> Result<Region, MicroError> {
        let region = Region::map(len, ProtFlags::READ | ProtFlags::WRITE, "map memory for a guest")?;
        // SAFETY: the region was just mapped; the advice changes no content. A kernel without huge pages refuses it.
        let _ = unsafe { rustix::mm::madvise(region.start as *mut _, len, Advice::LinuxNoHugepage) };
        Ok(region)
    }

    /// Shared memory with a name by which guests recognise (and leave out) what is not the program's own.
    pub(super) fn system(pages: usize) -> Result<Region, MicroError> {
        let len = pages * PAGE;
        let fd: OwnedFd = rustix::fs::memfd_create(SYSTEM_NAME, MemfdFlags::CLOEXEC)
            .map_err(MicroError::system("create memory for page tables"))?;
        rustix::fs::ftruncate(&fd, len as u64).map_err(MicroError::system("size memory for page tables"))?;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping where the kernel chooses replaces nothing.
        let start = unsafe { rustix::mm::mmap(ptr::null_mut(), len, protection, MapFlags::SHARED, &fd, 0) }
            .map_err(MicroError::system("map memory for page tables"))?;
        Ok(Region { start: start as usize, len })
    }

    fn map(len: usize, protection: ProtFlags, step: &'static str) -> Result<Region, MicroError> {
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: a new mapping where the kernel chooses replaces nothing.
        let start = unsafe { rustix::mm::mmap_anonymous(ptr::null_mut(), len, protection, flags) }
            .map_err(MicroError::system(step))?;
        Ok(Region { start: start as usize, len })
    }

    pub(super) fn range(&self) -> Range<usize> {
        self.start..self.start + self.len
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: the region is ours, mapped once; guests that see it are dropped before it by their owner.
        let _ = unsafe { rustix::mm::munmap(self.start as *mut _, self.len) };
    }
}
