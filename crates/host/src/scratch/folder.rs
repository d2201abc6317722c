//! A private folder for files that must have names while they are opened. It is removed right after that; what is left of one
//! whose process was killed in between is cleared by the next that makes one, and by whoever calls [`clear`](super::clear).
//!
//! Who lives holds a lock on the folder, which the kernel gives up when the process ends however it ends. So nobody clears what
//! another still needs, and no number of a process is asked whether it lives.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{FlockOperation, Mode, OFlags, flock, fstat, open};
use rustix::process::geteuid;

/// A folder, while it is there.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// Holds the lock.
    _locked: OwnedFd,
}

impl Folder {
    /// A new one, readable by nobody else, after clearing what others have left.
    ///
    /// # Errors
    /// The parent cannot be read, or nothing can be made in it.
    pub fn make(parent: &Path) -> io::Result<Folder> {
        static MADE: AtomicU64 = AtomicU64::new(0);
        super::clear(parent)?;
        loop {
            let path = parent.join(super::name(process::id(), MADE.fetch_add(1, Ordering::Relaxed)));
            match fs::DirBuilder::new().mode(0o700).create(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                made => made?,
            }
            // Somebody who clears may have been faster than the lock.
            if let Some(locked) = locked(&path)? {
                return Ok(Folder { path, _locked: locked });
            }
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed now is removed by the next.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// The lock of the folder of this name, if it is this user's; `None` where somebody else has it, or the folder is gone.
pub(super) fn locked(path: &Path) -> io::Result<Option<OwnedFd>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let Ok(handle) = open(path, flags, Mode::empty()) else { return Ok(None) };
    if flock(&handle, FlockOperation::NonBlockingLockExclusive).is_err() {
        return Ok(None);
    }
    let held = fstat(&handle)?;
    let named = fs::symlink_metadata(path);
    let same = named.is_ok_and(|named| (named.dev(), named.ino()) == (held.st_dev, held.st_ino));
    Ok((same && held.st_uid == geteuid().as_raw()).then_some(handle))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_dead_left_is_cleared_and_what_the_living_have_is_not() {
        let parent = tempfile::tempdir().unwrap();
        let left = parent.path().join(super::super::name(1, 1));
        fs::create_dir(&left).unwrap();
        fs::write(left.join("users.db"), "half of it").unwrap();
        let other = parent.path().join("another");
        fs::create_dir(&other).unwrap();
        let first = Folder::make(parent.path()).unwrap();
        assert!(!left.exists() && other.exists());
        let second = Folder::make(parent.path()).unwrap();
        assert!(first.path().exists() && second.path().exists() && first.path() != second.path());
        let path = first.path().to_path_buf();
        drop(first);
        assert!(!path.exists() && second.path().exists());
    }
}
