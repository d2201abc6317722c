//! A file of our own: without a name, so that nothing is left of it, and of which it is known what it must hold.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{
    Advice, FallocateFlags, OFlags, fadvise, fallocate, fcntl_getfl, fcntl_setfl, fdatasync, fstatvfs,
};
use rustix::io::{Errno, pread, pwrite};
use tollway_core::{Error, Missing, Result};
use tollway_host::scratch::{FOLDER, nameless};

use super::content::{self, SECTOR};
use super::memory::Memory;

/// Bytes that are written together when the file is made: enough for a disk to have several under way.
const PIECE: usize = 4 << 20;

/// What is left free beside the file, for all others of the disk.
const SPARED: u64 = 16 << 20;

/// A file full of [content] that was written to the disk.
pub struct TestFile {
    file: OwnedFd,
    folder: PathBuf,
    /// Of each sector, how often it was written, from what it began with.
    generations: Vec<u32>,
}

impl TestFile {
    /// Makes one in a folder: `bytes` are whole sectors. Two of different `seed` do not hold the same.
    ///
    /// # Errors
    /// [`Error::Missing`] where the folder has no room for it, or cannot be written to.
    pub fn make(folder: &Path, bytes: u64, seed: u64) -> Result<TestFile> {
        let missing = |reason: String| {
            let what = format!("room for a file of {} MiB in {}", bytes >> 20, folder.display());
            let remedy =
                format!("name a folder on a disk with more room in {FOLDER}, or ask for a smaller file");
            Error::Missing(Missing::new(what, reason, remedy))
        };
        let file = nameless(folder, OFlags::empty()).map_err(|e| missing(e.to_string()))?;
        let room = fstatvfs(&file).map_err(|e| missing(e.to_string()))?;
        let free = room.f_bavail.saturating_mul(room.f_frsize);
        // A file system that tells of no blocks at all does not tell.
        if room.f_blocks > 0 && free < bytes.saturating_add(SPARED) {
            return Err(missing(format!("{} MiB are free, {} are spared", free >> 20, SPARED >> 20)));
        }
        match fallocate(&file, FallocateFlags::empty(), 0, bytes) {
            // Some file systems have none; then writing finds out.
            Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS) => {}
            Err(error) => return Err(missing(error.to_string())),
        }
        let mut made = TestFile { file, folder: folder.into(), generations: Vec::new() };
        made.fill(bytes, seed)?;
        Ok(made)
    }

    /// Writes all of it, past the page cache where that can be.
    fn fill(&mut self, bytes: u64, seed: u64) -> Result<()> {
        self.generations = vec![seed as u32; (bytes / SECTOR as u64) as usize];
        let _ = self.pass_cache(true);
        let mut memory = Memory::new(PIECE)?;
        content::fill(memory.part(0, PIECE), seed);
        let mut at = 0;
        while at < bytes {
            let size = PIECE.min((bytes - at) as usize);
            let piece = memory.part(0, size);
            let first = at / SECTOR as u64;
            content::stamp(piece, first, self.generations[first as usize..].iter().copied());
            let written = pwrite(&self.file, piece, at).map_err(|e| self.refused("writing", at, e))?;
            // What is not a whole sector is written again.
            at += (written / SECTOR * SECTOR) as u64;
            if written < SECTOR {
                return Err(self.refused("writing", at, Errno::NOSPC));
            }
        }
        self.sync()
    }

    /// Its bytes.
    pub fn bytes(&self) -> u64 {
        self.generations.len() as u64 * SECTOR as u64
    }

    /// Waits until the disk has all that was written.
    pub fn sync(&self) -> Result<()> {
        fdatasync(&self.file).map_err(|e| self.refused("writing", 0, e))
    }

    /// Has blocks of `size` bytes go past the page cache from here on, or through it, which then holds nothing of the file.
    ///
    /// # Errors
    /// [`Error::Missing`] where the file system or the disk does not take such blocks.
    pub fn access(&self, direct: bool, size: usize) -> Result<()> {
        let what = |e: Errno| {
            Error::Missing(Missing::new(
                format!("O_DIRECT in {}, {size} bytes at a time", self.folder.display()),
                e.to_string(),
                format!(
                    "name a folder on ext4, XFS or btrfs in {FOLDER}; take a size of whole sectors of its disk"
                ),
            ))
        };
        self.pass_cache(direct).map_err(what)?;
        if direct {
            // Some file systems take the flag and refuse the reading.
            pread(&self.file, Memory::new(size)?.part(0, size), size as u64).map_err(what)?;
        }
        self.sync()?;
        fadvise(&self.file, 0, None, Advice::DontNeed)
            .map_err(|e| Error::system("emptying the page cache of a file", e))
    }

    fn pass_cache(&self, direct: bool) -> Result<(), Errno> {
        let flags = fcntl_getfl(&self.file)?;
        fcntl_setfl(&self.file, if direct { flags | OFlags::DIRECT } else { flags - OFlags::DIRECT })
    }

    /// Makes `block` what is written of it next.
    pub(super) fn stamp(&self, block: &mut [u8], at: u64) {
        let first = at / SECTOR as u64;
        let next = self.generations[first as usize..].iter().map(|generation| generation.wrapping_add(1));
        content::stamp(block, first, next);
    }

    /// Says that what was stamped so has been written.
    pub(super) fn written(&mut self, at: u64, bytes: usize) {
        for generation in &mut self.generations[(at / SECTOR as u64) as usize..][..bytes / SECTOR] {
            *generation = generation.wrapping_add(1);
        }
    }

    /// Whether a block that was read says that it is what was written last, by the stamps of its ends.
    pub(super) fn bears(&self, block: &[u8], at: u64) -> bool {
        let first = at / SECTOR as u64;
        let last = block.len() / SECTOR - 1;
        [0, last].into_iter().all(|i| {
            let number = first + i as u64;
            let sector = &block[i * SECTOR..][..SECTOR];
            content::bears(sector, number, self.generations[number as usize])
        })
    }

    /// Reads blocks of `size` bytes from the disk and checks each of their bytes.
    ///
    /// # Errors
    /// [`Error::Wrong`] where one does not hold what was written last.
    pub fn check(&self, size: usize, blocks: impl Iterator<Item = u64>) -> Result<()> {
        match self.access(true, size) {
            // Then what the page cache has written must do.
            Ok(()) | Err(Error::Missing(_)) => {}
            Err(error) => return Err(error),
        }
        let mut memory = Memory::new(size)?;
        let block = memory.part(0, size);
        for number in blocks {
            let at = number * size as u64;
            let read = pread(&self.file, &mut *block, at).map_err(|e| self.refused("reading", at, e))?;
            let first = at / SECTOR as u64;
            let generations = &self.generations[first as usize..];
            let mut sectors = block[..read].chunks_exact(SECTOR).zip(first..).zip(generations);
            let whole =
                sectors.all(|((sector, number), generation)| content::holds(sector, number, *generation));
            if !whole || read != size {
                return Err(Error::Wrong(format!(
                    "block {number} of {size} bytes is not what was written last"
                )));
            }
        }
        Ok(())
    }

    /// What the system's answer means to a person.
    pub(super) fn refused(&self, doing: &str, at: u64, errno: Errno) -> Error {
        let remedy = match errno {
            Errno::NOSPC | Errno::DQUOT => {
                format!("; free some room there, or name another folder in {FOLDER}")
            }
            _ => String::new(),
        };
        let place = format!(
            "{doing} a file in {}, at {} MiB of {}",
            self.folder.display(),
            at >> 20,
            self.bytes() >> 20
        );
        Error::system(place, format!("{errno}{remedy}"))
    }

    /// A descriptor of it that closes on exec.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// One on something else, for tests of what goes wrong.
    #[cfg(test)]
    pub(super) fn on(file: OwnedFd, bytes: u64) -> TestFile {
        let generations = vec![0; (bytes / SECTOR as u64) as usize];
        TestFile { file, folder: "/nowhere".into(), generations }
    }
}

