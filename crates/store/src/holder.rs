//! Who holds the lock of a store: the kernel knows.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The byte of the `-shm` file that a writer locks (SQLite, "WAL-mode File Format", section 2.3: WAL_WRITE_LOCK).
const WRITE_LOCK: u64 = 120;

/// The process that holds the write lock of that store, in words.
pub(crate) fn of(file: &Path) -> String {
    let Some(pid) = writer(file) else { return "another process".into() };
    match fs::read_to_string(format!("/proc/{pid}/comm")) {
        Ok(name) => format!("process {pid} ({})", name.trim_end()),
        Err(_) => format!("process {pid}"),
    }
}

fn writer(file: &Path) -> Option<u32> {
    let mut shm = file.as_os_str().to_owned();
    shm.push("-shm");
    let inode = fs::metadata(shm).ok()?.ino();
    let locks = fs::read_to_string("/proc/locks").ok()?;
    locks.lines().find_map(|line| holds_write(line, inode))
}

/// A line is `1: POSIX  ADVISORY  WRITE 4242 fd:01:1234 120 120` (proc_locks(5)).
fn holds_write(line: &str, inode: u64) -> Option<u32> {
    let mut fields = line.split_whitespace().skip(3);
    let write = fields.next()? == "WRITE";
    let pid = fields.next()?.parse().ok()?;
    let of_file = fields.next()?.rsplit(':').next()?.parse::<u64>().ok()? == inode;
    let first: u64 = fields.next()?.parse().ok()?;
    let last = fields.next()?.parse().unwrap_or(u64::MAX);
    (write && of_file && (first..=last).contains(&WRITE_LOCK)).then_some(pid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_line_of_locks() {
        let line = "1: POSIX  ADVISORY  WRITE 4242 fd:01:1234 120 120";
        assert_eq!(holds_write(line, 1234), Some(4242));
        assert_eq!(holds_write(line, 1235), None);
        assert_eq!(holds_write("1: POSIX  ADVISORY  READ 4242 fd:01:1234 123 123", 1234), None);
        assert_eq!(holds_write("2: FLOCK  ADVISORY  WRITE 7 fd:01:1234 0 EOF", 1234), Some(7));
        assert_eq!(holds_write("", 1234), None);
    }
}
