//! What the first touch of a page costs that has no memory behind it: a minor page fault.
//!
//! A region of pages is touched, one byte of each, and given back to the kernel; the tables that lead to its pages stay. What gives it back is no
//! part of a fault.

use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use tollway_core::{Error, Result};

use super::{HUGE_PAGE, Mapping, PAGE, Pages};

/// What is touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Small pages of no file, written to: each is made, zeroed and mapped.
    Anonymous,
    /// Huge pages of no file, written to.
    Huge,
    /// A mapped file whose pages the kernel has already, read. A fault maps the pages around it as well, so it is touched once in
    /// [`AROUND`] bytes.
    File,
}

/// What one fault on a file maps: 16 small pages, the kernel's default (mm/memory.c, `fault_around_bytes`).
pub const AROUND: usize = 16 * PAGE;

/// Faults of one round.
pub const ROUND: u32 = 64;

/// Those of huge pages, which take a thousand times the memory.
const ROUND_HUGE: u32 = 8;

/// A region whose pages are touched again and again.
#[derive(Debug)]
pub struct Region {
    kind: Kind,
    pages: Mapping<u8>,
    kept: u64,
    wrong: u64,
}

/// What each byte of the file is.
const FILLED: u8 = 0x5a;

impl Region {
    /// A region of that kind, untouched.
    ///
    /// # Errors
    /// As of [`Mapping::new`]; [`Error::Missing`] if huge pages were asked for and none came.
    pub fn new(kind: Kind) -> Result<Region> {
        let round = Region::round_of(kind) as usize;
        let pages = match kind {
            Kind::Anonymous => Mapping::new(round * PAGE, Pages::Small)?,
            Kind::Huge => Mapping::new(round * HUGE_PAGE, Pages::Huge)?,
            Kind::File => {
                let refused = |e| Error::system("making a file in memory", e);
                let file = memfd_create("tollway-pages", MemfdFlags::CLOEXEC).map_err(refused)?;
                ftruncate(&file, (round * AROUND) as u64).map_err(refused)?;
                let filled = vec![FILLED; AROUND];
                for i in 0..round {
                    let written = rustix::io::pwrite(&file, &filled, (i * AROUND) as u64);
                    written.map_err(refused)?;
                }
                Mapping::of_file(&file, round * AROUND)?
            }
        };
        let mut region = Region { kind, pages, kept: 0, wrong: 0 };
        // So the tables are made, and it is seen whether the kernel has such pages.
        region.touch();
        if kind == Kind::Huge && region.pages.huge()? == 0 {
            return Err(super::mapping::no_huge_pages("the kernel gave none"));
        }
        region.give_back();
        Ok(region)
    }

    /// Faults of a round.
    pub fn round(&self) -> u32 {
        Region::round_of(self.kind)
    }

    fn round_of(kind: Kind) -> u32 {
        if kind == Kind::Huge { ROUND_HUGE } else { ROUND }
    }

    /// Touches it once for each fault of a round.
    #[inline]
    pub fn touch(&mut self) {
        match self.kind {
            Kind::Anonymous => self.write::<PAGE>(),
            Kind::Huge => self.write::<HUGE_PAGE>(),
            Kind::File => {
                // As a volatile read, since nobody needs what is read but to see that it is the file's.
                let read = |byte: &u8| {
                    // SAFETY: a reference is a valid pointer.
                    unsafe { std::ptr::read_volatile(byte) }
                };
                let touched = self.pages.iter().step_by(AROUND).filter(|byte| read(byte) == FILLED);
                self.wrong += u64::from(ROUND) - touched.count() as u64;
            }
        }
    }

    #[inline]
    fn write<const EVERY: usize>(&mut self) {
        for byte in self.pages.iter_mut().step_by(EVERY) {
            // SAFETY: a reference is a valid pointer. Volatile, so that the compiler keeps a store that nobody reads.
            unsafe { std::ptr::write_volatile(byte, 1) };
        }
    }

    /// Gives its pages back, so that the next touches are faults again.
    pub fn give_back(&mut self) {
        self.kept += u64::from(!self.pages.give_back());
    }

    /// Whether every page was given back when it should, every read brought the file's content, and what is touched is of the pages
    /// asked for. Touches it once more.
    ///
    /// # Errors
    /// [`Error::Wrong`].
    pub fn check(&mut self) -> Result<()> {
        if self.kept > 0 || self.wrong > 0 {
            let Region { kept, wrong, .. } = self;
            return Err(Error::Wrong(format!(
                "pages were kept {kept} times, and {wrong} reads brought something else"
            )));
        }
        self.give_back();
        let fresh = if self.kind == Kind::File { FILLED } else { 0 };
        if self.pages.iter().step_by(PAGE).any(|byte| *byte != fresh) {
            return Err(Error::Wrong("pages that were given back kept what was written".into()));
        }
        self.give_back();
        self.touch();
        let (huge, wanted) =
            (self.pages.huge()?, if self.kind == Kind::Huge { self.pages.len() as u64 } else { 0 });
        if huge != wanted {
            return Err(Error::Wrong(format!("{huge} bytes are of huge pages, not {wanted}")));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use tollway_host::samplers::usage::Usage;

    use super::*;

    fn faults() -> u64 {
        Usage::read().unwrap().minor_faults
    }

    #[test]
    fn each_touch_is_one_fault() {
        for kind in [Kind::Anonymous, Kind::Huge, Kind::File] {
            let mut region = match Region::new(kind) {
                Err(Error::Missing(missing)) => {
                    println!("skipped: {missing}");
                    continue;
                }
                region => region.unwrap(),
            };
            let before = faults();
            for _ in 0..20 {
                region.touch();
                region.give_back();
            }
            let (seen, touched) = (faults() - before, 20 * u64::from(region.round()));
            assert!((touched..touched + 4).contains(&seen), "{kind:?}: {seen} faults of {touched} touches");
            region.check().unwrap();
        }
    }

    #[test]
    fn what_is_not_given_back_is_no_fault_and_is_found() {
        let mut region = Region::new(Kind::Anonymous).unwrap();
        region.touch();
        let before = faults();
        region.touch();
        assert!(faults() - before < u64::from(ROUND));
        region.kept = 1;
        assert!(matches!(region.check(), Err(Error::Wrong(_))));
        let mut file = Region::new(Kind::File).unwrap();
        file.pages.fill(0);
        file.touch();
        assert!(matches!(file.check(), Err(Error::Wrong(_))));
    }
}
