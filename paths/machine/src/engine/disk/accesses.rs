//! Reads and writes, so many of them under way at any time.

use std::ops::ControlFlow;

use rustix::io::Errno;
use tollway_core::{Clock, Error, Result, Ticks};

use super::content::{self, SECTOR};
use super::flight::{Flight, Landed};
use super::order::Order;
use super::{Load, TestFile};

/// No block: what a slot has that is not under way.
const NONE: u64 = u64::MAX;

/// A load on a file.
pub struct Accesses {
    load: Load,
    /// Before the file, so that nothing is under way when that ends.
    flight: Flight,
    file: TestFile,
    order: Order,
    /// Of each slot, the block that is under way.
    blocks: Vec<u64>,
    begun: Vec<Ticks>,
    writes: Vec<bool>,
    free: Vec<usize>,
    read: u64,
    written: u64,
    wrong: u64,
}

impl Accesses {
    /// A load on a file whose order is drawn by `seed`.
    ///
    /// # Errors
    /// [`Error::Missing`] without io_uring, or without O_DIRECT where that is asked for; [`Error::Input`] where the load does not fit
    /// the file.
    pub fn new(file: TestFile, load: Load, seed: u64) -> Result<Accesses> {
        load.check(file.bytes())?;
        file.access(load.direct, load.size)?;
        let mut flight = Flight::new(file.descriptor(), load.depth, load.size)?;
        for slot in 0..load.depth {
            content::fill(flight.block(slot), seed.wrapping_add(1 + slot as u64));
        }
        Ok(Accesses {
            order: Order::new(load.pattern, file.bytes() / load.size as u64, seed),
            load,
            flight,
            file,
            blocks: vec![NONE; load.depth],
            begun: vec![0; load.depth],
            writes: vec![false; load.depth],
            free: (0..load.depth).rev().collect(),
            read: 0,
            written: 0,
            wrong: 0,
        })
    }

    /// Keeps as many accesses under way as the load has, until `look` breaks; then waits for those that are. Each time that some have
    /// come back `look` is told when that was, and how long each of them took.
    pub fn run(
        &mut self,
        clock: impl Clock,
        mut look: impl FnMut(Ticks, &[Ticks]) -> ControlFlow<()>,
    ) -> Result<()> {
        let mut landed = Vec::with_capacity(self.load.depth);
        let mut took = Vec::with_capacity(self.load.depth);
        let mut goes_on = true;
        while goes_on || self.free.len() < self.load.depth {
            while goes_on && let Some(slot) = self.free.pop() {
                self.begin(clock, slot)?;
            }
            self.flight.land(&mut landed).map_err(|e| self.file.refused("waiting for", 0, e))?;
            let now = clock.now();
            took.clear();
            took.extend(landed.iter().map(|landed| now.saturating_sub(self.begun[landed.slot])));
            if goes_on {
                goes_on = look(now, &took).is_continue();
            }
            landed.drain(..).try_for_each(|landed| self.end(landed))?;
        }
        Ok(())
    }

    fn begin(&mut self, clock: impl Clock, slot: usize) -> Result<()> {
        // Of two accesses to one block at once nobody could say which came first. There are twice as many blocks as slots.
        let block = loop {
            let block = self.order.block();
            if !self.blocks.contains(&block) {
                break block;
            }
        };
        let (at, write) = (block * self.load.size as u64, self.order.writes());
        if write {
            self.file.stamp(self.flight.block(slot), at);
        }
        (self.blocks[slot], self.writes[slot], self.begun[slot]) = (block, write, clock.now());
        let doing = if write { "writing" } else { "reading" };
        self.flight.start(slot, write, at).map_err(|e| self.file.refused(doing, at, e))
    }

    fn end(&mut self, Landed { slot, came }: Landed) -> Result<()> {
        let (at, write) = (self.blocks[slot] * self.load.size as u64, self.writes[slot]);
        self.blocks[slot] = NONE;
        self.free.push(slot);
        let doing = if write { "writing" } else { "reading" };
        match came {
            Ok(bytes) if bytes == self.load.size => {}
            // A write that ends early has met the end of the disk, a read that of the file.
            Ok(_) if write => return Err(self.file.refused(doing, at, Errno::NOSPC)),
            Ok(_) => return Err(self.file.refused(doing, at, Errno::NODATA)),
            Err(errno) => return Err(self.file.refused(doing, at, errno)),
        }
        if write {
            self.file.written(at, self.load.size);
            self.written += 1;
        } else {
            self.wrong += u64::from(!self.file.bears(self.flight.block(slot), at));
            self.read += 1;
        }
        Ok(())
    }

    /// How many blocks were read so far.
    pub fn read(&self) -> u64 {
        self.read
    }

    /// How many blocks were written so far.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Checks that each read brought what was written last, and, on the disk, what the last accesses left: at most so many bytes
    /// of it. Hands back the file.
    ///
    /// # Errors
    /// [`Error::Wrong`] where something does not hold what it must.
    pub fn verified(self, bytes: u64) -> Result<TestFile> {
        if self.wrong > 0 {
            return Err(Error::Wrong(format!(
                "{} of {} reads brought something else",
                self.wrong, self.read
            )));
        }
        let blocks = self.order.last((bytes / self.load.size as u64).max(1));
        self.file.check(self.load.size, blocks)?;
        Ok(self.file)
    }
}

