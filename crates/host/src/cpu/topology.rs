//! Which processors are threads of one core, cores of one package, users of one last-level cache.
//!
//! From /sys/devices/system/cpu. In a virtual machine this is what the hypervisor shows: two "cores" may be two
//! threads of one, and nothing inside can tell except a measurement.

use std::path::Path;

use serde::{Deserialize, Serialize};
use tollway_core::Missing;

use crate::found::{Found, line};

const FOLDER: &str = "/sys/devices/system/cpu";

/// One logical processor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Processor {
    /// Its number.
    pub cpu: u32,
    /// Its package (socket); 0 where the kernel does not say.
    pub package: i64,
    /// All threads of its core, itself included, ascending.
    pub siblings: Vec<u32>,
    /// All processors that share its last-level cache, itself included; empty where the kernel does not say.
    pub cache_mates: Vec<u32>,
}

/// All processors that are online.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Topology {
    /// By number.
    pub processors: Vec<Processor>,
}

impl Topology {
    /// Reads this machine's.
    ///
    /// # Errors
    /// [`Missing`] if /sys does not list the processors.
    pub fn read() -> Found<Topology> {
        Topology::read_in(Path::new(FOLDER))
    }

    fn read_in(folder: &Path) -> Found<Topology> {
        let online = line(folder.join("online")).and_then(|text| parse_list(&text)).ok_or_else(|| {
            Missing::new(
                "processor topology",
                format!("{}/online cannot be read or understood", folder.display()),
                "mount /sys",
            )
        })?;
        let processors = online
            .into_iter()
            .map(|cpu| {
                let folder = folder.join(format!("cpu{cpu}"));
                let list = |name: &str| line(folder.join(name)).and_then(|text| parse_list(&text));
                Processor {
                    cpu,
                    package: line(folder.join("topology/physical_package_id"))
                        .and_then(|text| text.parse().ok())
                        .filter(|package| *package >= 0)
                        .unwrap_or(0),
                    siblings: list("topology/core_cpus_list")
                        .or_else(|| list("topology/thread_siblings_list"))
                        .filter(|siblings| siblings.contains(&cpu))
                        .unwrap_or_else(|| vec![cpu]),
                    cache_mates: last_level(&folder).unwrap_or_default(),
                }
            })
            .collect();
        Ok(Topology { processors })
    }

    /// A processor by its number, if it is online.
    pub fn processor(&self, cpu: u32) -> Option<&Processor> {
        self.processors.iter().find(|p| p.cpu == cpu)
    }

    /// Physical cores: each core's threads, by the lowest.
    pub fn cores(&self) -> Vec<&[u32]> {
        let first = |p: &&Processor| p.siblings.iter().min() == Some(&p.cpu);
        self.processors.iter().filter(first).map(|p| p.siblings.as_slice()).collect()
    }

    /// Packages that are online.
    pub fn packages(&self) -> usize {
        let mut packages: Vec<i64> = self.processors.iter().map(|p| p.package).collect();
        packages.sort_unstable();
        packages.dedup();
        packages.len()
    }
}

/// The processors that share the cache of the highest level.
fn last_level(folder: &Path) -> Option<Vec<u32>> {
    let caches = std::fs::read_dir(folder.join("cache")).ok()?;
    let levels = caches.flatten().filter_map(|entry| {
        let level: u32 = line(entry.path().join("level"))?.parse().ok()?;
        Some((level, parse_list(&line(entry.path().join("shared_cpu_list"))?)?))
    });
    levels.max_by_key(|(level, _)| *level).map(|(_, mates)| mates)
}

/// A kernel list of processors such as `0-3,8`, ascending; `None` if it is not one. Ends at 8192 processors.
pub fn parse_list(text: &str) -> Option<Vec<u32>> {
    let mut cpus = Vec::new();
    for part in text.trim().split(',').filter(|part| !part.is_empty()) {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        let (from, to): (u32, u32) = (from.trim().parse().ok()?, to.trim().parse().ok()?);
        if from > to || to >= 8192 {
            return None;
        }
        cpus.extend(from..=to);
    }
    cpus.sort_unstable();
    cpus.dedup();
    Some(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::fs;

    #[test]
    fn lists_are_read() {
        assert_eq!(parse_list("0-3,8,10-11\n"), Some(vec![0, 1, 2, 3, 8, 10, 11]));
        assert_eq!(parse_list(""), Some(vec![]));
        for odd in ["3-1", "a", "1-", "-", "0-99999999", "1:2"] {
            assert_eq!(parse_list(odd), None, "{odd}");
        }
    }

    #[test]
    fn a_machine_with_siblings_and_holes_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        put("online", "0-1,4\n");
        for cpu in [0, 1] {
            put(&format!("cpu{cpu}/topology/core_cpus_list"), "0-1\n");
            put(&format!("cpu{cpu}/topology/physical_package_id"), "3\n");
            put(&format!("cpu{cpu}/cache/index0/level"), "1\n");
            put(&format!("cpu{cpu}/cache/index0/shared_cpu_list"), "0-1\n");
            put(&format!("cpu{cpu}/cache/index3/level"), "3\n");
            put(&format!("cpu{cpu}/cache/index3/shared_cpu_list"), "0-1,4\n");
        }
        put("cpu4/topology/physical_package_id", "-1\n");
        let t = Topology::read_in(folder.path()).unwrap();
        assert_eq!(t.cores(), [&[0, 1][..], &[4][..]]);
        assert_eq!(t.processor(1).unwrap().cache_mates, [0, 1, 4]);
        assert_eq!((t.processor(4).unwrap().package, t.packages()), (0, 2));
        assert!(t.processor(4).unwrap().cache_mates.is_empty());
    }

    #[test]
    fn this_machine_is_read_and_an_absent_one_is_missing() {
        let t = Topology::read().unwrap();
        assert!(!t.cores().is_empty() && t.packages() >= 1);
        assert!(Topology::read_in(Path::new("/nowhere")).is_err());
    }

    proptest! {
        #[test]
        fn no_list_panics(text in "[0-9,\\- a]{0,20}") {
            let _ = parse_list(&text);
        }
    }
}