#[cfg(test)]
mod tests {
    use rustix::fs::{Mode, open};
    use tollway_host::scratch::folder;

    use super::*;

    const BYTES: u64 = 5 << 20;

    #[test]
    fn a_new_file_holds_what_it_must_and_a_changed_byte_is_found() {
        let file = TestFile::make(&folder(), BYTES, 3).unwrap();
        assert_eq!(file.bytes(), BYTES);
        file.check(65536, 0..80).unwrap();
        file.check(512, 0..10_240).unwrap();
        file.pass_cache(false).unwrap();
        pwrite(&file.file, b"?", 3 * 65536 + 700).unwrap();
        file.check(65536, 0..3).unwrap();
        let wrong = file.check(65536, 0..80).unwrap_err();
        assert!(matches!(&wrong, Error::Wrong(what) if what.contains("block 3 ")), "{wrong}");
    }

    #[test]
    fn what_was_said_to_be_written_and_was_not_is_found() {
        let mut file = TestFile::make(&folder(), BYTES, 3).unwrap();
        file.written(4096, 4096);
        let wrong = file.check(4096, 0..9).unwrap_err();
        assert!(matches!(&wrong, Error::Wrong(what) if what.contains("block 1 ")), "{wrong}");
        assert!(file.check(4096, [2, 1279].into_iter()).is_ok());
        // Beyond its end there is nothing.
        assert!(file.check(4096, [1280].into_iter()).is_err());
    }

    #[test]
    fn a_file_larger_than_its_disk_is_refused_before_a_byte_is_written() {
        let refused = TestFile::make(&folder(), 1 << 60, 0).err().unwrap();
        let Error::Missing(missing) = refused else { panic!("{refused}") };
        assert!(missing.reason.contains("MiB are free") && missing.remedy.contains(FOLDER), "{missing}");
        assert!(matches!(TestFile::make(Path::new("/nowhere"), BYTES, 0), Err(Error::Missing(_))));
    }

    #[test]
    fn a_disk_that_is_full_is_said_to_be_with_what_helps() {
        let full = open("/dev/full", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()).unwrap();
        let error = TestFile::on(full, 0).fill(BYTES, 1).unwrap_err().to_string();
        assert!(
            error.contains("No space left") && error.contains(FOLDER) && error.contains("at 0 MiB of 5"),
            "{error}"
        );
    }

    #[test]
    fn where_there_is_no_disk_there_is_no_direct_access() {
        let error = TestFile::make(Path::new("/proc"), BYTES, 0).err().unwrap();
        assert!(matches!(error, Error::Missing(_)), "{error}");
    }
}
