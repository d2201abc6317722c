//! Memory for one owner: zeroes, of pages of a known kind, at the beginning of one, given back when dropped.

use std::ffi::c_void;
use std::fs;
use std::ops::{Deref, DerefMut};
use std::os::fd::OwnedFd;
use std::ptr::{self, NonNull};

use rustix::mm::{
    Advice, MapFlags, MprotectFlags, ProtFlags, madvise, mmap, mmap_anonymous, mprotect, munmap,
};
use tollway_core::{Error, Missing, Result};

/// A page of x86-64.
pub const PAGE: usize = 4096;

/// A huge page of x86-64.
pub const HUGE_PAGE: usize = 2 << 20;

/// Which pages memory is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pages {
    /// As the kernel gives them to a program that says nothing.
    Own,
    /// 4 KiB.
    Small,
    /// 2 MiB, wherever the kernel has them: [`Mapping::huge`] tells how many came.
    Huge,
}

/// What memory of zeroes may be seen as.
///
/// # Safety
/// Bytes that are all zero are a value; it needs no page's alignment, and any thread may have it.
pub unsafe trait Zeroed: Copy {}

// SAFETY: zeroes are a number, and anybody's.
unsafe impl Zeroed for u8 {}
// SAFETY: as above.
unsafe impl Zeroed for f64 {}

/// A mapping of `T`s, zeroes until they are written. A page has memory behind it from its first touch on.
///
/// It lies between pages without access, which keep the kernel from joining it with its neighbours: what happens to it does not depend on what
/// else is mapped nearby.
#[derive(Debug)]
pub struct Mapping<T> {
    whole: NonNull<u8>,
    mapped: usize,
    start: NonNull<T>,
    count: usize,
}

// SAFETY: the mapping has one owner, any thread may use and unmap it, and what it holds may be any thread's.
unsafe impl<T: Zeroed> Send for Mapping<T> {}

impl<T: Zeroed> Mapping<T> {
    /// Maps so many.
    ///
    /// # Errors
    /// [`Error::System`] if the kernel refuses, [`Error::Missing`] if it knows no huge pages and they were asked for.
    pub fn new(count: usize, pages: Pages) -> Result<Mapping<T>> {
        let unit = if pages == Pages::Huge { HUGE_PAGE } else { PAGE };
        let mapping = Mapping::reserve(count, unit)?;
        let (address, bytes) = mapping.inside();
        // SAFETY: the range is inside the new mapping, which nobody else knows of.
        unsafe { mprotect(address, bytes, MprotectFlags::READ | MprotectFlags::WRITE) }
            .map_err(|e| Error::system(format!("mapping {bytes} bytes"), e))?;
        let advice = match pages {
            Pages::Own => return Ok(mapping),
            Pages::Small => Advice::LinuxNoHugepage,
            Pages::Huge => Advice::LinuxHugepage,
        };
        // SAFETY: the advice is about this mapping alone and changes nothing that it holds.
        match unsafe { madvise(address, bytes, advice) } {
            // A kernel without huge pages refuses either advice, which leaves small ones.
            Err(refused) if pages == Pages::Huge => Err(no_huge_pages(&refused.to_string())),
            _ => Ok(mapping),
        }
    }

    /// Maps so many of a file that is long enough and that nobody makes shorter. What is written there stays here.
    ///
    /// # Errors
    /// [`Error::System`] if the kernel refuses.
    pub(super) fn of_file(file: &OwnedFd, count: usize) -> Result<Mapping<T>> {
        let mapping = Mapping::reserve(count, PAGE)?;
        let (address, bytes) = mapping.inside();
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: it replaces nothing but pages of the new mapping, which nobody else knows of.
        unsafe { mmap(address, bytes, access, MapFlags::PRIVATE | MapFlags::FIXED, file, 0) }
            .map_err(|e| Error::system(format!("mapping {bytes} bytes of a file"), e))?;
        Ok(mapping)
    }

    /// Room for so many, from the beginning of a page of `unit` bytes on, that cannot be touched yet.
    fn reserve(count: usize, unit: usize) -> Result<Mapping<T>> {
        let bytes = count.saturating_mul(size_of::<T>()).max(1);
        // Before it a page and what is skipped, behind it what fills the last unit, and a page.
        let mapped = bytes.saturating_add(2 * unit + PAGE).next_multiple_of(PAGE);
        // SAFETY: a new mapping at an address that the kernel chooses overlaps nothing.
        let whole = unsafe { mmap_anonymous(ptr::null_mut(), mapped, ProtFlags::empty(), MapFlags::PRIVATE) };
        let whole = whole.map_err(|e| Error::system(format!("mapping {mapped} bytes"), e))?.cast::<u8>();
        let start = whole.wrapping_add(PAGE);
        let start = start.wrapping_add(start.align_offset(unit)).cast::<T>();
        match (NonNull::new(whole), NonNull::new(start)) {
            (Some(whole), Some(start)) => Ok(Mapping { whole, mapped, start, count }),
            _ => Err(Error::system("mapping memory", "the kernel mapped address 0")),
        }
    }

