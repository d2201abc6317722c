//! Minor page faults: the first touch of a page that has no memory behind it yet.

use std::os::fd::OwnedFd;
use std::ptr;

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::{pread, pwrite};
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, munmap};
use tollway_core::{Error, Params, Place, Result, Tally};

use super::region::{PAGE, Region};
use super::{Operation, thread_faults};

/// Pages touched in one call.
const PAGES: u32 = 64;

/// Faults of a file's pages in one call.
const SPANS: u32 = 16;
/// Bytes of a file's pages that one fault maps where the page cache has them (`fault_around_bytes` of Linux, 64 KiB if nobody has changed it).
const SPAN: usize = 1 << 16;

/// What pages are of.
enum Pages {
    /// Anonymous memory.
    Anonymous(Region),
    /// A file that the page cache has: read, or written to, which copies it.
    OfFile(FilePages),
}

/// Touches pages that were given back beforehand.
pub struct MinorFault {
    pages: Pages,
    before: u64,
    faults: u64,
    kept: u64,
}

impl Operation for MinorFault {
    fn prepare(params: &Params, _: &Place) -> Result<Self> {
        let kind = if params.get("kind").is_some() { params.word("kind")? } else { "anonymous" };
        let pages = match kind {
            "anonymous" => {
                let mut region = Region::new(PAGES as usize * PAGE)?;
                // The page tables themselves are made here and stay.
                region.touch();
                Pages::Anonymous(region)
            }
            kind => {
                let mut pages = FilePages::new(kind == "copy")?;
                pages.touch();
                Pages::OfFile(pages)
            }
        };
        let mut fault = MinorFault { pages, before: 0, faults: 0, kept: 0 };
        fault.restock();
        fault.before = thread_faults::minor();
        Ok(fault)
    }

    #[inline]
    fn once(&mut self) {
        match &mut self.pages {
            Pages::Anonymous(region) => region.touch(),
            Pages::OfFile(pages) => pages.touch(),
        }
    }

    fn operations(&self) -> u32 {
        match &self.pages {
            Pages::Anonymous(_) => PAGES,
            Pages::OfFile(_) => SPANS,
        }
    }

    fn uses_up(&self) -> bool {
        true
    }

    fn restock(&mut self) {
        let given_back = match &mut self.pages {
            Pages::Anonymous(region) => region.give_back(),
            Pages::OfFile(pages) => pages.give_back(),
        };
        self.kept += u64::from(!given_back);
    }

    fn verify(&mut self, done: u64) -> Result<()> {
        self.faults = thread_faults::minor() - self.before;
        if self.kept > 0 || self.faults < done {
            return Err(Error::Wrong(format!("{done} pages were touched, with {} faults", self.faults)));
        }
        Ok(())
    }

    fn tally(&self, done: u64) -> Tally {
        Tally::default().counter("operations", done).counter("faults", self.faults)
    }
}

/// A file of memory, mapped privately, as programs and libraries are.
struct FilePages {
    start: *mut u8,
    file: OwnedFd,
    is_copied: bool,
    wrong: bool,
}

// SAFETY: the mapping has one owner, and any thread of the process may use and unmap it.
unsafe impl Send for FilePages {}

impl FilePages {
    const LEN: usize = SPANS as usize * SPAN;
    /// What the file is made of.
    const BYTE: u8 = 7;

    fn new(is_copied: bool) -> Result<FilePages> {
        let refused = |e: rustix::io::Errno| Error::system("making a file in memory", e);
        let file = memfd_create("tollway", MemfdFlags::CLOEXEC).map_err(refused)?;
        let bytes = vec![FilePages::BYTE; FilePages::LEN];
        if pwrite(&file, &bytes, 0).map_err(refused)? != bytes.len() {
            return Err(Error::system("filling a file in memory", "it took only a part"));
        }
        let rights = if is_copied { ProtFlags::READ | ProtFlags::WRITE } else { ProtFlags::READ };
        // SAFETY: a new mapping at an address that the kernel chooses overlaps nothing; the file stays as long as it is.
        let start = unsafe { mmap(ptr::null_mut(), FilePages::LEN, rights, MapFlags::PRIVATE, &file, 0) };
        Ok(FilePages { start: start.map_err(refused)?.cast(), file, is_copied, wrong: false })
    }

    /// One touch in each span: a fault each.
    #[inline]
    fn touch(&mut self) {
        for span in 0..SPANS as usize {
            // SAFETY: within the mapping, which is ours alone; stores only where it may be written to.
            unsafe {
                let place = self.start.add(span * SPAN);
                if self.is_copied {
                    place.write_volatile(span as u8);
                } else {
                    self.wrong |= place.read_volatile() != FilePages::BYTE;
                }
            }
        }
    }

    /// Forgets the pages; whether what was read was right, and what was written is not in the file.
    fn give_back(&mut self) -> bool {
        // SAFETY: exactly this mapping; nobody relies on what its pages hold.
        let given = unsafe { madvise(self.start.cast(), FilePages::LEN, Advice::LinuxDontNeed) }.is_ok();
        let mut found = [0];
        let is_left = pread(&self.file, &mut found, SPAN as u64) == Ok(1) && found[0] == FilePages::BYTE;
        given && is_left && !self.wrong
    }
}

impl Drop for FilePages {
    fn drop(&mut self) {
        // SAFETY: exactly what was mapped; no reference to it is left.
        let _ = unsafe { munmap(self.start.cast(), FilePages::LEN) };
    }
}

/// Gives one page back and touches it again.
pub struct GiveBackAndTouch {
    page: Region,
    before: u64,
    faults: u64,
    kept: u64,
}

impl Operation for GiveBackAndTouch {
    fn prepare(_: &Params, _: &Place) -> Result<Self> {
        let mut page = Region::new(PAGE)?;
        page.touch();
        Ok(GiveBackAndTouch { page, before: thread_faults::minor(), faults: 0, kept: 0 })
    }

    #[inline]
    fn once(&mut self) {
        self.kept += u64::from(!self.page.give_back());
        self.page.touch();
    }

    fn verify(&mut self, done: u64) -> Result<()> {
        self.faults = thread_faults::minor() - self.before;
        if self.kept > 0 || self.faults < done {
            return Err(Error::Wrong(format!(
                "{done} times a page was given back, with {} faults",
                self.faults
            )));
        }
        if !self.page.give_back() || self.page.bytes().iter().any(|b| *b != 0) {
            return Err(Error::Wrong("a page that was given back kept its content".into()));
        }
        Ok(())
    }

    fn tally(&self, done: u64) -> Tally {
        Tally::default().counter("operations", done).counter("faults", self.faults)
    }
}
