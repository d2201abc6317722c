//! How much memory a program can have without anything being swapped out or killed.
//!
//! What the kernel estimates for the machine (MemAvailable of /proc/meminfo), and no more than the memory cgroups leave in which
//! this process is: their limit less what is used there, page cache not counted, since it gives way. Others may take of the same
//! memory a moment later. What it could have if nobody used any stands still: it is what several must go by who share some.

use std::fs;
use std::path::Path;

use crate::found::{Found, garbled, text};

const WHAT: &str = "available memory";

/// What the files of one version of cgroups are called.
struct Cgroups {
    folder: &'static str,
    limit: &'static str,
    used: &'static str,
    /// The page cache, in memory.stat.
    cache: &'static str,
}

const FIRST: Cgroups = Cgroups {
    folder: "sys/fs/cgroup/memory",
    limit: "memory.limit_in_bytes",
    used: "memory.usage_in_bytes",
    cache: "total_cache",
};

const SECOND: Cgroups =
    Cgroups { folder: "sys/fs/cgroup", limit: "memory.max", used: "memory.current", cache: "file" };

/// Bytes that this process can have.
///
/// # Errors
/// [`Missing`](tollway_core::Missing) if /proc/meminfo cannot be read or does not say.
pub fn available() -> Found<u64> {
    bytes_in(Path::new("/"), Counted::Free)
}

/// Bytes that this process could have if nobody used any: the machine's memory, or the tightest limit.
///
/// # Errors
/// As of [`available`].
pub fn total() -> Found<u64> {
    bytes_in(Path::new("/"), Counted::All)
}

/// Whether this guest gives memory that it has freed back to its host: a page of that is brought by the host when it is next
/// written to, which takes a VM exit and some microseconds.
pub fn goes_back() -> bool {
    goes_back_in(Path::new("/"))
}

/// What is at a bit of the features that a device and its driver agreed on: linux/virtio_balloon.h, VIRTIO_BALLOON_F_REPORTING.
const REPORTING: usize = 5;
/// The number of a balloon: linux/virtio_ids.h, VIRTIO_ID_BALLOON.
const BALLOON: &str = "0x0005";

fn goes_back_in(root: &Path) -> bool {
    let devices = fs::read_dir(root.join("sys/bus/virtio/devices")).into_iter().flatten().flatten();
    devices.into_iter().any(|device| {
        let text = |name: &str| fs::read_to_string(device.path().join(name)).unwrap_or_default();
        // One digit a bit, the first of them bit 0.
        text("device").trim() == BALLOON && text("features").as_bytes().get(REPORTING) == Some(&b'1')
    })
}

/// Which memory is counted.
#[derive(Clone, Copy)]
enum Counted {
    Free,
    All,
}

fn bytes_in(root: &Path, counted: Counted) -> Found<u64> {
    let meminfo = text(root.join("proc/meminfo"), WHAT, "mount /proc")?;
    let line = match counted {
        Counted::Free => "MemAvailable:",
        Counted::All => "MemTotal:",
    };
    let machine = named(&meminfo, line).ok_or_else(|| garbled(WHAT, format!("no line `{line}`")))?;
    let mine = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    let rooms = mine.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ':');
        let (number, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
        match (number, controllers) {
            ("0", "") => Some(room(root, &SECOND, path, counted)),
            _ if controllers.split(',').any(|c| c == "memory") => Some(room(root, &FIRST, path, counted)),
            _ => None,
        }
    });
    Ok(rooms.flatten().fold(machine.saturating_mul(1024), u64::min))
}

