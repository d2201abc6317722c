//! Blocks of a file: from the page cache, and from and to the disk.

use tollway_core::{Error, Params, Place, Result};

use super::Operation;
use super::scratch::Scratch;

/// Blocks of the file that is read from the page cache: together they fit a second-level cache at 4 KiB.
const CACHED: u64 = 16;

/// Blocks of the file that is read and written on the disk.
const ON_DISK: u64 = 64;

/// The stamps of written blocks count up from here, so that they differ from those the file was made with.
const WRITTEN: u64 = 1 << 20;

/// Reads blocks that the page cache holds, one after the other.
pub struct CachedRead(Reads);

/// Reads blocks from the disk, past the page cache, in no regular order.
pub struct DirectRead(Reads);

struct Reads {
    scratch: Scratch,
    block: u64,
    step: u64,
    wrong: u64,
}

impl Reads {
    #[inline]
    fn once(&mut self) {
        self.block = (self.block + self.step) % self.scratch.count();
        let came = self.scratch.read(self.block);
        self.wrong += u64::from(!came || self.scratch.stamped() != self.block);
    }

    fn verify(&mut self, done: u64) -> Result<()> {
        if self.wrong > 0 {
            return Err(Error::Wrong(format!("{} of {done} reads brought something else", self.wrong)));
        }
        for block in 0..self.scratch.count() {
            if !self.scratch.read(block) || !self.scratch.holds(block, block) {
                return Err(Error::Wrong(format!("block {block} is not as it was written")));
            }
        }
        Ok(())
    }
}

impl Operation for CachedRead {
    fn prepare(params: &Params, _: &Place) -> Result<Self> {
        Ok(CachedRead(Reads { scratch: Scratch::new(params, CACHED)?, block: 0, step: 1, wrong: 0 }))
    }

    #[inline]
    fn once(&mut self) {
        self.0.once();
    }

    fn verify(&mut self, done: u64) -> Result<()> {
        self.0.verify(done)
    }
}

impl Operation for DirectRead {
    fn prepare(params: &Params, _: &Place) -> Result<Self> {
        let mut scratch = Scratch::new(params, ON_DISK)?;
        scratch.direct()?;
        // Odd, so that it visits every block of a power of two; far from 1, so that nothing reads ahead of it.
        Ok(DirectRead(Reads { scratch, block: 0, step: 37, wrong: 0 }))
    }

    #[inline]
    fn once(&mut self) {
        self.0.once();
    }

    fn verify(&mut self, done: u64) -> Result<()> {
        self.0.verify(done)
    }
}

/// Overwrites blocks on the disk, past the page cache.
pub struct DirectWrite(Writes);

/// Overwrites a block in the page cache and waits until it is durable.
pub struct DurableWrite(Writes);

struct Writes {
    scratch: Scratch,
    written: u64,
    wrong: u64,
}

impl Writes {
    fn new(params: &Params, direct: bool) -> Result<Writes> {
        let mut scratch = Scratch::new(params, ON_DISK)?;
        if direct {
            scratch.direct()?;
        }
        scratch.stamp(WRITTEN);
        Ok(Writes { scratch, written: 0, wrong: 0 })
    }

    #[inline]
    fn once(&mut self) {
        self.scratch.restamp(WRITTEN + self.written);
        let went = self.scratch.write(self.written % ON_DISK);
        self.written += 1;
        self.wrong += u64::from(!went);
    }

    /// Reads past the page cache what the last writes left.
    fn verify(&mut self, done: u64) -> Result<()> {
        if self.wrong > 0 || self.written != done {
            return Err(Error::Wrong(format!("{} of {done} writes failed", self.wrong)));
        }
        for number in self.written.saturating_sub(ON_DISK)..self.written {
            let block = number % ON_DISK;
            if !self.scratch.read(block) || !self.scratch.holds(WRITTEN + number, WRITTEN) {
                return Err(Error::Wrong(format!("block {block} does not hold what was written last")));
            }
        }
        Ok(())
    }
}

impl Operation for DirectWrite {
    fn prepare(params: &Params, _: &Place) -> Result<Self> {
        Ok(DirectWrite(Writes::new(params, true)?))
    }

    #[inline]
    fn once(&mut self) {
        self.0.once();
    }

    fn verify(&mut self, done: u64) -> Result<()> {
        self.0.verify(done)
    }
}

impl Operation for DurableWrite {
    fn prepare(params: &Params, _: &Place) -> Result<Self> {
        Ok(DurableWrite(Writes::new(params, false)?))
    }

    #[inline]
    fn once(&mut self) {
        self.0.once();
        self.0.wrong += u64::from(!self.0.scratch.sync());
    }

    fn verify(&mut self, done: u64) -> Result<()> {
        // Where the file system has O_DIRECT, what is checked is the disk's content; elsewhere the page cache's.
        match self.0.scratch.direct() {
            Ok(()) | Err(Error::Missing(_)) => self.0.verify(done),
            Err(error) => Err(error),
        }
    }
}
