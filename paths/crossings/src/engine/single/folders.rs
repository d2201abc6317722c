//! What a folder lists: getdents64.

use std::fs::{File, hard_link};
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::fs::{Mode, OFlags, SeekFrom, open, seek};
use tollway_core::{Error, Result};
use tollway_host::scratch::{Folder, folder};

use super::files::lacks;
use super::{Row, Single};

/// Folders that are listed in a sample, or as often the same.
const FOLDERS: u32 = 4;

/// Bytes of an entry whose name has twelve characters: 19 before the name, which ends with a zero, rounded up to eight (getdents(2)).
const ENTRY: usize = 32;
/// Bytes of the two that every folder has, `.` and `..`.
const ITSELF: usize = 48;

/// Room that C libraries give a call (glibc, readdir: 32 KiB).
const ROOM: usize = 1 << 15;

pub(super) fn list(size: usize, row: Row) -> Result<Box<dyn Single>> {
    Ok(Box::new(List::new(size, row)?))
}

/// A folder with as many files as its listing has room for.
struct List {
    _folder: Folder,
    opened: Vec<OwnedFd>,
    found: Vec<u8>,
    /// Bytes of the whole listing, and names in it.
    bytes: usize,
    names: usize,
    pending: bool,
}

impl List {
    fn new(size: usize, row: Row) -> Result<List> {
        let parent = folder();
        let refused = |e: std::io::Error| lacks("a folder of our own", &parent, &e);
        let folder = Folder::make(&parent).map_err(refused)?;
        let files = size.saturating_sub(ITSELF) / ENTRY;
        // All are names of one file, where the file system has links: ext4 looks at each inode that was given back in the last minutes
        // before it gives out another, and a thousand of them would make what others create here dearer.
        let named = |number: usize| folder.path().join(format!("entry-{number:06}"));
        for number in 0..files {
            if number == 0 || hard_link(named(0), named(number)).is_err() {
                File::create(named(number)).map_err(refused)?;
            }
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = (0..row.of(FOLDERS)).map(|_| open(folder.path(), flags, Mode::empty()));
        let opened = opened
            .collect::<rustix::io::Result<Vec<_>>>()
            .map_err(|e| Error::system("opening a scratch folder", e))?;
        let bytes = ITSELF + files * ENTRY;
        Ok(List { _folder: folder, opened, found: vec![0; ROOM], bytes, names: files + 2, pending: false })
    }

    /// Names in what was found last: each entry says how long it is (`d_reclen`, at its 16th byte).
    fn listed(&self) -> usize {
        let (mut at, mut names) = (0, 0);
        while let Some(length) = self.found[..self.bytes].get(at + 16..at + 18) {
            let length = usize::from(u16::from_ne_bytes([length[0], length[1]]));
            if length == 0 {
                break;
            }
            at += length;
            names += 1;
        }
        names
    }
}

impl Single for List {
    fn count(&self) -> u32 {
        self.opened.len() as u32
    }

    #[inline]
    fn calls(&mut self) -> u32 {
        self.pending = true;
        let List { opened, found, bytes, .. } = self;
        opened
            .iter()
            .map(|folder| {
                // SAFETY: the kernel writes at most that many bytes to memory that is ours.
                let got = unsafe {
                    libc::syscall(libc::SYS_getdents64, folder.as_raw_fd(), found.as_mut_ptr(), found.len())
                };
                u32::from(got == *bytes as i64)
            })
            .sum()
    }

    fn uses_up(&self) -> bool {
        true
    }

    fn restock(&mut self) -> bool {
        let right = !std::mem::take(&mut self.pending) || self.listed() == self.names;
        self.found.fill(0);
        self.opened.iter().all(|folder| seek(folder, SeekFrom::Start(0)) == Ok(0)) && right
    }
}
