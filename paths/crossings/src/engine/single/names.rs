//! Files made and removed by their names, in a private folder of the folder for measurements.
//!
//! The file system's journal may have them wait for a disk: samples are latencies; the work is the thread's processor time.

use std::ffi::CString;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{
    AtFlags, CWD, IFlags, Mode, OFlags, fdatasync, ioctl_getflags, ioctl_setflags, linkat, mkdirat, openat,
    renameat, stat, unlink,
};
use rustix::io::{Errno, write};
use tollway_core::{Error, Result, Tally};
use tollway_host::scratch::{Folder, folder};

use super::files::lacks;
use super::worked::Worked;
use super::{Row, Single};

/// Files of a sample.
const FILES: u32 = 4;

/// New files that are left where they are before they are removed, all together.
const LEFT: u32 = 2048;

/// Bytes of a file that is removed.
const PAGE: usize = 4096;

pub(super) fn create(_: usize, row: Row) -> Result<Box<dyn Single>> {
    Ok(Box::new(Create {
        names: Names::new(row)?,
        made: row.room(FILES),
        worked: Worked::new()?,
        pending: false,
    }))
}

pub(super) fn remove(_: usize, row: Row) -> Result<Box<dyn Single>> {
    Ok(Box::new(Remove { names: Names::new(row)?, worked: Worked::new()?, pending: false }))
}

pub(super) fn make_folder(_: usize, row: Row) -> Result<Box<dyn Single>> {
    Ok(Box::new(Make { names: Names::new(row)?, what: What::Folder, worked: Worked::new()?, pending: false }))
}

pub(super) fn link(_: usize, row: Row) -> Result<Box<dyn Single>> {
    let names = Names::new(row)?;
    let of = names.other("linked")?;
    made(&of).map_err(|e| Error::system("making a scratch file", e))?;
    Ok(Box::new(Make { names, what: What::Link(of), worked: Worked::new()?, pending: false }))
}

pub(super) fn rename(_: usize, row: Row) -> Result<Box<dyn Single>> {
    let names = Names::new(row)?;
    let others = (0..names.count()).map(|number| names.other(&format!("old-{number}")));
    let others: Vec<CString> = others.collect::<Result<_>>()?;
    for path in &others {
        made(path).map_err(|e| Error::system("making a scratch file", e))?;
    }
    Ok(Box::new(Rename { names, others, worked: Worked::new()?, pending: false }))
}

/// Paths of files in a folder of our own, which has nothing else in it.
struct Names {
    folder: Folder,
    paths: Vec<CString>,
    /// How many were given out in the folder before these.
    before: u32,
    /// The folder of such folders.
    apart: Folder,
}

impl Names {
    fn new(row: Row) -> Result<Names> {
        let parent = folder();
        let apart = Folder::make(&parent).map_err(|e| lacks("a folder of our own", &parent, &e))?;
        spread(&apart);
        let folder = Folder::make(apart.path()).map_err(|e| lacks("a folder of our own", &parent, &e))?;
        Ok(Names { paths: named(&folder, 0, row.of(FILES))?, folder, before: 0, apart })
    }

    fn count(&self) -> u32 {
        self.paths.len() as u32
    }

    /// As many others, which nothing has. What has the names that were given out stays: a file system may look at each inode that was
    /// given back before it gives out another (ext4 without a journal, for minutes).
    fn go_on(&mut self) -> Result<()> {
        self.before += self.count();
        if self.before >= LEFT {
            let parent = self.apart.path();
            self.folder = Folder::make(parent).map_err(|e| lacks("a folder of our own", parent, &e))?;
            self.before = 0;
        }
        self.paths = named(&self.folder, self.before, self.count())?;
        Ok(())
    }

    /// Another path in the folder.
    fn other(&self, name: &str) -> Result<CString> {
        CString::new(self.folder.path().join(name).as_os_str().as_bytes())
            .map_err(|e| Error::system("naming scratch files", e.to_string()))
    }
}

fn named(folder: &Folder, before: u32, count: u32) -> Result<Vec<CString>> {
    let named = |number| CString::new(folder.path().join(format!("new-{number}")).as_os_str().as_bytes());
    let paths = (before..before + count).map(named).collect::<Result<_, _>>();
    paths.map_err(|e| Error::system("naming scratch files", e.to_string()))
}

/// Has the file system put each folder in this one elsewhere, where it can (ext4, FS_TOPDIR_FL): away from inodes that were given back.
fn spread(folder: &Folder) {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    if let Ok(folder) = openat(CWD, folder.path(), flags, Mode::empty())
        && let Ok(flags) = ioctl_getflags(&folder)
    {
        let _ = ioctl_setflags(&folder, flags | IFlags::TOPDIR);
    }
}

fn is_there(path: &CString) -> bool {
    stat(&**path).is_ok()
}

