//! Whether there is room left for a store: on its file system, and below the limit on the size of files.

use std::path::Path;

/// Bytes with which SQLite cannot go on: the file of its shared memory has 32 KiB, and a log begins with some pages.
const LEAST: u64 = 64 << 10;

/// Whether there is next to none; not where the file system does not tell.
pub(crate) fn is_none(file: &Path) -> bool {
    let folder = match file.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let about = rustix::fs::statvfs(file).or_else(|_| rustix::fs::statvfs(folder));
    about.is_ok_and(|about| about.f_blocks > 0 && about.f_bavail.saturating_mul(about.f_frsize) < LEAST)
}

/// The limit on the size of files of this process, in bytes, where a file of the store has come up to it
/// (setrlimit(2), RLIMIT_FSIZE). SQLite does not tell what the kernel answered.
pub(crate) fn limit_reached(file: &Path) -> Option<u64> {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Fsize).current?;
    let largest = ["", "-wal", "-shm", "-journal"].map(|beside| {
        let mut name = file.as_os_str().to_owned();
        name.push(beside);
        std::fs::metadata(name).map_or(0, |about| about.len())
    });
    // A page, or the file of the shared memory, would have been beyond it.
    largest.into_iter().any(|bytes| bytes.saturating_add(LEAST) > limit).then_some(limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_is_written_to_has_room_and_one_that_is_not_there_tells_nothing() {
        let folder = tempfile::tempdir().unwrap();
        assert!(!is_none(&folder.path().join("not-there.db")));
        assert!(!is_none(Path::new("/nowhere/at/all.db")));
        // It has no blocks at all, so none that were used up.
        assert!(!is_none(Path::new("/proc/version")));
    }
}
