//! A page that a child has in common with its parent, however it was begun.

use std::ffi::c_void;
use std::ptr;

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use tollway_core::{Error, Result};

use super::region::PAGE;

/// Zeroes at first; what the child writes there stays when it has ended.
pub(super) struct InCommon(*mut c_void);

// SAFETY: the mapping has one owner, and any thread of the process may use and unmap it.
unsafe impl Send for InCommon {}

impl InCommon {
    pub(super) fn new() -> Result<InCommon> {
        let rights = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address that the kernel chooses overlaps nothing.
        let page = unsafe { mmap_anonymous(ptr::null_mut(), PAGE, rights, MapFlags::SHARED) };
        page.map(InCommon).map_err(|e| Error::system("mapping memory for a child", e))
    }

    /// Where it begins.
    pub(super) fn address(&self) -> *mut c_void {
        self.0
    }
}

impl Drop for InCommon {
    fn drop(&mut self) {
        // SAFETY: exactly what was mapped; no reference to it is left.
        let _ = unsafe { munmap(self.0, PAGE) };
    }
}
