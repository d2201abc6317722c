//! Files of measurements: in which folder they go, and how they are made so that nothing is left behind.
//!
//! What must have a name has it for a moment. Where a program is killed in that moment the name stays; [`clear`] removes it, which whoever begins to
//! measure does.

mod folder;
mod medium;

use std::env;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{Mode, OFlags, open, unlink};
use rustix::io::Errno;
use rustix::process::geteuid;

pub use folder::Folder;
pub use medium::in_memory;

/// What names of ours begin with; the numbers of a process and of what it made follow.
const PREFIX: &str = ".tollway-";

/// The environment variable that names the folder.
pub const FOLDER: &str = "TOLLWAY_SCRATCH";

/// The folder that [`FOLDER`] names, else the one for temporary files (TMPDIR, /tmp) if it is on a disk, else /var/tmp.
pub fn folder() -> PathBuf {
    if let Some(named) = env::var_os(FOLDER).filter(|f| !f.is_empty()) {
        return named.into();
    }
    let temporary = env::temp_dir();
    if in_memory(&temporary) { "/var/tmp".into() } else { temporary }
}

/// A new file for reading and writing, readable by nobody else, that has no name: O_TMPFILE where the file system has
/// it, else a file that is unlinked at once. `flags` are added, for instance O_DIRECT.
pub fn nameless(folder: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    static MADE: AtomicU64 = AtomicU64::new(0);
    let (flags, mode) = (flags | OFlags::RDWR | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR);
    match open(folder, flags | OFlags::TMPFILE, mode) {
        // EISDIR is what a kernel or file system says that does not know the flag (open(2)).
        Err(Errno::OPNOTSUPP | Errno::ISDIR) => {}
        opened => return opened,
    }
    let name = folder.join(name(process::id(), MADE.fetch_add(1, Ordering::Relaxed)));
    let file = open(&name, flags | OFlags::CREATE | OFlags::EXCL, mode);
    // The kernel may have made the file before it refused a flag; where there is none, that is what is wanted.
    let _ = unlink(&name);
    file
}

fn name(process: u32, number: u64) -> String {
    format!("{PREFIX}{process}-{number}")
}

fn is_ours(name: &str) -> bool {
    let numbers = name.strip_prefix(PREFIX).and_then(|rest| rest.split_once('-'));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    numbers.is_some_and(|(process, number)| is_number(process) && is_number(number))
}

/// Removes from a folder what programs of this user have left there that were killed: files, whose names nobody needs once they are open, and folders
/// whose makers are dead.
///
/// # Errors
/// The folder cannot be read.
pub fn clear(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)?.flatten() {
        let (path, about) = (entry.path(), entry.metadata());
        let Ok(about) = about else { continue };
        if !is_ours(&entry.file_name().to_string_lossy()) || about.uid() != geteuid().as_raw() {
            continue;
        }
        // What cannot be removed now may be the next time.
        if about.is_file() {
            let _ = fs::remove_file(path);
        } else if let Some(_locked) = folder::locked(&path)? {
            let _ = fs::remove_dir_all(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_ours_are_cleared_and_no_others() {
        let folder = tempfile::tempdir().unwrap();
        let others =
            [".tollway-", ".tollway-1", ".tollway-1-", ".tollway-1-x", "tollway-1-1", ".tollway-1-1.db"];
        for file in others.into_iter().chain([".tollway-1-1", ".tollway-22-0"]) {
            fs::write(folder.path().join(file), "x").unwrap();
        }
        std::os::unix::fs::symlink("/", folder.path().join(".tollway-3-3")).unwrap();
        clear(folder.path()).unwrap();
        let mut left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        left.sort();
        let mut expected = [&others[..], &[".tollway-3-3"]].concat();
        expected.sort_unstable();
        assert_eq!(left, expected);
        assert!(clear(Path::new("/nowhere/at/all")).is_err());
    }

    #[test]
    fn a_nameless_file_takes_bytes_and_leaves_nothing() {
        let folder = env::temp_dir();
        let ours = || {
            let prefix = format!(".tollway-{}-", process::id());
            fs::read_dir(env::temp_dir())
                .unwrap()
                .filter(|e| e.as_ref().unwrap().file_name().to_string_lossy().starts_with(&prefix))
                .count()
        };
        let file = nameless(&folder, OFlags::empty()).unwrap();
        assert_eq!(rustix::io::pwrite(&file, b"there", 0).unwrap(), 5);
        assert_eq!(ours(), 0);
    }

    #[test]
    fn a_folder_that_is_not_there_is_said_so() {
        assert_eq!(nameless(Path::new("/nowhere/at/all"), OFlags::empty()).unwrap_err(), Errno::NOENT);
        assert!(!in_memory(Path::new("/nowhere/at/all")));
    }
}
