//! Whether processors were held back: by heat, or by a quota of the control group that this process is in.
//!
//! * **Heat** is `thermal_throttle/{core,package}_throttle_count` in /sys: how often a core or a package began to run
//!   slower because it was too hot. Only Intel's processors have it, and hardly a virtual machine: there it is unknown,
//!   though the host's processors may well be held back. The counts are those of at most [`MOST`] files, a core and a
//!   package once each; a limit of power or current is not in them.
//! * **Quota** is `cpu.stat` of the control group and of all above it, as far as they can be seen: how often its
//!   processes had to wait for their next period, and how long. The kernel counts a period when it ends, and adds time
//!   when a processor goes on; so what was held back for long is counted late, but before whoever was held back can
//!   tell of it. The time is a sum over processors. What a container's host does above the container is not seen.
//! * A reading takes 10 µs, and 2 µs more for each file of /sys.

mod groups;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};
use tollway_core::Missing;

use crate::found::{Found, line, risen};

pub use groups::{Quota, ceiling, quota, quota_file};

/// Files of /sys that are read at most.
pub const MOST: usize = 64;

const CPUS: &str = "/sys/devices/system/cpu";
const HEAT: &str = "throttling by heat (thermal_throttle in /sys)";

/// Counters at one moment; what could not be read is `None`: unknown, never zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Throttling {
    /// How often cores and packages began to run slower because of heat, since boot.
    pub heat: Option<u64>,
    /// What the quota of the control group held back.
    pub quota: Option<Quota>,
}

impl Throttling {
    /// Reads both.
    pub fn read() -> Throttling {
        Throttling { heat: heat().ok(), quota: quota().ok() }
    }
}

/// What happened between two readings; `None` is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThrottlingDelta {
    /// How often a core or a package began to run slower because of heat.
    pub heat: Option<u64>,
    /// Periods in which the quota of the control group was used up.
    pub periods: Option<u64>,
    /// For how long it held processors back, in µs, over all of them.
    pub held_us: Option<u64>,
}

/// What happened between two readings.
pub fn delta(before: &Throttling, after: &Throttling) -> ThrottlingDelta {
    let quota = before.quota.zip(after.quota);
    ThrottlingDelta {
        heat: before.heat.zip(after.heat).and_then(|(before, after)| risen(before, after)),
        periods: quota.and_then(|(before, after)| risen(before.periods, after.periods)),
        held_us: quota.and_then(|(before, after)| risen(before.held_us, after.held_us)),
    }
}

impl ThrottlingDelta {
    /// What held processors back, in words; `None` where nothing is known to have.
    pub fn said(&self) -> Option<String> {
        let often = |count: Option<u64>, by: &str| {
            count.filter(|n| *n > 0).map(|n| format!("{n} × throttled by {by}"))
        };
        let said = [often(self.heat, "heat"), often(self.periods, "the quota of its control group")];
        let said: Vec<String> = said.into_iter().flatten().collect();
        (!said.is_empty()).then(|| said.join(", "))
    }
}

/// How often cores and packages began to run slower because of heat, since boot.
///
/// # Errors
/// [`Missing`] where the kernel does not tell.
pub fn heat() -> Found<u64> {
    static FILES: OnceLock<Vec<PathBuf>> = OnceLock::new();
    total(FILES.get_or_init(|| heat_files(Path::new(CPUS))))
}

fn total(files: &[PathBuf]) -> Found<u64> {
    let unknown = |reason: String| {
        Missing::new(HEAT, reason, "none on this machine: ask its host, or the maker of its processor")
    };
    if files.is_empty() {
        return Err(unknown("no processor has it".into()));
    }
    files.iter().try_fold(0u64, |sum, file| {
        let count: Option<u64> = line(file).and_then(|text| text.parse().ok());
        count
            .map(|n| sum.saturating_add(n))
            .ok_or_else(|| unknown(format!("{} is no number", file.display())))
    })
}