impl Load {
    /// Refuses a load that a file of so many bytes is too small for, or that has no whole sectors.
    pub fn check(&self, bytes: u64) -> Result<()> {
        let input = |place: &str, reason: String, remedy: String| {
            Err(Error::Input { place: place.into(), reason, remedy })
        };
        if self.size == 0 || !self.size.is_multiple_of(SECTOR) {
            return input(
                "size of a block",
                format!("{} bytes are not whole sectors", self.size),
                format!("take a multiple of {SECTOR}"),
            );
        }
        let least = 2 * self.depth.max(1) as u64 * self.size as u64;
        if bytes < least {
            return input(
                "size of the file",
                format!("{} accesses of {} bytes at once want more room", self.depth, self.size),
                format!("take {} MiB or more", least.div_ceil(1 << 20)),
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use rustix::fs::{Mode, OFlags, open};
    use rustix::io::pwrite;
    use tollway_core::Requirement;
    use tollway_host::clock::RunClock;
    use tollway_host::requirement::test_has;
    use tollway_host::scratch::{FOLDER, folder};

    use super::super::Pattern;
    use super::*;

    const MIB: u64 = 1 << 20;

    const PATTERNS: [Pattern; 5] =
        [Pattern::RandRead, Pattern::RandWrite, Pattern::Read, Pattern::Write, Pattern::RandRw];

    fn can() -> bool {
        test_has(&[(Requirement::IoUring, "io-uring")])
    }

    fn file(mib: u64) -> TestFile {
        TestFile::make(&folder(), mib * MIB, 11).unwrap()
    }

    /// Runs until so many have come back; how many had been told of by then.
    fn some(accesses: &mut Accesses, n: usize) -> Result<usize> {
        let mut seen = 0;
        accesses.run(RunClock::chosen(), |_, took| {
            seen += took.len();
            if seen >= n { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        Ok(seen)
    }

    #[test]
    fn each_pattern_does_what_it_says_and_leaves_a_file_that_is_whole() {
        if !can() {
            return;
        }
        let mut file = file(4);
        for (turn, pattern) in PATTERNS.into_iter().enumerate() {
            for (size, depth, direct) in
                [(4096, 32, false), (4096, 1, true), (65536, 8, true), (1536, 128, false)]
            {
                let load = Load { pattern, size, depth, direct };
                let mut accesses = match Accesses::new(file, load, turn as u64) {
                    Ok(accesses) => accesses,
                    Err(Error::Missing(missing)) => {
                        println!("skipped: {load:?}: {missing}");
                        file = self::file(4);
                        continue;
                    }
                    Err(error) => panic!("{error}"),
                };
                // More than once through the file.
                let seen = some(&mut accesses, 3000).unwrap();
                let all = accesses.read() + accesses.written();
                assert!((seen as u64..=seen as u64 + depth as u64).contains(&all), "{seen} of {all}");
                let (reads, writes) = (accesses.read() > 0, accesses.written() > 0);
                assert_eq!(
                    (reads, writes),
                    (!pattern.writes() || pattern == Pattern::RandRw, pattern.writes())
                );
                file = accesses.verified(MIB).unwrap();
                let blocks = file.bytes() / size as u64;
                file.check(size, 0..blocks).unwrap();
            }
        }
    }

    #[test]
    fn a_read_that_brings_something_else_is_told() {
        if !can() {
            return;
        }
        for at in [0, 5 * 4096 + 3584] {
            let file = file(1);
            // Past the page cache the kernel would want these bytes at an address of its liking.
            file.access(false, 512).unwrap();
            pwrite(file.descriptor(), &[0x55; 512], at).unwrap();
            let load = Load { pattern: Pattern::RandRead, size: 4096, depth: 4, direct: false };
            let mut accesses = Accesses::new(file, load, 1).unwrap();
            some(&mut accesses, 512).unwrap();
            let wrong = accesses.verified(MIB).err().unwrap().to_string();
            assert!(wrong.contains("reads brought something else"), "{wrong}");
        }
    }

    #[test]
    fn a_write_that_did_not_stay_is_told() {
        if !can() {
            return;
        }
        let load = Load { pattern: Pattern::Write, size: 4096, depth: 4, direct: false };
        let mut accesses = Accesses::new(file(1), load, 1).unwrap();
        some(&mut accesses, 100).unwrap();
        pwrite(accesses.file.descriptor(), &[0x55; 1], 90 * 4096 + 1000).unwrap();
        let wrong = accesses.verified(MIB).err().unwrap().to_string();
        assert!(wrong.contains("block 90 "), "{wrong}");
    }

    #[test]
    fn a_disk_that_fills_up_meanwhile_is_an_error_with_what_helps() {
        if !can() {
            return;
        }
        let full = open("/dev/full", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()).unwrap();
        let load = Load { pattern: Pattern::Write, size: 4096, depth: 16, direct: false };
        let file = TestFile::on(full, MIB);
        let mut accesses = Accesses {
            flight: Flight::new(file.descriptor(), 16, 4096).unwrap(),
            file,
            ..Accesses::new(self::file(1), load, 0).unwrap()
        };
        let error = some(&mut accesses, 100).unwrap_err().to_string();
        assert!(error.contains("No space left") && error.contains(FOLDER), "{error}");
    }

    #[test]
    fn what_does_not_fit_is_refused_with_what_would() {
        let load = Load { pattern: Pattern::Read, size: 1 << 20, depth: 32, direct: true };
        assert!(load.check(64 * MIB).is_ok());
        assert!(load.check(63 * MIB).unwrap_err().to_string().contains("take 64 MiB"));
        for size in [0, 511, 4097] {
            assert!(
                Load { size, ..load }.check(1 << 40).unwrap_err().to_string().contains("multiple of 512")
            );
        }
    }
}
