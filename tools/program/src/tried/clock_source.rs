//! A clock source that user mode reads without a system call, for all of the machine until this is dropped.

use std::fs;
use std::path::Path;

use tollway_core::{Error, Missing, Result};

use super::keeper::Keeper;

/// Where the kernel says which clock sources there are and is told which to use (Documentation/ABI/testing/sysfs-devices-system-clocksource of Linux).
const FOLDER: &str = "/sys/devices/system/clocksource/clocksource0";
/// Those that the vDSO reads in user mode, the best first (arch/x86/include/asm/vdso/clocksource.h).
const READABLE: [&str; 3] = ["tsc", "hyperv_clocksource_tsc_page", "kvm-clock"];
/// Sets back what was there.
const UNDO: &str = r#"printf %s "$1" > "$2""#;

/// Another clock source, until this is dropped.
#[derive(Debug)]
pub(super) struct OtherSource {
    _keeper: Keeper,
}

impl OtherSource {
    /// Sets it.
    ///
    /// # Errors
    /// [`Missing`](Error::Missing) where there is none, where it is one already, or where this process may not.
    pub fn set() -> Result<OtherSource> {
        OtherSource::set_in(Path::new(FOLDER))
    }

    fn set_in(folder: &Path) -> Result<OtherSource> {
        let missing = |reason: String, remedy: &str| {
            Error::Missing(Missing::new("another clock source that user mode can read", reason, remedy))
        };
        let current_file = folder.join("current_clocksource");
        let read = |name: &str| {
            let said = fs::read_to_string(folder.join(name));
            said.map_err(|e| Error::system(format!("reading {}", folder.join(name).display()), e))
        };
        let (current, available) = (read("current_clocksource")?, read("available_clocksource")?);
        let current = current.trim();
        if READABLE.contains(&current) {
            return Err(missing(
                format!("it is {current}, which user mode reads already"),
                "clocks of processor time need a system call whatever the source is: the program would have to ask another one",
            ));
        }
        let Some(best) = READABLE.iter().find(|name| available.split_whitespace().any(|one| one == **name))
        else {
            return Err(missing(
                format!("there are {}", available.trim()),
                "another machine, or another hypervisor",
            ));
        };
        let file = current_file.to_string_lossy();
        let set = OtherSource { _keeper: Keeper::begin(UNDO, &[current, &file])? };
        fs::write(&current_file, best)
            .map_err(|e| missing(format!("setting {best}: {e}"), "run as root of the machine"))?;
        Ok(set)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(current: &str, available: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("current_clocksource"), current).unwrap();
        fs::write(folder.path().join("available_clocksource"), available).unwrap();
        folder
    }

    #[test]
    fn it_is_set_back_when_this_is_dropped() {
        let folder = machine("hpet\n", "kvm-clock tsc hpet acpi_pm \n");
        let now = || fs::read_to_string(folder.path().join("current_clocksource")).unwrap();
        let set = OtherSource::set_in(folder.path()).unwrap();
        assert_eq!(now(), "tsc");
        drop(set);
        assert_eq!(now(), "hpet");
    }

    #[test]
    fn what_cannot_be_better_is_left_alone() {
        for (current, available) in [("tsc\n", "tsc kvm-clock hpet \n"), ("hpet\n", "hpet acpi_pm \n")] {
            let folder = machine(current, available);
            let refused = OtherSource::set_in(folder.path()).unwrap_err();
            assert!(matches!(refused, Error::Missing(_)), "{refused}");
            assert_eq!(fs::read_to_string(folder.path().join("current_clocksource")).unwrap(), current);
        }
    }
}
