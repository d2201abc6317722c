//! The caches of the processors, from /sys/devices/system/cpu/cpu*/cache.
//!
//! In a virtual machine this is what the hypervisor shows: it may be the cache of a whole socket, most of which others use,
//! or none at all.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use tollway_core::Missing;

use crate::found::{Found, line};

const FOLDER: &str = "/sys/devices/system/cpu";

/// Bytes of all caches of the last level together, each counted once however many processors share it.
///
/// # Errors
/// [`Missing`] if /sys lists no cache.
pub fn last_level_caches() -> Found<u64> {
    last_level_caches_in(Path::new(FOLDER))
}

fn last_level_caches_in(folder: &Path) -> Found<u64> {
    let unknown = |reason: String| {
        Missing::new(
            "the size of the last-level cache",
            reason,
            "mount /sys; in a guest: have the hypervisor show the host's caches",
        )
    };
    let processors = fs::read_dir(folder).map_err(|e| unknown(format!("{}: {e}", folder.display())))?;
    // By level and by who shares it.
    let mut caches: BTreeMap<u32, BTreeMap<String, u64>> = BTreeMap::new();
    for processor in processors.flatten() {
        let Ok(indices) = fs::read_dir(processor.path().join("cache")) else { continue };
        for index in indices.flatten().map(|index| index.path()) {
            let level = line(index.join("level")).and_then(|level| level.parse().ok());
            let size = line(index.join("size")).and_then(|size| bytes(&size));
            let sharers = line(index.join("shared_cpu_list"));
            if let (Some(level), Some(size), Some(sharers)) = (level, size, sharers) {
                caches.entry(level).or_default().insert(sharers, size);
            }
        }
    }
    match caches.last_key_value() {
        Some((_, last)) => Ok(last.values().sum()),
        None => Err(unknown(format!("no processor in {} lists a cache", folder.display()))),
    }
}

/// The kernel says sizes in units of 1024 bytes, as `32768K`.
fn bytes(size: &str) -> Option<u64> {
    size.strip_suffix('K')?.parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(folder: &Path, cpu: u32, index: u32, [level, size, sharers]: [&str; 3]) {
        let cache = folder.join(format!("cpu{cpu}/cache/index{index}"));
        fs::create_dir_all(&cache).unwrap();
        for (name, text) in [("level", level), ("size", size), ("shared_cpu_list", sharers)] {
            fs::write(cache.join(name), format!("{text}\n")).unwrap();
        }
    }

    #[test]
    fn a_cache_that_is_shared_counts_once_and_lower_levels_do_not() {
        let folder = tempfile::tempdir().unwrap();
        assert!(last_level_caches_in(folder.path()).is_err());
        for cpu in 0..4 {
            cache(folder.path(), cpu, 0, ["1", "32K", &cpu.to_string()]);
            cache(folder.path(), cpu, 3, ["3", "16384K", if cpu < 2 { "0-1" } else { "2-3" }]);
        }
        assert_eq!(last_level_caches_in(folder.path()), Ok(2 * 16384 * 1024));
    }

    #[test]
    fn without_a_third_level_it_is_the_second() {
        let folder = tempfile::tempdir().unwrap();
        cache(folder.path(), 0, 0, ["1", "32K", "0"]);
        cache(folder.path(), 0, 2, ["2", "2048K", "0"]);
        cache(folder.path(), 0, 9, ["3", "huge", "0"]);
        assert_eq!(last_level_caches_in(folder.path()), Ok(2048 * 1024));
    }
}
