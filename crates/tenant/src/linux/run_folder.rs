//! A folder for the files of guests that need a name or a disk, such as disk images.
//!
//! Each program that has guests with files has one of its own, which goes with the last of those guests. What a kill or
//! a power cut left is found by its lock, which nobody holds any longer, and removed at the next start.

use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use tollway_core::{Error, Result};
use tollway_host::scratch;

/// The file in each folder that its program holds locked; and the one that is held while folders come and go.
const LOCK: &str = "lock";

/// One guest's folder in that of its program; it goes with its value.
#[derive(Debug)]
pub(super) struct GuestFolder {
    path: PathBuf,
    _of: Arc<RunFolder>,
}

impl GuestFolder {
    /// A new, empty one.
    ///
    /// # Errors
    /// [`Error::System`] where it cannot be made, or where somebody else has put something in its place.
    pub(super) fn make() -> Result<GuestFolder> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let of = RunFolder::enter()?;
        let path = of.path.join(format!("guest-{}", MADE.fetch_add(1, Ordering::Relaxed)));
        DirBuilder::new()
            .mode(0o700)
            .create(&path)
            .map_err(|e| Error::system(format!("making {}", path.display()), e))?;
        Ok(GuestFolder { path, _of: of })
    }

    /// Its path.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for GuestFolder {
    fn drop(&mut self) {
        // What cannot be removed now is removed at the next start.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// This program's folder, for as long as somebody has it.
#[derive(Debug)]
struct RunFolder {
    path: PathBuf,
    _lock: File,
}

impl RunFolder {
    /// The one there is, or one made where there is none, on the disk that measurements use ([`scratch::folder`]). Nobody
    /// else may look into it.
    ///
    /// # Errors
    /// [`Error::System`] where it cannot be made, or where somebody else has put something in its place.
    fn enter() -> Result<Arc<RunFolder>> {
        static CURRENT: Mutex<Weak<RunFolder>> = Mutex::new(Weak::new());
        let mut current = CURRENT.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(folder) = current.upgrade() {
            return Ok(folder);
        }
        let all = all();
        let made = RunFolder::make(&all).map_err(|e| {
            Error::system(format!("making a folder for guests' files in {}", all.display()), e)
        })?;
        let made = Arc::new(made);
        *current = Arc::downgrade(&made);
        Ok(made)
    }

    fn make(all: &Path) -> io::Result<RunFolder> {
        let _alone = own(all).and_then(|()| locked(&all.join(LOCK), FlockOperation::LockExclusive))?;
        remove_unheld(all)?;
        for number in 0.. {
            let path = all.join(format!("{}-{number}", std::process::id()));
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => {
                    let lock = locked(&path.join(LOCK), FlockOperation::NonBlockingLockExclusive)?;
                    return Ok(RunFolder { path, _lock: lock });
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        unreachable!("numbers do not end")
    }
}

impl Drop for RunFolder {
    fn drop(&mut self) {
        // What cannot be removed now is removed at the next start.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Removes what earlier programs left. Nothing is made where there is nothing.
///
/// # Errors
/// [`Error::System`] where something that was left cannot be removed.
pub(super) fn clear() -> Result<()> {
    let all = all();
    let cleared = || -> io::Result<()> {
        if !all.try_exists()? {
            return Ok(());
        }
        own(&all)?;
        let _alone = locked(&all.join(LOCK), FlockOperation::LockExclusive)?;
        remove_unheld(&all)
    };
    cleared().map_err(|e| Error::system(format!("clearing {}", all.display()), e))
}

/// The folder of all programs' folders.
fn all() -> PathBuf {
    scratch::folder().join(format!("tollway-{}", rustix::process::geteuid().as_raw()))
}

/// Makes sure that a folder is there and is ours alone: others can write to where it stands.
fn own(folder: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let found = fs::symlink_metadata(folder)?;
    let ours =
        found.is_dir() && found.uid() == rustix::process::geteuid().as_raw() && found.mode() & 0o077 == 0;
    if ours { Ok(()) } else { Err(io::Error::other("it is there, but is no folder of this user's alone")) }
}

fn locked(path: &Path, how: FlockOperation) -> io::Result<File> {
    let file = File::options().create(true).truncate(false).write(true).open(path)?;
    rustix::io::retry_on_intr(|| flock(&file, how))?;
    Ok(file)
}

/// Removes every folder whose lock nobody holds. The lock on all of them is held meanwhile, so that none is just being
/// made.
fn remove_unheld(all: &Path) -> io::Result<()> {
    for entry in fs::read_dir(all)? {
        let folder = entry?.path();
        if !fs::symlink_metadata(&folder)?.is_dir() {
            continue;
        }
        match locked(&folder.join(LOCK), FlockOperation::NonBlockingLockExclusive) {
            Ok(_unheld) => fs::remove_dir_all(&folder)?,
            Err(error) if error.raw_os_error() == Some(Errno::WOULDBLOCK.raw_os_error()) => {}
            // Its owner is removing it.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn what_is_held_stays_and_what_was_left_goes() {
        let place = tempfile::tempdir().unwrap();
        let all = place.path().join("all");
        let first = RunFolder::make(&all).unwrap();
        fs::write(first.path.join("image"), "x").unwrap();
        // As a kill leaves it: the files are there and the lock is free.
        let left = all.join("1-0");
        fs::create_dir_all(left.join("deep")).unwrap();
        fs::write(left.join("deep/image"), "x").unwrap();
        let second = RunFolder::make(&all).unwrap();
        assert!(!left.exists() && first.path.join("image").exists());
        assert_ne!(first.path, second.path);
        let path = first.path.clone();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
        drop(first);
        assert!(!path.exists() && second.path.exists());
    }

    #[test]
    fn what_somebody_else_put_there_is_not_used() {
        let place = tempfile::tempdir().unwrap();
        let (open, link, file) =
            (place.path().join("open"), place.path().join("link"), place.path().join("file"));
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
        let target = place.path().join("target");
        fs::create_dir(&target).unwrap();
        symlink(&target, &link).unwrap();
        fs::write(&file, "x").unwrap();
        for place in [open, link, file] {
            assert!(RunFolder::make(&place).is_err(), "{}", place.display());
        }
        assert_eq!(fs::read_dir(&target).unwrap().count(), 0);
    }

    #[test]
    fn a_guests_files_go_with_it_and_the_folder_with_the_last() {
        let (one, two) = (GuestFolder::make().unwrap(), GuestFolder::make().unwrap());
        assert_ne!(one.path(), two.path());
        fs::write(one.path().join("image"), "x").unwrap();
        let (path, all) = (one.path().to_owned(), one.path().parent().unwrap().to_owned());
        drop(one);
        clear().unwrap();
        assert!(!path.exists() && two.path().exists());
        drop(two);
        assert!(!all.exists());
    }
}