    /// Where it begins, and its length in bytes: whole pages.
    fn inside(&self) -> (*mut c_void, usize) {
        let bytes = (self.count * size_of::<T>()).max(1).next_multiple_of(PAGE);
        (self.start.as_ptr().cast(), bytes)
    }

    /// Gives all pages back to the kernel: they read as before they were first written, and the next touch of each is a fault. Returns
    /// whether the kernel did so.
    pub fn give_back(&mut self) -> bool {
        let (address, bytes) = self.inside();
        // SAFETY: the range is this mapping, borrowed exclusively: nobody relies on what its pages hold.
        unsafe { madvise(address, bytes, Advice::LinuxDontNeed) }.is_ok()
    }

    /// Bytes of it that huge pages are behind at the moment.
    ///
    /// # Errors
    /// [`Error::System`] if the kernel does not tell.
    pub fn huge(&self) -> Result<u64> {
        let told = fs::read_to_string("/proc/self/smaps")
            .map_err(|e| Error::system("reading /proc/self/smaps", e))?;
        let (address, bytes) = self.inside();
        Ok(huge_at(&told, address as usize, address as usize + bytes))
    }
}

/// Huge bytes of those areas of a text of smaps that lie between two addresses.
fn huge_at(told: &str, from: usize, to: usize) -> u64 {
    let (mut inside, mut huge) = (false, 0);
    for line in told.lines() {
        let mut words = line.split_whitespace();
        let Some(first) = words.next() else { continue };
        let bounds = first.split_once('-').and_then(|(a, b)| {
            Some((usize::from_str_radix(a, 16).ok()?, usize::from_str_radix(b, 16).ok()?))
        });
        if let Some((begin, end)) = bounds {
            inside = from <= begin && end <= to;
        } else if inside && first == "AnonHugePages:" {
            huge += words.next().and_then(|kib| kib.parse::<u64>().ok()).unwrap_or_default() * 1024;
        }
    }
    huge
}

/// The error where huge pages were asked for and none came.
pub(crate) fn no_huge_pages(reason: &str) -> Error {
    let setting = fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").unwrap_or_default();
    let setting = match setting.trim() {
        "" => "this kernel has none",
        setting => setting,
    };
    Error::Missing(Missing::new(
        "transparent huge pages",
        format!("{reason} (the kernel's setting: {setting})"),
        "as root: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled; free memory that is in one piece",
    ))
}

impl<T: Zeroed> Deref for Mapping<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: so many of `T` are mapped, readable and initialised (by zeroes or a file's bytes, at first) for as long as `self`; to
        // write takes `&mut self`.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.count) }
    }
}

impl<T: Zeroed> DerefMut for Mapping<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `deref`, and writable; `&mut self` makes this the only view.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.count) }
    }
}

impl<T> Drop for Mapping<T> {
    fn drop(&mut self) {
        // SAFETY: all that `reserve` mapped and `self` owns; no borrow of it outlives `self`.
        let _ = unsafe { munmap(self.whole.as_ptr().cast(), self.mapped) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_zeroes_until_it_is_written_and_once_it_is_given_back() {
        for pages in [Pages::Own, Pages::Small] {
            let mut mapping = Mapping::<f64>::new(1000, pages).unwrap();
            assert_eq!((mapping.len(), mapping.as_ptr() as usize % PAGE), (1000, 0));
            assert!(mapping.iter().all(|x| *x == 0.0));
            mapping.fill(2.5);
            assert_eq!(mapping.iter().sum::<f64>(), 2500.0);
            assert!(mapping.give_back());
            assert!(mapping.iter().all(|x| *x == 0.0));
        }
    }

    #[test]
    fn small_pages_are_small_and_huge_ones_are_counted() {
        let mut small = Mapping::<u8>::new(2 * HUGE_PAGE, Pages::Small).unwrap();
        small.fill(1);
        assert_eq!(small.huge(), Ok(0));
        let mut huge = match Mapping::<u8>::new(2 * HUGE_PAGE, Pages::Huge) {
            Err(Error::Missing(missing)) => return println!("skipped: {missing}"),
            mapped => mapped.unwrap(),
        };
        assert_eq!(huge.as_ptr() as usize % HUGE_PAGE, 0);
        assert_eq!(huge.huge(), Ok(0));
        huge.fill(1);
        assert!(huge.huge().unwrap() <= 2 * HUGE_PAGE as u64);
    }

    #[test]
    fn only_areas_between_the_addresses_are_counted() {
        let area = |bounds: &str, kib: u32| {
            format!("{bounds} rw-p 0 00:00 0 \nRss: 9 kB\nAnonHugePages:  {kib} kB\n")
        };
        let told = area("1000-3000", 2) + &area("3000-5000", 4) + &area("5000-7000", 8) + "odd\n";
        assert_eq!(huge_at(&told, 0x3000, 0x7000), 12 * 1024);
        assert_eq!(huge_at(&told, 0x3000, 0x6fff), 4 * 1024);
        assert_eq!(huge_at("", 0, usize::MAX), 0);
    }
}
