//! A block that is written and then waited for until it is on the disk.

use rustix::fs::{fdatasync, fsync};
use rustix::io::{Errno, pwrite};
use tollway_core::{Error, Result};

use super::content;
use super::memory::Memory;
use super::order::{Order, Pattern};
use super::{Load, TestFile};

/// By which call it is waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sync {
    /// fsync: the block, and all that the file system says of the file, its times too.
    All,
    /// fdatasync: the block, and what is needed to find it again.
    Data,
}

/// Overwrites blocks of a file in random order through the page cache, and waits for each.
pub struct Durable {
    file: TestFile,
    order: Order,
    memory: Memory,
    size: usize,
    by: Sync,
    failed: Option<Error>,
}

impl Durable {
    /// Blocks of `size` bytes, in an order that is drawn by `seed`.
    pub fn new(file: TestFile, size: usize, by: Sync, seed: u64) -> Result<Durable> {
        let load = Load { pattern: Pattern::RandWrite, size, depth: 1, direct: false };
        load.check(file.bytes())?;
        file.access(false, size)?;
        let mut memory = Memory::new(size)?;
        content::fill(memory.part(0, size), seed);
        let order = Order::new(load.pattern, file.bytes() / size as u64, seed);
        Ok(Durable { file, order, memory, size, by, failed: None })
    }

    /// Writes the next block and waits; does nothing any more once that has failed.
    pub fn once(&mut self) {
        if self.failed.is_some() {
            return;
        }
        let at = self.order.block() * self.size as u64;
        let block = self.memory.part(0, self.size);
        self.file.stamp(block, at);
        let file = self.file.descriptor();
        let done = match pwrite(file, block, at) {
            Ok(bytes) if bytes < self.size => Err(Errno::NOSPC),
            Ok(_) if self.by == Sync::All => fsync(file),
            Ok(_) => fdatasync(file),
            Err(errno) => Err(errno),
        };
        match done {
            Ok(()) => self.file.written(at, self.size),
            Err(errno) => self.failed = Some(self.file.refused("writing", at, errno)),
        }
    }

    /// Checks what the last writes left on the disk, at most so many bytes of it, and hands back the file.
    ///
    /// # Errors
    /// What a write failed with; [`Error::Wrong`] where a block does not hold what was written.
    pub fn verified(self, bytes: u64) -> Result<TestFile> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        self.file.check(self.size, self.order.last((bytes / self.size as u64).max(1)))?;
        Ok(self.file)
    }
}

#[cfg(test)]
mod tests {
    use rustix::fs::{Mode, OFlags, open};
    use tollway_host::scratch::{FOLDER, folder};

    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn what_was_waited_for_is_on_the_disk() {
        let mut file = TestFile::make(&folder(), MIB, 1).unwrap();
        for by in [Sync::All, Sync::Data] {
            let mut durable = Durable::new(file, 4096, by, 2).unwrap();
            (0..300).for_each(|_| durable.once());
            file = durable.verified(MIB).unwrap();
            file.check(4096, 0..256).unwrap();
        }
        let mut durable = Durable::new(file, 4096, Sync::All, 2).unwrap();
        durable.once();
        let block = durable.order.last(1).next().unwrap();
        pwrite(durable.file.descriptor(), b"!", block * 4096 + 99).unwrap();
        assert!(matches!(durable.verified(4096), Err(Error::Wrong(_))));
    }

    #[test]
    fn a_full_disk_is_told_at_the_end() {
        let full = open("/dev/full", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()).unwrap();
        let file = TestFile::make(&folder(), MIB, 1).unwrap();
        let mut durable = Durable::new(file, 4096, Sync::Data, 2).unwrap();
        durable.file = TestFile::on(full, MIB);
        (0..3).for_each(|_| durable.once());
        let error = durable.verified(MIB).err().unwrap().to_string();
        assert!(error.contains("No space left") && error.contains(FOLDER), "{error}");
    }
}
