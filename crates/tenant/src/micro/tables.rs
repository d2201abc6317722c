//! Page tables of the guest: four levels, 4 KiB pages and 2 MiB pages where a mapping covers them, written into memory
//! that the guest itself cannot reach.

use std::ops::Range;

use super::own::{LARGE, PAGE};

const PRESENT: u64 = 1;
const WRITE: u64 = 1 << 1;
const USER: u64 = 1 << 2;
/// Accessed and dirty from the start: nobody needs to write them, on any KVM.
const TOUCHED: u64 = 0x60;
const LARGE_PAGE: u64 = 1 << 7;
const NO_EXECUTE: u64 = 1 << 63;
const ADDRESS: u64 = 0x000f_ffff_ffff_f000;

/// Who may do what with a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Access {
    pub(super) user: bool,
    pub(super) write: bool,
    pub(super) execute: bool,
}

impl Access {
    fn bits(self) -> u64 {
        PRESENT
            | TOUCHED
            | if self.write { WRITE } else { 0 }
            | if self.user { USER } else { 0 }
            | if self.execute { 0 } else { NO_EXECUTE }
    }
}

/// Page tables under construction: `memory` is seen by the guest at guest-physical address `physical`.
#[derive(Debug)]
pub(super) struct Tables<'a> {
    memory: &'a mut [[u64; 512]],
    physical: u64,
    used: usize,
}

/// The memory for tables is used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Full;

impl<'a> Tables<'a> {
    /// Empty tables in `memory`, which must be zero; the root is its first page.
    pub(super) fn new(memory: &'a mut [[u64; 512]], physical: u64) -> Self {
        Tables { memory, physical, used: 1 }
    }

    /// Guest-physical address of the root.
    pub(super) fn root(&self) -> u64 {
        self.physical
    }

    /// Maps the virtual range `range` to guest-physical memory from `physical` on.
    pub(super) fn map(&mut self, range: Range<usize>, physical: u64, access: Access) -> Result<(), Full> {
        let mut at = range.start;
        while at < range.end {
            let target = physical + (at - range.start) as u64;
            let directory = self.descend(0, at, 39).and_then(|t| self.descend(t, at, 30))?;
            if at.is_multiple_of(LARGE) && (target as usize).is_multiple_of(LARGE) && range.end - at >= LARGE
            {
                self.memory[directory][(at >> 21) & 511] = target | access.bits() | LARGE_PAGE;
                at += LARGE;
                continue;
            }
            let table = self.descend(directory, at, 21)?;
            let end = range.end.min((at & !(LARGE - 1)) + LARGE);
            for page in (at..end).step_by(PAGE) {
                let target = physical + (page - range.start) as u64;
                self.memory[table][(page >> 12) & 511] = target | access.bits();
            }
            at = end;
        }
        Ok(())
    }

    /// The table below `table` for address `at`, made if it is not there.
    fn descend(&mut self, table: usize, at: usize, shift: u32) -> Result<usize, Full> {
        let index = (at >> shift) & 511;
        let entry = self.memory[table][index];
        if entry & PRESENT != 0 {
            return Ok(((entry & ADDRESS) - self.physical) as usize / PAGE);
        }
        if self.used == self.memory.len() {
            return Err(Full);
        }
        let next = self.used;
        self.used += 1;
        self.memory[table][index] = (self.physical + (next * PAGE) as u64) | PRESENT | WRITE | USER | TOUCHED;
        Ok(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the processor would find for `at`: target and entry.
    fn walk(tables: &Tables<'_>, at: usize) -> Option<(u64, u64)> {
        let mut table = 0;
        for shift in [39, 30, 21, 12] {
            let entry = tables.memory[table][(at >> shift) & 511];
            if entry & PRESENT == 0 {
                return None;
            }
            if shift == 12 || entry & LARGE_PAGE != 0 {
                let mask = (1u64 << shift) - 1;
                return Some(((entry & ADDRESS & !mask) | (at as u64 & mask), entry));
            }
            table = ((entry & ADDRESS) - tables.physical) as usize / PAGE;
        }
        None
    }

    /// Every page of a range that begins and ends raggedly is found; large pages are used in the middle.
    #[test]
    fn ragged_ranges_are_mapped() {
        let mut memory = vec![[0u64; 512]; 16];
        let mut tables = Tables::new(&mut memory, 0x10_0000);
        let range = 0x7f12_345f_d000..0x7f12_3500_3000;
        let physical = 0x1_001f_d000;
        let access = Access { user: true, write: true, execute: false };
        tables.map(range.clone(), physical, access).unwrap();
        for page in range.clone().step_by(PAGE) {
            let (target, entry) = walk(&tables, page + 5).unwrap();
            assert_eq!(target, physical + (page - range.start) as u64 + 5);
            assert!(entry & NO_EXECUTE != 0 && entry & USER != 0);
        }
        assert!(walk(&tables, range.start - 1).is_none() && walk(&tables, range.end).is_none());
        assert!(walk(&tables, 0x7f12_3470_0000).unwrap().1 & LARGE_PAGE != 0);
        assert_eq!(tables.used, 5);
    }

    /// Too little memory for tables is an error, not a panic.
    #[test]
    fn full_is_an_error() {
        let mut memory = vec![[0u64; 512]; 2];
        let access = Access { user: true, write: false, execute: true };
        assert_eq!(Tables::new(&mut memory, 0).map(0..PAGE, 0, access), Err(Full));
    }
}
