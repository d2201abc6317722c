//! A file's length: made longer by writing, and shorter.

use std::os::fd::OwnedFd;

use rustix::fs::{OFlags, fstat, ftruncate};
use rustix::io::{Errno, pread, pwrite};
use tollway_core::{Error, Result};
use tollway_host::scratch::{folder, nameless};

use super::files::lacks;
use super::{IN_A_ROW, Row, Single};

/// Bytes of a page.
const PAGE: usize = 4096;

/// Bytes from which on a file is emptied again: twice what last caches hold, so that the pages it gets are in none, as
/// those of a program that goes on writing.
const LONG: u64 = 64 << 20;

/// Files of a sample that are cut.
const FILES: u32 = 8;

fn file() -> Result<OwnedFd> {
    let folder = folder();
    nameless(&folder, OFlags::empty()).map_err(|e: Errno| lacks("a scratch file", &folder, &e))
}

pub(super) fn append(size: usize, row: Row) -> Result<Box<dyn Single>> {
    let bytes = vec![1; size];
    let step = size.next_multiple_of(PAGE) as u64;
    Ok(Box::new(Append { file: file()?, end: 0, step, last: None, bytes, row: row.of(IN_A_ROW) }))
}

/// The same, of calls each of which begins where the one before ended.
pub(super) fn append_packed(size: usize, row: Row) -> Result<Box<dyn Single>> {
    let bytes = vec![1; size];
    Ok(Box::new(Append {
        file: file()?,
        end: 0,
        step: size as u64,
        last: None,
        bytes,
        row: row.of(IN_A_ROW),
    }))
}

pub(super) fn cut(_: usize, row: Row) -> Result<Box<dyn Single>> {
    let files = (0..row.of(FILES)).map(|_| file()).collect::<Result<_>>()?;
    Ok(Box::new(Cut { files, pending: false }))
}

/// pwrite where nothing is yet.
struct Append {
    file: OwnedFd,
    end: u64,
    /// From where one call begins to where the next does.
    step: u64,
    /// Where the last call wrote.
    last: Option<u64>,
    bytes: Vec<u8>,
    row: u32,
}

impl Append {
    /// Whether the file is as long as the last call made it, and holds what that wrote.
    fn is_right(&self) -> bool {
        let Some(last) = self.last else { return true };
        let mut found = vec![0; self.bytes.len()];
        let length = fstat(&self.file).map(|about| about.st_size as u64);
        length == Ok(last + self.bytes.len() as u64)
            && pread(&self.file, &mut found[..], last) == Ok(found.len())
            && found == self.bytes
    }
}

impl Single for Append {
    fn count(&self) -> u32 {
        self.row
    }

    #[inline]
    fn calls(&mut self) -> u32 {
        let mut right = 0;
        for _ in 0..self.row {
            right += u32::from(pwrite(&self.file, &self.bytes, self.end) == Ok(self.bytes.len()));
            self.last = Some(self.end);
            self.end += self.step;
        }
        right
    }

    fn uses_up(&self) -> bool {
        true
    }

    fn restock(&mut self) -> bool {
        if self.end < LONG {
            return true;
        }
        let right = self.is_right();
        (self.end, self.last) = (0, None);
        ftruncate(&self.file, 0).is_ok() && right
    }

    fn verify(&mut self, done: u64) -> Result<()> {
        if self.is_right() {
            return Ok(());
        }
        Err(Error::Wrong(format!("after {done} calls the file does not hold what the last one wrote")))
    }
}

/// ftruncate to nothing of a file of one page, which is in the page cache and not yet on the disk.
struct Cut {
    files: Vec<OwnedFd>,
    pending: bool,
}

impl Single for Cut {
    fn count(&self) -> u32 {
        self.files.len() as u32
    }

    #[inline]
    fn calls(&mut self) -> u32 {
        self.pending = true;
        self.files.iter().map(|file| u32::from(ftruncate(file, 0).is_ok())).sum()
    }

    fn uses_up(&self) -> bool {
        true
    }

    fn restock(&mut self) -> bool {
        let pending = std::mem::take(&mut self.pending);
        let empty = |file: &OwnedFd| fstat(file).is_ok_and(|about| about.st_size == 0);
        let cut = !pending || self.files.iter().all(empty);
        self.files.iter().all(|file| pwrite(file, &[1; PAGE], 0) == Ok(PAGE)) && cut
    }
}
