//! Reads what is tested: in large pieces where they come at once, block by block where somebody has to wait for them.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, fstat};
use rustix::io::Errno;
use tollway_entropy::engine::fips::BLOCK_BYTES;

/// The most blocks that are read at once: 250 kB, which stay in a second-level cache until they are tested.
const MOST_BLOCKS: usize = 100;

/// A read that is this fast is followed by one of twice as many blocks.
const FAST: Duration = Duration::from_millis(1);

/// A read that is this slow is followed by one of half as many: nobody should wait longer for the next line.
const SLOW: Duration = Duration::from_millis(20);

/// How long to wait for bytes before looking around.
const PATIENCE: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// A file, a pipe, a device.
pub struct Input {
    source: OwnedFd,
    /// Reads may wait. A regular file always has something, or has ended.
    waits: bool,
    buffer: Vec<u8>,
    /// Blocks of the next read.
    blocks: usize,
}

impl Input {
    /// Standard input, or this file.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn open(file: Option<&Path>) -> io::Result<Input> {
        let source = match file {
            Some(path) if path != Path::new("-") => OwnedFd::from(File::open(path)?),
            _ => io::stdin().as_fd().try_clone_to_owned()?,
        };
        let waits = FileType::from_raw_mode(fstat(&source)?.st_mode) != FileType::RegularFile;
        Ok(Input { source, waits, buffer: vec![0; MOST_BLOCKS * BLOCK_BYTES], blocks: 1 })
    }

    /// Bytes up to the end of a block: `first` to the end of the next, and of `most` blocks in all at most. Fewer where there
    /// are not as many yet, none at the end; `None` where nothing came in a second or a signal did.
    ///
    /// # Errors
    /// If the system has none.
    pub fn read(&mut self, first: usize, most: u64) -> io::Result<Option<&[u8]>> {
        if self.waits && !self.has_something()? {
            return Ok(None);
        }
        let blocks = self.blocks.min(usize::try_from(most).unwrap_or(usize::MAX)).max(1);
        let wanted = first + (blocks - 1) * BLOCK_BYTES;
        let begun = Instant::now();
        let got = match rustix::io::read(&self.source, &mut self.buffer[..wanted]) {
            Ok(got) => got,
            Err(Errno::INTR | Errno::AGAIN) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let took = begun.elapsed();
        if took > SLOW {
            self.blocks = (self.blocks / 2).max(1);
        } else if took < FAST && got == wanted {
            self.blocks = (2 * self.blocks).min(MOST_BLOCKS);
        }
        Ok(Some(&self.buffer[..got]))
    }

    /// Whether there is something to read: bytes, the end, or an error.
    fn has_something(&self) -> io::Result<bool> {
        match poll(&mut [PollFd::new(&self.source, PollFlags::IN)], Some(&PATIENCE)) {
            Ok(ready) => Ok(ready > 0),
            Err(Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}
