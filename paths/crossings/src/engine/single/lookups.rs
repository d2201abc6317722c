//! Files looked up by name: in an open folder, by paths that lead nowhere, and links that are read.

use std::ffi::CString;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, open, openat, readlinkat_raw, statat, symlinkat};
use rustix::io::Errno;
use tollway_core::{Error, Result};
use tollway_host::scratch::{Folder, folder};

use super::descriptors::Open;
use super::files::lacks;
use super::{IN_A_ROW, Row, Single};

/// The file that is there, the link to it, and a name that nothing has.
const FILE: &str = "asked";
const LINK: &str = "link";
const MISSING: &str = "missing";

/// Bytes of the file.
const LENGTH: u64 = 7;

pub(super) fn open_in_folder(_: usize, row: Row) -> Result<Box<dyn Single>> {
    let opens =
        |there: &There| openat(&there.opened, FILE_NAME, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
    Ok(Box::new(Open::new(There::new()?, opens, row)))
}

pub(super) fn open_missing(_: usize, row: Row) -> Result<Box<dyn Single>> {
    let there = There::new()?;
    let missing = |there: &There| {
        openat(CWD, &*there.missing, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).err()
            == Some(Errno::NOENT)
    };
    Ok(Box::new(Asks { there, row: row.of(IN_A_ROW), asks: missing }))
}

pub(super) fn stat_in_folder(_: usize, row: Row) -> Result<Box<dyn Single>> {
    let asks = |there: &There| {
        let found = statat(&there.opened, FILE_NAME, AtFlags::SYMLINK_NOFOLLOW);
        found.is_ok_and(|found| found.st_size == LENGTH as i64)
    };
    Ok(Box::new(Asks { there: There::new()?, row: row.of(IN_A_ROW), asks }))
}

/// A file of the same length, by a path of [`NAMES_DEEP`] names: the difference to a path of one name is the cost of the further names, in every
/// call by a path.
pub(super) fn stat_deep(_: usize, row: Row) -> Result<Box<dyn Single>> {
    let asks = |there: &There| {
        let found = statat(&there.opened, &*there.deep, AtFlags::SYMLINK_NOFOLLOW);
        found.is_ok_and(|found| found.st_size == LENGTH as i64)
    };
    Ok(Box::new(Asks { there: There::new()?, row: row.of(IN_A_ROW), asks }))
}

pub(super) fn stat_missing(_: usize, row: Row) -> Result<Box<dyn Single>> {
    let asks = |there: &There| statat(CWD, &*there.missing, AtFlags::empty()).err() == Some(Errno::NOENT);
    Ok(Box::new(Asks { there: There::new()?, row: row.of(IN_A_ROW), asks }))
}

pub(super) fn read_link(_: usize, row: Row) -> Result<Box<dyn Single>> {
    let asks = |there: &There| {
        let mut room = [0u8; 64];
        let read = readlinkat_raw(CWD, &*there.link, &mut room[..]);
        read.is_ok_and(|bytes| room[..bytes] == *FILE.as_bytes())
    };
    Ok(Box::new(Asks { there: There::new()?, row: row.of(IN_A_ROW), asks }))
}

/// [`FILE`] as a system call takes it.
const FILE_NAME: &std::ffi::CStr = c"asked";

/// Names of the path that is deep, from the open folder on; the last is the file's.
const NAMES_DEEP: usize = 16;
/// What each of its folders is called.
const WITHIN: &str = "within";

/// A folder of our own with a file and a link to it, and one more file deep below.
struct There {
    _folder: Folder,
    opened: OwnedFd,
    deep: CString,
    missing: CString,
    link: CString,
}

impl There {
    fn new() -> Result<There> {
        let parent = folder();
        let refused = |e: std::io::Error| lacks("a folder of our own", &parent, &e);
        let folder = Folder::make(&parent).map_err(refused)?;
        std::fs::write(folder.path().join(FILE), [1; LENGTH as usize]).map_err(refused)?;
        symlinkat(FILE, CWD, folder.path().join(LINK)).map_err(|e| refused(e.into()))?;
        let below: PathBuf = [WITHIN; NAMES_DEEP - 1].iter().collect();
        std::fs::create_dir_all(folder.path().join(&below)).map_err(refused)?;
        let deep = below.join(FILE);
        std::fs::write(folder.path().join(&deep), [1; LENGTH as usize]).map_err(refused)?;
        let text = |path: &Path| {
            CString::new(path.as_os_str().as_bytes())
                .map_err(|e| Error::system("naming scratch files", e.to_string()))
        };
        let named = |name: &str| text(&folder.path().join(name));
        let (missing, link, deep) = (named(MISSING)?, named(LINK)?, text(&deep)?);
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = open(folder.path(), flags, Mode::empty())
            .map_err(|e| Error::system("opening a scratch folder", e))?;
        Ok(There { _folder: folder, opened, deep, missing, link })
    }
}

/// Calls that leave nothing behind, each with the answer that is known.
struct Asks {
    there: There,
    row: u32,
    asks: fn(&There) -> bool,
}

impl Single for Asks {
    fn count(&self) -> u32 {
        self.row
    }

    #[inline]
    fn calls(&mut self) -> u32 {
        (0..self.row).map(|_| u32::from((self.asks)(&self.there))).sum()
    }
}
