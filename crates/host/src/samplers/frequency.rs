//! What the kernel says of the processors' frequency: who sets it, by what rule, within what limits, and what it is now.
//!
//! * **What it is now** (`scaling_cur_freq`) is what the driver asked for, or the average of the last tick in which the
//!   processor was busy; on kernels before 5.18 a reading may interrupt the processor and wait 10 ms for it. So it is
//!   read before a run and not around a trial: there [`pace`](crate::cpu::pace) tells more, more cheaply.
//! * **Boost** is `intel_pstate/no_turbo` or `cpufreq/boost`; whether the firmware allows it is not told.
//! * Virtual machines mostly have none of it: then all is unknown, whatever the host does.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::found::line;

const CPUS: &str = "/sys/devices/system/cpu";

/// What was read; what the kernel does not say is `None`, or empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frequency {
    /// The rules (`governor`) by which frequencies are set, each once; empty where the kernel sets none.
    pub governors: Vec<String>,
    /// What sets them.
    pub driver: Option<String>,
    /// Whether processors may run faster than their rated frequency.
    pub boost: Option<bool>,
    /// The least frequency of all processors at this moment, in kHz.
    pub least_khz: Option<u64>,
    /// The greatest one.
    pub most_khz: Option<u64>,
    /// The frequency that processors are held below, and the one that they could have, in kHz, where the one is lower.
    pub held_below_khz: Option<(u64, u64)>,
}

impl Frequency {
    /// Reads it.
    pub fn read() -> Frequency {
        Frequency::below(Path::new(CPUS))
    }

    fn below(cpus: &Path) -> Frequency {
        let is_processor = |name: &str| {
            name.strip_prefix("cpu").is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
        };
        let entries = fs::read_dir(cpus).into_iter().flatten().flatten();
        let processors = entries.filter(|e| e.file_name().to_str().is_some_and(is_processor));
        let mut found = Frequency::default();
        for folder in processors.map(|e| e.path().join("cpufreq")) {
            let number = |name: &str| line(folder.join(name)).and_then(|text| text.parse::<u64>().ok());
            if let Some(governor) = line(folder.join("scaling_governor"))
                && !found.governors.contains(&governor)
            {
                found.governors.push(governor);
            }
            found.driver = found.driver.or_else(|| line(folder.join("scaling_driver")));
            if let Some(now) = number("scaling_cur_freq") {
                found.least_khz = Some(found.least_khz.map_or(now, |least| least.min(now)));
                found.most_khz = Some(found.most_khz.map_or(now, |most| most.max(now)));
            }
            if let Some(held) = number("scaling_max_freq").zip(number("cpuinfo_max_freq"))
                && held.0 < held.1
                && found.held_below_khz.is_none_or(|before| held.0 < before.0)
            {
                found.held_below_khz = Some(held);
            }
        }
        found.governors.sort();
        let switch = |name: &str| line(cpus.join(name)).map(|text| text == "1");
        found.boost = switch("intel_pstate/no_turbo").map(|off| !off).or_else(|| switch("cpufreq/boost"));
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_with_frequencies_is_read() {
        let root = tempfile::tempdir().unwrap();
        for (cpu, governor, now) in [(0, "powersave", "800000"), (1, "performance", "3100000")] {
            let folder = root.path().join(format!("cpu{cpu}/cpufreq"));
            fs::create_dir_all(&folder).unwrap();
            for (name, text) in [
                ("scaling_governor", governor),
                ("scaling_driver", "intel_pstate"),
                ("scaling_cur_freq", now),
                ("scaling_max_freq", "3200000"),
                ("cpuinfo_max_freq", "3800000"),
            ] {
                fs::write(folder.join(name), format!("{text}\n")).unwrap();
            }
        }
        fs::create_dir(root.path().join("intel_pstate")).unwrap();
        fs::write(root.path().join("intel_pstate/no_turbo"), "0\n").unwrap();
        let found = Frequency::below(root.path());
        assert_eq!(found.governors, ["performance", "powersave"]);
        assert_eq!((found.least_khz, found.most_khz), (Some(800_000), Some(3_100_000)));
        assert_eq!((found.boost, found.driver.as_deref()), (Some(true), Some("intel_pstate")));
        assert_eq!(found.held_below_khz, Some((3_200_000, 3_800_000)));
    }

    #[test]
    fn a_machine_without_says_nothing() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("cpu0/topology")).unwrap();
        fs::create_dir(root.path().join("cpufreq")).unwrap();
        assert_eq!(Frequency::below(root.path()), Frequency::default());
        println!("{:?}", Frequency::read());
    }
}
