//! Whether the time-stamp counter's ticks are time: constant rate, running in every sleep state, trusted by the
//! kernel.

use raw_cpuid::CpuId;
use serde::{Deserialize, Serialize};
use tollway_core::Missing;

use crate::found::{Found, line, text};

const CLOCKSOURCE: &str = "/sys/devices/system/clocksource/clocksource0";

/// Clock sources of the kernel that are the TSC in another guise: if it were unstable, they would be too.
const ON_TSC: [&str; 4] = ["tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "xen"];

/// What is known of the counter's constancy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Invariance {
    /// CPUID 8000_0007h EDX\[8\]: constant in all P-, C- and T-states. A hypervisor may hide it.
    pub cpuid: bool,
    /// The kernel's flag `constant_tsc`; `None` if /proc/cpuinfo has no flags.
    pub constant: Option<bool>,
    /// The kernel's flag `nonstop_tsc`; `None` if /proc/cpuinfo has no flags.
    pub nonstop: Option<bool>,
    /// The kernel's clock source of the moment.
    pub clocksource: Option<String>,
    /// Those it could use; a TSC that it found unstable is not among them.
    pub available: Vec<String>,
}

impl Invariance {
    /// Asks CPUID, /proc/cpuinfo and /sys.
    pub fn read() -> Invariance {
        let cpuid = CpuId::new().get_advanced_power_mgmt_info().is_some_and(|leaf| leaf.has_invariant_tsc());
        let cpuinfo = text("/proc/cpuinfo", "processor flags", "mount /proc").unwrap_or_default();
        let flag = |name: &str| flags(&cpuinfo).map(|flags| flags.split_whitespace().any(|f| f == name));
        Invariance {
            cpuid,
            constant: flag("constant_tsc"),
            nonstop: flag("nonstop_tsc"),
            clocksource: line(format!("{CLOCKSOURCE}/current_clocksource")),
            available: line(format!("{CLOCKSOURCE}/available_clocksource"))
                .map(|l| l.split_whitespace().map(str::to_owned).collect())
                .unwrap_or_default(),
        }
    }

    /// Whether the counter can be a run's clock, and if not, why.
    ///
    /// # Errors
    /// [`Missing`] if neither CPUID nor the kernel calls it constant and non-stop, or if the kernel does not keep
    /// time by it and does not list it as usable.
    pub fn usable(&self) -> Found<()> {
        let what = "invariant time-stamp counter";
        let flagged = self.constant == Some(true) && self.nonstop == Some(true);
        if !self.cpuid && !flagged {
            return Err(Missing::new(
                what,
                "neither CPUID 8000_0007h nor the kernel's flags constant_tsc and nonstop_tsc announce one",
                "in a virtual machine, let its hypervisor show it (QEMU: -cpu host,migratable=off,+invtsc); else \
                 the run counts nanoseconds of the kernel's clock",
            ));
        }
        let trusted = self.available.iter().chain(&self.clocksource).any(|s| ON_TSC.contains(&s.as_str()));
        let silent = self.available.is_empty() && self.clocksource.is_none();
        if !trusted && !silent {
            return Err(Missing::new(
                what,
                format!(
                    "the kernel keeps time by {} and does not list the TSC as usable: it found it unstable",
                    self.clocksource.as_deref().unwrap_or("another clock")
                ),
                "look for `clocksource` in the kernel's log; boot with tsc=reliable if the firmware is known good",
            ));
        }
        Ok(())
    }
}

fn flags(cpuinfo: &str) -> Option<&str> {
    cpuinfo.lines().find_map(|l| l.strip_prefix("flags")?.split_once(':').map(|(_, flags)| flags))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good() -> Invariance {
        Invariance {
            cpuid: true,
            constant: Some(true),
            nonstop: Some(true),
            clocksource: Some("tsc".into()),
            available: vec!["tsc".into(), "hpet".into()],
        }
    }

    #[test]
    fn the_kernels_flags_stand_in_for_a_hidden_cpuid_bit() {
        assert_eq!(good().usable(), Ok(()));
        assert_eq!(Invariance { cpuid: false, ..good() }.usable(), Ok(()));
        assert!(Invariance { cpuid: false, nonstop: None, ..good() }.usable().is_err());
    }

    #[test]
    fn a_counter_that_the_kernel_threw_out_is_no_clock() {
        let thrown_out =
            Invariance { clocksource: Some("hpet".into()), available: vec!["hpet".into()], ..good() };
        assert!(thrown_out.usable().unwrap_err().reason.contains("hpet"));
        let paravirtual = Invariance {
            clocksource: Some("kvm-clock".into()),
            available: vec!["kvm-clock".into()],
            ..good()
        };
        assert_eq!(paravirtual.usable(), Ok(()));
    }

    #[test]
    fn this_machine_can_be_read() {
        let found = Invariance::read();
        assert!(found.constant.is_some(), "{found:?}");
    }

    #[test]
    fn flags_are_found_among_odd_lines() {
        assert_eq!(flags("flags\t\t: fpu tsc\nvmx flags\t: vnmi\n").map(str::trim), Some("fpu tsc"));
        assert_eq!(flags(""), None);
        assert_eq!(flags("Features : fp asimd"), None);
    }
}
