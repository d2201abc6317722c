//! A file that the page cache holds: read, written, asked about, locked.

use std::ffi::CString;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{
    FlockOperation, Mode, OFlags, SeekFrom, Stat, fcntl_lock, fstat, open, seek as lseek, stat,
};
use rustix::io::{pread, pwrite};
use tollway_core::{Error, Missing, Result};
use tollway_host::scratch::{FOLDER, Folder, folder, nameless};

use super::cooling::cache_size;
use super::{IN_A_ROW, Row, Single};

/// Where blocks begin: at as many places, each on a page of its own.
const PLACES: u64 = 16;

/// Bytes of the last cache where it does not tell its size, and of the longest file that is made to be longer than it.
const LAST_LEVEL: u64 = 32 << 20;
const LONGEST: u64 = 256 << 20;

/// Bytes of a page.
const PAGE: u64 = 4096;

pub(super) fn read(size: usize, row: Row) -> Result<Box<dyn Single>> {
    Ok(Box::new(Read { file: Cached::new(size, row, PLACES)?, bytes: vec![0; size] }))
}

/// Of a file twice as long as the last cache: what was read last is read again when it is in no cache any more.
pub(super) fn read_far(size: usize, row: Row) -> Result<Box<dyn Single>> {
    let long = (2 * cache_size("3").map_or(LAST_LEVEL, |bytes| bytes as u64)).clamp(2 * LAST_LEVEL, LONGEST);
    let places = long / (size as u64).next_multiple_of(PAGE);
    Ok(Box::new(Read { file: Cached::new(size, row, places)?, bytes: vec![0; size] }))
}

pub(super) fn write(size: usize, row: Row) -> Result<Box<dyn Single>> {
    Ok(Box::new(Write { file: Cached::new(size, row, PLACES)?, bytes: vec![WRITTEN; size] }))
}

pub(super) fn stat_path(_: usize, row: Row) -> Result<Box<dyn Single>> {
    Ok(Box::new(StatPath(Named::new()?, row.of(IN_A_ROW))))
}

pub(super) fn stat_open(_: usize, row: Row) -> Result<Box<dyn Single>> {
    Ok(Box::new(StatOpen(Named::new()?, row.of(IN_A_ROW))))
}

pub(super) fn seek(_: usize, row: Row) -> Result<Box<dyn Single>> {
    Ok(Box::new(Seek(Cached::new(PAGE as usize, row, PLACES)?)))
}

pub(super) fn lock(_: usize, row: Row) -> Result<Box<dyn Single>> {
    Ok(Box::new(Lock { named: Named::new()?, row: row.of(IN_A_ROW), locked: false }))
}

pub(super) fn lacks(what: &str, folder: &Path, error: &dyn std::fmt::Display) -> Error {
    Error::Missing(Missing::new(
        format!("{what} in {}", folder.display()),
        error.to_string(),
        format!("name a folder on a disk that may be written to in {FOLDER}"),
    ))
}

/// What a file is made of: its first place of `1`, its second of `2`, …
fn made_of(place: u64) -> u8 {
    (place % 251) as u8 + 1
}

