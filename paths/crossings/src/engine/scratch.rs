//! A file of our own on a disk, without a name: whatever happens, nothing is left behind.

use std::os::fd::OwnedFd;
use std::path::PathBuf;

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl, fsync};
use rustix::io::{pread, pwrite};
use tollway_core::{Error, Missing, Params, Result};
use tollway_host::scratch::{FOLDER, folder, nameless};

use super::region::Region;

/// A file of `count` blocks of `size` bytes, and a buffer for one block.
///
/// A block begins with its stamp; the bytes after are made of it, so a block can be checked whole.
pub struct Scratch {
    file: OwnedFd,
    folder: PathBuf,
    buffer: Region,
    size: usize,
    count: u64,
}

impl Scratch {
    /// Makes the file with `count` blocks of the axis `size`, block `i` stamped `i`, all of it written to the disk.
    pub fn new(params: &Params, count: u64) -> Result<Scratch> {
        let size = params.int("size")? as usize;
        let folder = folder();
        let file = nameless(&folder, OFlags::empty()).map_err(|e| {
            Error::Missing(Missing::new(
                format!("a scratch file in {}", folder.display()),
                e.to_string(),
                format!("name a folder on a disk that may be written to in {FOLDER}"),
            ))
        })?;
        let mut scratch = Scratch { file, folder, buffer: Region::new(size)?, size, count };
        for block in 0..count {
            scratch.stamp(block);
            if !scratch.write(block) {
                let reason = "the disk did not take a whole block: is it full?";
                return Err(Error::system("filling the scratch file", reason));
            }
        }
        fsync(&scratch.file).map_err(|e| Error::system("filling the scratch file", e))?;
        Ok(scratch)
    }

    /// From here on the file is read and written past the page cache. Reads a block into the buffer to see that it is.
    pub fn direct(&mut self) -> Result<()> {
        let refused = |e: rustix::io::Errno| {
            Error::Missing(Missing::new(
                format!("O_DIRECT in {}, {} bytes at a time", self.folder.display(), self.size),
                e.to_string(),
                format!("name a folder on ext4, XFS or btrfs in {FOLDER}; take a size of whole sectors"),
            ))
        };
        let flags = fcntl_getfl(&self.file).map_err(refused)?;
        fcntl_setfl(&self.file, flags | OFlags::DIRECT).map_err(refused)?;
        // Some file systems take the flag and refuse the reading.
        pread(&self.file, &mut self.buffer.bytes_mut()[..self.size], 0).map(drop).map_err(refused)
    }

    /// How many blocks there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Fills the buffer with what a block of that stamp holds.
    pub fn stamp(&mut self, stamp: u64) {
        for (i, word) in self.buffer.bytes_mut()[..self.size].chunks_exact_mut(8).enumerate() {
            word.copy_from_slice(&stamp.wrapping_add((i as u64) << 32).to_le_bytes());
        }
    }

    /// Changes the stamp only: the cheap part of [`Scratch::stamp`], enough to tell one write from the next.
    #[inline]
    pub fn restamp(&mut self, stamp: u64) {
        if let Some(word) = self.buffer.bytes_mut().first_chunk_mut() {
            *word = stamp.to_le_bytes();
        }
    }

    /// The buffer's stamp.
    #[inline]
    pub fn stamped(&self) -> u64 {
        self.buffer.bytes().first_chunk().map_or(0, |word| u64::from_le_bytes(*word))
    }

    /// Whether the buffer is as [`Scratch::stamp`] with `body` made it, restamped with `stamp`.
    pub fn holds(&self, stamp: u64, body: u64) -> bool {
        let words = self.buffer.bytes()[..self.size].chunks_exact(8);
        self.stamped() == stamp
            && words
                .enumerate()
                .skip(1)
                .all(|(i, word)| *word == body.wrapping_add((i as u64) << 32).to_le_bytes())
    }

    /// Reads a block into the buffer; `false` if not all of it came.
    #[inline]
    pub fn read(&mut self, block: u64) -> bool {
        let at = block * self.size as u64;
        pread(&self.file, &mut self.buffer.bytes_mut()[..self.size], at) == Ok(self.size)
    }

    /// Writes the buffer to a block; `false` if not all of it went.
    #[inline]
    pub fn write(&mut self, block: u64) -> bool {
        pwrite(&self.file, &self.buffer.bytes()[..self.size], block * self.size as u64) == Ok(self.size)
    }

    /// Makes everything written so far durable; `false` if the disk refused.
    #[inline]
    pub fn sync(&self) -> bool {
        fsync(&self.file).is_ok()
    }
}
