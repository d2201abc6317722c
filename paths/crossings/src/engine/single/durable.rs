//! Calls that wait for a disk: what they last on the clock, and what processor time they take.
//!
//! Samples are latencies; the work is the thread's processor time.

use std::os::fd::OwnedFd;

use rustix::fs::{OFlags, fdatasync, fsync};
use rustix::io::{Errno, pread, pwrite};
use tollway_core::{Error, Result, Tally};
use tollway_host::scratch::{folder, nameless};

use super::files::lacks;
use super::worked::Worked;
use super::{Row, Single};

/// Bytes of a block.
const BLOCK: usize = 4096;

/// Blocks that are written in turns.
const BLOCKS: u64 = 64;

pub(super) fn fdatasync_block(_: usize, _: Row) -> Result<Box<dyn Single>> {
    made(|file| fdatasync(file), false)
}

pub(super) fn fsync_block(_: usize, _: Row) -> Result<Box<dyn Single>> {
    made(|file| fsync(file), false)
}

pub(super) fn fdatasync_new_block(_: usize, _: Row) -> Result<Box<dyn Single>> {
    made(|file| fdatasync(file), true)
}

fn made(sync: fn(&OwnedFd) -> Result<(), Errno>, grows: bool) -> Result<Box<dyn Single>> {
    let folder = folder();
    let refused = |e: Errno| lacks("a scratch file", &folder, &e);
    let file = nameless(&folder, OFlags::empty()).map_err(refused)?;
    let mut durable =
        Durable { file, sync, grows, block: vec![0; BLOCK], written: 0, worked: Worked::new()? };
    // Blocks are there before the first is timed: a call that has to find room for one does more.
    for _ in 0..BLOCKS {
        if !durable.write() {
            return Err(Error::system("filling a scratch file", "it took only a part: is the disk full?"));
        }
    }
    fsync(&durable.file).map_err(refused)?;
    Ok(Box::new(durable))
}

/// A block in the page cache, made durable.
struct Durable {
    file: OwnedFd,
    sync: fn(&OwnedFd) -> Result<(), Errno>,
    /// Each block lengthens the file.
    grows: bool,
    block: Vec<u8>,
    written: u64,
    worked: Worked,
}

impl Durable {
    /// Where a block is.
    fn place(&self, block: u64) -> u64 {
        if self.grows { block * BLOCK as u64 } else { block % BLOCKS * BLOCK as u64 }
    }

    fn write(&mut self) -> bool {
        self.block[..8].copy_from_slice(&self.written.to_ne_bytes());
        let at = self.place(self.written);
        self.written += 1;
        pwrite(&self.file, &self.block, at) == Ok(BLOCK)
    }
}

impl Single for Durable {
    fn count(&self) -> u32 {
        1
    }

    #[inline]
    fn calls(&mut self) -> u32 {
        u32::from((self.sync)(&self.file).is_ok())
    }

    fn uses_up(&self) -> bool {
        true
    }

    fn restock(&mut self) -> bool {
        self.worked.end();
        self.write()
    }

    fn ready(&mut self) {
        self.worked.begin(1);
    }

    /// The block written last but one is in the file; the last one has not been made durable.
    fn verify(&mut self, done: u64) -> Result<()> {
        let Some(last) = self.written.checked_sub(2) else {
            return Err(Error::Wrong(format!("{done} calls were made, and no block was written")));
        };
        let mut stamp = [0; 8];
        let got = pread(&self.file, &mut stamp, self.place(last));
        if got == Ok(8) && u64::from_ne_bytes(stamp) == last {
            return Ok(());
        }
        Err(Error::Wrong(format!("block {last} does not hold what was written to it")))
    }

    fn tally(&self, _: u64) -> Tally {
        self.worked.tally()
    }
}