/// The least that a cgroup and those above it leave; `None` where no limit can be read.
fn room(root: &Path, cgroups: &Cgroups, path: &str, counted: Counted) -> Option<u64> {
    let folder = root.join(cgroups.folder);
    let path = Path::new(path.trim_start_matches('/'));
    let rooms = path.ancestors().filter_map(|above| {
        let read = |name: &str| fs::read_to_string(folder.join(above).join(name)).ok();
        let number = |name: &str| read(name)?.trim().parse::<u64>().ok();
        // Without a limit the second version says `max`.
        let limit = number(cgroups.limit)?;
        if let Counted::All = counted {
            return Some(limit);
        }
        let cache = named(&read("memory.stat").unwrap_or_default(), cgroups.cache).unwrap_or_default();
        Some(limit.saturating_sub(number(cgroups.used)?.saturating_sub(cache)))
    });
    rooms.min()
}

/// The number behind a name at the beginning of a line.
fn named(text: &str, name: &str) -> Option<u64> {
    let words = text.lines().map(|line| line.split_whitespace());
    words.filter_map(|mut words| (words.next()? == name).then(|| words.next()?.parse().ok())?).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn put(root: &Path, name: &str, text: &str) {
        let file = root.join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }

    fn machine() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        put(root.path(), "proc/meminfo", "MemTotal:  9000 kB\nMemAvailable:    8192 kB\n");
        root
    }

    #[test]
    fn memory_goes_back_where_a_balloon_says_so() {
        let root = machine();
        assert!(!goes_back_in(root.path()));
        put(root.path(), "sys/bus/virtio/devices/virtio0/device", "0x0002\n");
        put(root.path(), "sys/bus/virtio/devices/virtio0/features", "0000010000\n");
        put(root.path(), "sys/bus/virtio/devices/virtio1/device", "0x0005\n");
        put(root.path(), "sys/bus/virtio/devices/virtio1/features", "0110000000\n");
        assert!(!goes_back_in(root.path()), "a disk, and a balloon that does not report free pages");
        put(root.path(), "sys/bus/virtio/devices/virtio1/features", "0110010000\n");
        assert!(goes_back_in(root.path()));
    }

    #[test]
    fn without_cgroups_it_is_what_the_machine_has() {
        assert_eq!(bytes_in(machine().path(), Counted::Free), Ok(8 * MIB));
        assert!(bytes_in(tempfile::tempdir().unwrap().path(), Counted::Free).is_err());
        assert!(available().unwrap() > MIB && total().unwrap() >= available().unwrap());
        assert_eq!(bytes_in(machine().path(), Counted::All), Ok(9000 << 10));
    }

    #[test]
    fn the_tightest_limit_above_counts_and_the_page_cache_gives_way() {
        let root = machine();
        let put = |name: &str, text: String| put(root.path(), name, &text);
        put("proc/self/cgroup", "0::/a/b\n".into());
        put("sys/fs/cgroup/a/b/memory.max", "max\n".into());
        put("sys/fs/cgroup/a/b/memory.current", format!("{MIB}\n"));
        assert_eq!(bytes_in(root.path(), Counted::Free), Ok(8 * MIB));
        put("sys/fs/cgroup/a/memory.max", format!("{}\n", 4 * MIB));
        put("sys/fs/cgroup/a/memory.current", format!("{}\n", 3 * MIB));
        put("sys/fs/cgroup/a/memory.stat", format!("anon 5\nfile {}\n", 2 * MIB));
        assert_eq!(bytes_in(root.path(), Counted::Free), Ok(3 * MIB));
        assert_eq!(bytes_in(root.path(), Counted::All), Ok(4 * MIB));
    }

    #[test]
    fn cgroups_of_the_first_version_count_as_well() {
        let root = machine();
        let put = |name: &str, text: &str| put(root.path(), name, text);
        put("proc/self/cgroup", "9:name=systemd:/\n4:memory:/x\n0::/\n");
        put("sys/fs/cgroup/memory/x/memory.limit_in_bytes", "1000000\n");
        put("sys/fs/cgroup/memory/x/memory.usage_in_bytes", "400000\n");
        assert_eq!(bytes_in(root.path(), Counted::Free), Ok(600_000));
    }
}