fn made(path: &CString) -> Result<OwnedFd, Errno> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::CLOEXEC;
    openat(CWD, &**path, flags, Mode::RUSR | Mode::WUSR)
}

/// openat with O_CREAT of a file that does not exist.
struct Create {
    names: Names,
    made: Vec<OwnedFd>,
    worked: Worked,
    pending: bool,
}

impl Single for Create {
    fn count(&self) -> u32 {
        self.names.count()
    }

    #[inline]
    fn calls(&mut self) -> u32 {
        self.pending = true;
        let mut right = 0;
        for path in &self.names.paths {
            // There is room for them: `restock` has emptied it.
            if let Ok(file) = made(path) {
                self.made.push(file);
                right += 1;
            }
        }
        right
    }

    fn uses_up(&self) -> bool {
        true
    }

    fn restock(&mut self) -> bool {
        self.worked.end();
        let pending = std::mem::take(&mut self.pending);
        self.made.clear();
        !pending || self.names.paths.iter().all(is_there) && self.names.go_on().is_ok()
    }

    fn ready(&mut self) {
        self.worked.begin(self.names.count());
    }

    fn tally(&self, _: u64) -> Tally {
        self.worked.tally()
    }
}

/// unlinkat of a closed file of one page, whose block is on the disk.
struct Remove {
    names: Names,
    worked: Worked,
    pending: bool,
}

impl Single for Remove {
    fn count(&self) -> u32 {
        self.names.count()
    }

    #[inline]
    fn calls(&mut self) -> u32 {
        self.pending = true;
        self.names.paths.iter().map(|path| u32::from(unlink(&**path).is_ok())).sum()
    }

    fn uses_up(&self) -> bool {
        true
    }

    fn restock(&mut self) -> bool {
        self.worked.end();
        let pending = std::mem::take(&mut self.pending);
        let gone = !pending || self.names.paths.iter().all(|path| stat(&**path).err() == Some(Errno::NOENT));
        let filled = |path: &CString| {
            made(path).is_ok_and(|file| write(&file, &[1; PAGE]) == Ok(PAGE) && fdatasync(&file).is_ok())
        };
        self.names.paths.iter().all(filled) && gone
    }

    fn ready(&mut self) {
        self.worked.begin(self.names.count());
    }

    fn tally(&self, _: u64) -> Tally {
        self.worked.tally()
    }
}

/// What is made under a name.
enum What {
    Folder,
    /// Another name of this file.
    Link(CString),
}

/// mkdirat, or linkat.
struct Make {
    names: Names,
    what: What,
    worked: Worked,
    pending: bool,
}

impl Single for Make {
    fn count(&self) -> u32 {
        self.names.count()
    }

    #[inline]
    fn calls(&mut self) -> u32 {
        self.pending = true;
        let make = |path: &CString| match &self.what {
            What::Folder => mkdirat(CWD, &**path, Mode::RWXU),
            What::Link(of) => linkat(CWD, &**of, CWD, &**path, AtFlags::empty()),
        };
        self.names.paths.iter().map(|path| u32::from(make(path).is_ok())).sum()
    }

    fn uses_up(&self) -> bool {
        true
    }

    fn restock(&mut self) -> bool {
        self.worked.end();
        if !std::mem::take(&mut self.pending) {
            return true;
        }
        match &self.what {
            What::Folder => self.names.paths.iter().all(is_there) && self.names.go_on().is_ok(),
            What::Link(of) => self
                .names
                .paths
                .iter()
                .all(|path| stat(&**of).is_ok_and(|of| of.st_nlink > 1) && unlink(&**path).is_ok()),
        }
    }

    fn ready(&mut self) {
        self.worked.begin(self.names.count());
    }

    fn tally(&self, _: u64) -> Tally {
        self.worked.tally()
    }
}

/// renameat to a name that nothing has.
struct Rename {
    names: Names,
    /// What files are called when they are not called that.
    others: Vec<CString>,
    worked: Worked,
    pending: bool,
}

impl Single for Rename {
    fn count(&self) -> u32 {
        self.names.count()
    }

    #[inline]
    fn calls(&mut self) -> u32 {
        self.pending = true;
        let pairs = self.others.iter().zip(&self.names.paths);
        pairs.map(|(old, new)| u32::from(renameat(CWD, &**old, CWD, &**new).is_ok())).sum()
    }

    fn uses_up(&self) -> bool {
        true
    }

    fn restock(&mut self) -> bool {
        self.worked.end();
        let back = |(old, new): (&CString, &CString)| {
            stat(&**old).err() == Some(Errno::NOENT) && renameat(CWD, &**new, CWD, &**old).is_ok()
        };
        !std::mem::take(&mut self.pending) || self.others.iter().zip(&self.names.paths).all(back)
    }

    fn ready(&mut self) {
        self.worked.begin(self.names.count());
    }

    fn tally(&self, _: u64) -> Tally {
        self.worked.tally()
    }
}
