//! Which processors are threads of one core, cores of one package, users of one last-level cache.
//!
//! From /sys/devices/system/cpu; where there is no /sys, as in some containers, from /proc/cpuinfo, which
//! knows nothing of caches. In a virtual machine this is what the hypervisor shows: two "cores" may be two
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
    /// [`Missing`] if neither /sys nor /proc lists the processors.
    pub fn read() -> Found<Topology> {
        Topology::read_from(Path::new(FOLDER), Path::new("/proc/cpuinfo"))
    }

    fn read_from(folder: &Path, cpuinfo: &Path) -> Found<Topology> {
        Topology::read_in(folder).or_else(|missing| {
            let text = std::fs::read_to_string(cpuinfo).unwrap_or_default();
            Topology::listed(&text).ok_or(missing)
        })
    }

    /// What /proc/cpuinfo lists: a paragraph for each processor that is online (proc_cpuinfo(5)).
    fn listed(cpuinfo: &str) -> Option<Topology> {
        let number = |paragraph: &str, key: &str| -> Option<i64> {
            let found = paragraph.lines().filter_map(|line| line.split_once(':'));
            found.filter(|(name, _)| name.trim() == key).find_map(|(_, value)| value.trim().parse().ok())
        };
        let listed = cpuinfo.split("\n\n").filter_map(|paragraph| {
            let cpu = u32::try_from(number(paragraph, "processor")?).ok()?;
            Some((cpu, number(paragraph, "physical id"), number(paragraph, "core id")))
        });
        let all: Vec<(u32, Option<i64>, Option<i64>)> = listed.collect();
        let threads_of = |package: Option<i64>, core: i64| {
            all.iter().filter(|(_, p, c)| *p == package && *c == Some(core)).map(|(cpu, ..)| *cpu).collect()
        };
        let processors: Vec<Processor> = all
            .iter()
            .map(|(cpu, package, core)| Processor {
                cpu: *cpu,
                package: package.unwrap_or(0),
                siblings: core.map_or_else(|| vec![*cpu], |core| threads_of(*package, core)),
                cache_mates: Vec::new(),
            })
            .collect();
        (!processors.is_empty()).then_some(Topology { processors })
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
    fn without_sys_processors_are_read_from_proc() {
        let folder = tempfile::tempdir().unwrap();
        let cpuinfo = folder.path().join("cpuinfo");
        let paragraph = |cpu, package, core| {
            format!(
                "processor\t: {cpu}\nmodel name\t: X: 3\nphysical id\t: {package}\ncore id\t\t: {core}\n\n"
            )
        };
        let text: String =
            [(0, 0, 0), (1, 0, 1), (2, 0, 0), (5, 1, 0)].map(|(a, b, c)| paragraph(a, b, c)).concat();
        fs::write(&cpuinfo, text).unwrap();
        let t = Topology::read_from(folder.path(), &cpuinfo).unwrap();
        assert_eq!(t.cores(), [&[0, 2][..], &[1][..], &[5][..]]);
        assert_eq!((t.processors.len(), t.packages()), (4, 2));
        // A guest may be shown neither package nor core.
        fs::write(&cpuinfo, "processor\t: 0\n\nprocessor\t: 1\n").unwrap();
        assert_eq!(Topology::read_from(folder.path(), &cpuinfo).unwrap().cores().len(), 2);
        fs::write(&cpuinfo, "").unwrap();
        assert!(Topology::read_from(folder.path(), &cpuinfo).is_err());
        // Both say the same of this machine.
        let (ours, listed) =
            (Topology::read().unwrap(), Topology::read_from(folder.path(), Path::new("/proc/cpuinfo")));
        assert_eq!(listed.unwrap().processors.len(), ours.processors.len());
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