/// The counters below a folder of processors: of each core, and of each package, one.
fn heat_files(cpus: &Path) -> Vec<PathBuf> {
    let numbered = |entry: fs::DirEntry| -> Option<(u32, PathBuf)> {
        let number = entry.file_name().to_str()?.strip_prefix("cpu")?.parse().ok()?;
        Some((number, entry.path()))
    };
    let mut folders: Vec<(u32, PathBuf)> =
        fs::read_dir(cpus).into_iter().flatten().flatten().filter_map(numbered).collect();
    folders.sort_unstable();
    let (mut cores, mut packages, mut files) = (Vec::new(), Vec::new(), Vec::new());
    for (number, folder) in folders {
        let id = |what: &str| line(folder.join("topology").join(what));
        let package = id("physical_package_id");
        let core = id("core_id").map_or(format!("processor {number}"), |core| format!("core {core}"));
        for (seen, place, name) in [
            (&mut packages, (package.clone(), String::new()), "package_throttle_count"),
            (&mut cores, (package, core), "core_throttle_count"),
        ] {
            let file = folder.join("thermal_throttle").join(name);
            if file.exists() && !seen.contains(&place) {
                seen.push(place);
                files.push(file);
            }
        }
    }
    // Packages first: where there are too many cores, a package that is too hot is known all the same.
    files.sort_by_key(|file| file.ends_with("core_throttle_count"));
    files.truncate(MOST);
    files
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samplers::thread_time;
    use std::time::Duration;

    /// Two cores of two threads each, as /sys has them.
    fn recorded() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (cpu, core, count) in [(0, 0, 3), (1, 1, 4), (2, 0, 3), (3, 1, 4)] {
            let folder = root.path().join(format!("cpu{cpu}"));
            for below in ["topology", "thermal_throttle"] {
                fs::create_dir_all(folder.join(below)).unwrap();
            }
            fs::write(folder.join("topology/core_id"), format!("{core}\n")).unwrap();
            fs::write(folder.join("topology/physical_package_id"), "0\n").unwrap();
            fs::write(folder.join("thermal_throttle/core_throttle_count"), format!("{count}\n")).unwrap();
            fs::write(folder.join("thermal_throttle/package_throttle_count"), "10\n").unwrap();
        }
        fs::create_dir(root.path().join("cpufreq")).unwrap();
        root
    }

    #[test]
    fn every_core_and_every_package_counts_once() {
        let root = recorded();
        let files = heat_files(root.path());
        assert_eq!((files.len(), total(&files).unwrap()), (3, 3 + 4 + 10));
        assert!(files[0].ends_with("package_throttle_count"));
        fs::write(&files[0], "?").unwrap();
        assert!(total(&files).unwrap_err().reason.contains("package_throttle_count"));
    }

    #[test]
    fn what_no_processor_tells_is_unknown() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("cpu0")).unwrap();
        assert!(total(&heat_files(root.path())).is_err());
        assert!(total(&heat_files(&root.path().join("nowhere"))).is_err());
    }

    #[test]
    fn only_what_rose_is_told() {
        let at = |heat, periods, held_us| Throttling { heat, quota: Some(Quota { periods, held_us }) };
        assert_eq!(delta(&at(Some(2), 5, 100), &at(Some(2), 5, 100)).said(), None);
        let moved = delta(&at(None, 5, 1000), &at(Some(9), 7, 41_000));
        assert_eq!(moved, ThrottlingDelta { heat: None, periods: Some(2), held_us: Some(40_000) });
        assert_eq!(moved.said().unwrap(), "2 × throttled by the quota of its control group");
        let hot = delta(&at(Some(1), 5, 0), &at(Some(2), 4, 0));
        assert_eq!(hot.said().unwrap(), "1 × throttled by heat");
        assert_eq!(hot.periods, None);
        let unknown = delta(&Throttling::default(), &Throttling::default());
        assert_eq!((unknown, unknown.said()), (ThrottlingDelta::default(), None));
    }

    #[test]
    fn a_reading_is_cheap() {
        const TIMES: u32 = 200;
        let begun = thread_time::thread();
        for _ in 0..TIMES {
            let _ = std::hint::black_box(Throttling::read());
        }
        let cost = (thread_time::thread() - begun) / TIMES;
        println!("{cost:?} of a processor");
        assert!(cost < Duration::from_micros(50 + 10 * MOST as u64), "{cost:?}");
    }

    #[test]
    fn this_machine_is_read_or_says_why_not() {
        for missing in [heat().err(), quota().err()].into_iter().flatten() {
            eprintln!("unknown: {missing}");
            assert!(!missing.remedy.is_empty());
        }
    }
}
