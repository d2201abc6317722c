//! A file mapped into memory, to read.

use std::fs::File;
use std::io;
use std::ptr::{self, NonNull};
use std::slice;

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// The whole of a file, as long as it was when it was mapped last.
pub(super) struct Map {
    file: File,
    /// Dangling while `length` is 0: nothing is mapped then.
    address: NonNull<u8>,
    length: usize,
}

// SAFETY: the mapping is only read, and belongs to this value alone.
unsafe impl Send for Map {}

impl Map {
    /// Maps a file.
    ///
    /// # Safety
    /// As long as this lives nobody may change or shorten the file.
    pub unsafe fn of(file: File) -> io::Result<Map> {
        if !file.metadata()?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"));
        }
        let mut map = Map { file, address: NonNull::dangling(), length: 0 };
        map.grow_to(1)?;
        Ok(map)
    }

    pub fn bytes(&self) -> &[u8] {
        // SAFETY: so many bytes are mapped readable at the address (or none, and it dangles), until `self` unmaps them; who
        // made the map has promised that they do not change.
        unsafe { slice::from_raw_parts(self.address.as_ptr(), self.length) }
    }

    /// Maps the file anew if it has grown; whether it is at least `wanted` bytes long.
    pub fn grow_to(&mut self, wanted: usize) -> io::Result<bool> {
        if self.length >= wanted {
            return Ok(true);
        }
        let length = usize::try_from(self.file.metadata()?.len()).map_err(io::Error::other)?;
        if length > self.length {
            let flags = MapFlags::PRIVATE | MapFlags::POPULATE;
            // SAFETY: the kernel chooses the place of a new mapping, and no file is written through it.
            let address = unsafe { mmap(ptr::null_mut(), length, ProtFlags::READ, flags, &self.file, 0) }?;
            self.unmap();
            self.address = NonNull::new(address.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
            self.length = length;
        }
        Ok(self.length >= wanted)
    }

    fn unmap(&mut self) {
        if self.length > 0 {
            // SAFETY: it was mapped so, and no borrow of it outlives the borrow of `self`.
            let _ = unsafe { munmap(self.address.as_ptr().cast(), self.length) };
            self.length = 0;
        }
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        self.unmap();
    }
}
