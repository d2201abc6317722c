//! Anonymous memory mapped, unmapped and given back, none of it touched.

use std::ffi::c_void;
use std::ptr;

use rustix::mm::{Advice, MapFlags, MprotectFlags, ProtFlags, madvise, mmap_anonymous, mprotect, munmap};
use tollway_core::Result;

use super::{IN_A_ROW, Row, Single};
use crate::engine::region::{PAGE, Region};

/// Bytes of a mapping.
const LENGTH: usize = 1 << 16;

/// Calls of a sample.
const CALLS: u32 = 16;

pub(super) fn map(_: usize, row: Row) -> Result<Box<dyn Single>> {
    Ok(Box::new(Map(Mappings::new(row))))
}

pub(super) fn unmap(_: usize, row: Row) -> Result<Box<dyn Single>> {
    Ok(Box::new(Unmap { mappings: Mappings::new(row), touches: false }))
}

pub(super) fn unmap_touched(_: usize, row: Row) -> Result<Box<dyn Single>> {
    Ok(Box::new(Unmap { mappings: Mappings::new(row), touches: true }))
}

pub(super) fn advise(_: usize, row: Row) -> Result<Box<dyn Single>> {
    Ok(Box::new(GiveBack(Region::new(LENGTH)?, row.of(IN_A_ROW))))
}

/// Mappings side by side that the kernel does not join: each second one may be written to.
struct Mappings {
    starts: Vec<*mut c_void>,
    calls: u32,
}

// SAFETY: the mappings have one owner, and any thread of the process may unmap them.
unsafe impl Send for Mappings {}

impl Mappings {
    fn new(row: Row) -> Mappings {
        Mappings { starts: row.room(CALLS), calls: row.of(CALLS) }
    }

    #[inline]
    fn map(&mut self) -> u32 {
        let mut right = 0;
        while self.starts.len() < self.calls as usize {
            let rights = match self.starts.len() % 2 {
                0 => ProtFlags::READ | ProtFlags::WRITE,
                _ => ProtFlags::READ,
            };
            // SAFETY: a new mapping at an address that the kernel chooses overlaps nothing.
            match unsafe { mmap_anonymous(ptr::null_mut(), LENGTH, rights, MapFlags::PRIVATE) } {
                Ok(start) => self.starts.push(start),
                Err(_) => break,
            }
            right += 1;
        }
        right
    }

    /// Has each page of each be there; whether that could be done.
    fn touch(&self) -> bool {
        let rights = |start: *mut c_void, rights: MprotectFlags| {
            // SAFETY: the mapping is ours alone, and nobody else knows of it.
            unsafe { mprotect(start, LENGTH, rights) }.is_ok()
        };
        self.starts.iter().enumerate().all(|(number, start)| {
            // SAFETY: the same. Without huge pages each page comes by itself; a kernel that has none refuses.
            let _ = unsafe { madvise(*start, LENGTH, Advice::LinuxNoHugepage) };
            // A page that is only read would be the one of zeroes.
            if !rights(*start, MprotectFlags::READ | MprotectFlags::WRITE) {
                return false;
            }
            for page in (0..LENGTH).step_by(PAGE) {
                // SAFETY: within the mapping, which may be written to.
                unsafe { start.cast::<u8>().add(page).write_volatile(1) };
            }
            // As `map` makes them, so that they stay apart.
            number % 2 == 0 || rights(*start, MprotectFlags::READ)
        })
    }

    #[inline]
    fn unmap(&mut self) -> u32 {
        let mut right = 0;
        for start in self.starts.drain(..) {
            // SAFETY: exactly what was mapped by `map`; no reference to it exists.
            right += u32::from(unsafe { munmap(start, LENGTH) }.is_ok());
        }
        right
    }
}

impl Drop for Mappings {
    fn drop(&mut self) {
        self.unmap();
    }
}

/// mmap.
struct Map(Mappings);

impl Single for Map {
    fn count(&self) -> u32 {
        self.0.calls
    }

    #[inline]
    fn calls(&mut self) -> u32 {
        self.0.map()
    }

    fn uses_up(&self) -> bool {
        true
    }

    fn restock(&mut self) -> bool {
        let there = self.0.starts.len();
        self.0.unmap() as usize == there
    }
}

/// munmap of what has no page, or all of them.
struct Unmap {
    mappings: Mappings,
    touches: bool,
}

impl Single for Unmap {
    fn count(&self) -> u32 {
        self.mappings.calls
    }

    #[inline]
    fn calls(&mut self) -> u32 {
        self.mappings.unmap()
    }

    fn uses_up(&self) -> bool {
        true
    }

    fn restock(&mut self) -> bool {
        self.mappings.map();
        self.mappings.starts.len() == self.mappings.calls as usize && (!self.touches || self.mappings.touch())
    }
}

/// madvise(MADV_DONTNEED) of memory that has no page.
struct GiveBack(Region, u32);

impl Single for GiveBack {
    fn count(&self) -> u32 {
        self.1
    }

    #[inline]
    fn calls(&mut self) -> u32 {
        let (start, length) = (self.0.address(), self.0.len());
        (0..self.1)
            .map(|_| {
                // SAFETY: the range is this region, borrowed exclusively: nobody relies on what its pages hold.
                u32::from(unsafe { madvise(start, length, Advice::LinuxDontNeed) }.is_ok())
            })
            .sum()
    }
}
