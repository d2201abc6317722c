//! Files of measurements: in which folder they go, and how they are made so that nothing is left behind.

use std::env;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{Mode, OFlags, open, statfs, unlink};
use rustix::io::Errno;

/// The environment variable that names the folder.
pub const FOLDER: &str = "TOLLWAY_SCRATCH";

/// `TMPFS_MAGIC` and `RAMFS_MAGIC` of linux/magic.h: file systems without a disk.
const IN_MEMORY: [u64; 2] = [0x0102_1994, 0x8584_58f6];

/// The folder that [`FOLDER`] names, else the one for temporary files (TMPDIR, /tmp) if it is on a disk, else /var/tmp.
pub fn folder() -> PathBuf {
    if let Some(named) = env::var_os(FOLDER).filter(|f| !f.is_empty()) {
        return named.into();
    }
    let temporary = env::temp_dir();
    if in_memory(&temporary) { "/var/tmp".into() } else { temporary }
}

/// Whether the folder's file system has no disk under it. One that cannot be asked counts as having one.
pub fn in_memory(folder: &Path) -> bool {
    statfs(folder).is_ok_and(|fs| IN_MEMORY.contains(&(fs.f_type as u64)))
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
    let name = folder.join(format!(".tollway-{}-{}", process::id(), MADE.fetch_add(1, Ordering::Relaxed)));
    let file = open(&name, flags | OFlags::CREATE | OFlags::EXCL, mode);
    // The kernel may have made the file before it refused a flag; where there is none, that is what is wanted.
    let _ = unlink(&name);
    file
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nameless_file_takes_bytes_and_leaves_nothing() {
        let folder = env::temp_dir();
        let ours = || {
            let prefix = format!(".tollway-{}-", process::id());
            std::fs::read_dir(env::temp_dir())
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
