//! Memory that begins and ends on a page: mapped for one owner, private, given back when dropped.

use std::ffi::c_void;
use std::ptr::{self, NonNull};

use rustix::mm::{Advice, MapFlags, MprotectFlags, ProtFlags, madvise, mmap_anonymous, mprotect, munmap};
use tollway_core::{Error, Result};

/// The size of a page of x86-64.
pub const PAGE: usize = 4096;

/// An anonymous mapping of small pages between two pages without access.
///
/// These keep the kernel from joining it with its neighbours: what a call on the region costs does not depend on what
/// else is mapped nearby.
#[derive(Debug)]
pub struct Region {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: the mapping has one owner, and any thread of the process may use and unmap it.
unsafe impl Send for Region {}

impl Region {
    /// Maps `len` bytes, rounded up to pages, that read as zero. No page is there yet; huge pages are not used, so
    /// that each page is one fault.
    pub fn new(len: usize) -> Result<Region> {
        let len = len.max(1).next_multiple_of(PAGE);
        let refused = |e| Error::system(format!("mapping {len} bytes"), e);
        // SAFETY: a new mapping at an address that the kernel chooses overlaps nothing.
        let outer =
            unsafe { mmap_anonymous(ptr::null_mut(), len + 2 * PAGE, ProtFlags::empty(), MapFlags::PRIVATE) }
                .map_err(refused)?;
        let start = NonNull::new(outer.cast::<u8>().wrapping_add(PAGE))
            .ok_or_else(|| Error::system("mapping memory", "the kernel mapped the last page"))?;
        let region = Region { start, len };
        // SAFETY: these are the pages of the new mapping but its first and last; nobody else knows of them.
        unsafe { mprotect(region.address(), len, MprotectFlags::READ | MprotectFlags::WRITE) }
            .map_err(refused)?;
        // SAFETY: the advice concerns this mapping only and changes no content. A kernel without huge pages refuses
        // it, which leaves small pages.
        let _ = unsafe { madvise(region.address(), len, Advice::LinuxNoHugepage) };
        Ok(region)
    }

    /// Where it begins.
    pub fn address(&self) -> *mut c_void {
        self.start.as_ptr().cast()
    }

    /// Its length in bytes, whole pages.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Never: a region has at least one page.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the mapping is `len` readable, initialised bytes (zero until written) that live as long as `self`;
        // writing them takes `&mut self`.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }

    /// Its bytes, to be written.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`; `&mut self` makes this the only view of them.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }

    /// Writes one byte of each page, in ascending order: the first write to a page is a minor fault.
    #[inline]
    pub fn touch(&mut self) {
        for page in (0..self.len).step_by(PAGE) {
            // SAFETY: `page` is less than `len`, so the byte lies within the mapping, which is writable and borrowed
            // exclusively. Volatile, so that the compiler does not drop a store that nobody reads.
            unsafe { self.start.as_ptr().add(page).write_volatile(1) };
        }
    }

    /// Gives the pages back to the kernel; they read as zero again, and the next touch of each is a fault.
    /// Returns whether the kernel did so.
    #[inline]
    pub fn give_back(&mut self) -> bool {
        // SAFETY: the range is this mapping, borrowed exclusively: nobody relies on what its pages hold.
        unsafe { madvise(self.address(), self.len, Advice::LinuxDontNeed) }.is_ok()
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        let outer = self.start.as_ptr().wrapping_sub(PAGE).cast();
        // SAFETY: this is the whole of the mapping that `new` made and `self` owns; no borrow of it outlives `self`.
        let _ = unsafe { munmap(outer, self.len + 2 * PAGE) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_given_back_read_as_zero() {
        let mut region = Region::new(3 * PAGE - 5).unwrap();
        assert_eq!(region.len(), 3 * PAGE);
        region.touch();
        assert_eq!(region.bytes().iter().map(|b| u32::from(*b)).sum::<u32>(), 3);
        assert!(region.give_back());
        assert!(region.bytes().iter().all(|b| *b == 0));
    }
}