/// The step from one of `pages` pages to the next by which every page is reached once: the golden section of their number, or the next
/// greater number that has no divisor in common with it.
fn stride(pages: u64) -> u64 {
    let divisor = |mut a: u64, mut b: u64| {
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    let golden = (pages as f64 * 0.618) as u64;
    (golden.max(1)..).find(|stride| divisor(*stride, pages) == 1).unwrap_or(1)
}

/// What is written over it.
const WRITTEN: u8 = 0xa5;

/// A file without a name in the folder for measurements, all of it in the page cache.
struct Cached {
    file: OwnedFd,
    size: usize,
    step: u64,
    places: u64,
    place: u64,
    row: u32,
}

impl Cached {
    fn new(size: usize, row: Row, places: u64) -> Result<Cached> {
        let folder = folder();
        let refused = |e: rustix::io::Errno| lacks("a scratch file", &folder, &e);
        let file = nameless(&folder, OFlags::empty()).map_err(refused)?;
        let step = (size as u64).next_multiple_of(PAGE);
        // Page by page, and the next never behind the last, so that they are all over the memory, as those of many files are: pages that
        // lie in a row are read 1.7 times as fast (64 KiB at a time, Linux 6.18 in a guest), for a core looks ahead in them.
        let (pages, pages_of_place) = (places * step / PAGE, step / PAGE);
        for page in (0..pages).map(|turn| turn * stride(pages) % pages) {
            let bytes = [made_of(page / pages_of_place); PAGE as usize];
            if pwrite(&file, &bytes, page * PAGE).map_err(refused)? != bytes.len() {
                return Err(Error::system(
                    "filling a scratch file",
                    "it took only a part: is the disk full?",
                ));
            }
        }
        Ok(Cached { file, size, step, places, place: 0, row: row.of(IN_A_ROW) })
    }

    /// The next place, and where it begins.
    #[inline]
    fn next(&mut self) -> (u64, u64) {
        self.place = (self.place + 1) % self.places;
        (self.place, self.place * self.step)
    }
}

/// pread, place after place.
struct Read {
    file: Cached,
    bytes: Vec<u8>,
}

impl Single for Read {
    fn count(&self) -> u32 {
        self.file.row
    }

    #[inline]
    fn calls(&mut self) -> u32 {
        let Read { file, bytes } = self;
        (0..file.row)
            .map(|_| {
                let (place, at) = file.next();
                let got = pread(&file.file, &mut bytes[..], at);
                u32::from(got == Ok(file.size) && bytes[file.size - 1] == made_of(place))
            })
            .sum()
    }

    fn verify(&mut self, _: u64) -> Result<()> {
        if self.bytes.iter().all(|byte| *byte == made_of(self.file.place)) {
            return Ok(());
        }
        Err(Error::Wrong("what was read is not what the file is made of".into()))
    }
}

/// pwrite over what is there, place after place.
struct Write {
    file: Cached,
    bytes: Vec<u8>,
}

impl Single for Write {
    fn count(&self) -> u32 {
        self.file.row
    }

    #[inline]
    fn calls(&mut self) -> u32 {
        let Write { file, bytes } = self;
        (0..file.row)
            .map(|_| {
                let (_, at) = file.next();
                u32::from(pwrite(&file.file, &*bytes, at) == Ok(file.size))
            })
            .sum()
    }

    /// Every place that was written to holds that, and what is behind it on the page was left.
    fn verify(&mut self, done: u64) -> Result<()> {
        let Cached { file, size, step, .. } = &self.file;
        let mut block = vec![0; *step as usize];
        for place in 0..PLACES.min(done) {
            let place = (place + 1) % PLACES;
            let got = pread(file, &mut block[..], place * step);
            let (written, left) = block.split_at(*size);
            let right = written.iter().all(|byte| *byte == WRITTEN)
                && left.iter().all(|byte| *byte == made_of(place));
            if got != Ok(block.len()) || !right {
                return Err(Error::Wrong(format!("place {place} does not hold what was written to it")));
            }
        }
        Ok(())
    }
}

/// lseek to another place.
struct Seek(Cached);

impl Single for Seek {
    fn count(&self) -> u32 {
        self.0.row
    }

    #[inline]
    fn calls(&mut self) -> u32 {
        (0..self.0.row)
            .map(|_| {
                let (_, at) = self.0.next();
                u32::from(lseek(&self.0.file, SeekFrom::Start(at)) == Ok(at))
            })
            .sum()
    }
}

/// Bytes of a file that is asked about.
const LENGTH: u64 = 7;

/// A file with a name, in a private folder of the folder for measurements.
pub(super) struct Named {
    _folder: Folder,
    pub(super) path: CString,
    pub(super) file: OwnedFd,
}

impl Named {
    pub(super) fn new() -> Result<Named> {
        let parent = folder();
        let refused = |e: std::io::Error| lacks("a folder of our own", &parent, &e);
        let folder = Folder::make(&parent).map_err(refused)?;
        let path = folder.path().join("asked");
        File::create(&path).and_then(|file| file.set_len(LENGTH)).map_err(refused)?;
        let path = CString::new(path.as_os_str().as_bytes())
            .map_err(|e| Error::system("naming a scratch file", e.to_string()))?;
        let file = open(&path, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
            .map_err(|e| Error::system("opening a scratch file", e))?;
        Ok(Named { _folder: folder, path, file })
    }
}

fn is_it(about: &Result<Stat, rustix::io::Errno>) -> bool {
    about.as_ref().is_ok_and(|about| about.st_size == LENGTH as i64)
}

/// newfstatat of a path.
struct StatPath(Named, u32);

impl Single for StatPath {
    fn count(&self) -> u32 {
        self.1
    }

    #[inline]
    fn calls(&mut self) -> u32 {
        (0..self.1).map(|_| u32::from(is_it(&stat(&*self.0.path)))).sum()
    }
}

/// fstat of an open file.
struct StatOpen(Named, u32);

impl Single for StatOpen {
    fn count(&self) -> u32 {
        self.1
    }

    #[inline]
    fn calls(&mut self) -> u32 {
        (0..self.1).map(|_| u32::from(is_it(&fstat(&self.0.file)))).sum()
    }
}

/// F_SETLK: the whole file locked for writing, and unlocked, in turns.
struct Lock {
    named: Named,
    row: u32,
    locked: bool,
}

impl Single for Lock {
    fn count(&self) -> u32 {
        self.row
    }

    #[inline]
    fn calls(&mut self) -> u32 {
        (0..self.row)
            .map(|_| {
                self.locked = !self.locked;
                let asked = match self.locked {
                    true => FlockOperation::NonBlockingLockExclusive,
                    false => FlockOperation::NonBlockingUnlock,
                };
                u32::from(fcntl_lock(&self.named.file, asked).is_ok())
            })
            .sum()
    }
}
