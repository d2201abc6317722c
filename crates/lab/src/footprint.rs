//! What a run needs and changes of the machine beside its own processes: told by a dry run, and checked
//! before anything is measured.

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::ErrorKind;

use serde::Serialize;
use tollway_core::{Error, Missing, Plan, Requirement};

use crate::side::{Setting, Side};

/// What a run uses of the machine, and what it writes there.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Footprint {
    /// Privileges and shared things of the machine that its points use, in words.
    pub uses: Vec<String>,
    /// Settings of the kernel that are written for the time of each trial.
    pub settings: Vec<SettingChange>,
}

/// A setting of the kernel that a side of a comparison changes for the time of each of its trials.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SettingChange {
    /// The side.
    pub side: String,
    /// The file.
    pub file: String,
    /// What stands there now; none where it cannot be read.
    pub now: Option<String>,
    /// What is written.
    pub value: String,
    /// Why it cannot be written; none where it can.
    pub missing: Option<Missing>,
}

impl Footprint {
    /// Of these sides, and of points with these plans.
    pub(crate) fn of<'p>(sides: &[Side], plans: impl Iterator<Item = &'p Plan>) -> Footprint {
        let requires: BTreeSet<&str> = plans.flat_map(|plan| &plan.requires).filter_map(used).collect();
        let change = |side: &Side, setting: &Setting| SettingChange {
            side: side.label.clone(),
            file: setting.file.display().to_string(),
            now: setting.standing().ok().map(|standing| standing.value),
            value: setting.value.clone(),
            missing: check(setting).err(),
        };
        Footprint {
            uses: requires.into_iter().map(String::from).collect(),
            settings: sides
                .iter()
                .flat_map(|side| side.settings.iter().map(move |setting| change(side, setting)))
                .collect(),
        }
    }

    /// That of another run beside this one.
    pub fn add(&mut self, other: Footprint) {
        let (uses, settings) = (other.uses.into_iter(), other.settings.into_iter());
        for what in uses {
            if !self.uses.contains(&what) {
                self.uses.push(what);
            }
        }
        for setting in settings {
            if !self.settings.contains(&setting) {
                self.settings.push(setting);
            }
        }
    }

    /// A line for each thing, for a person.
    pub fn lines(&self) -> Vec<String> {
        let setting = |of: &SettingChange| {
            let now = of.now.as_ref().map_or("what cannot be read".into(), |now| format!("`{now}`"));
            let may = match &of.missing {
                None => "which this process may".into(),
                Some(missing) => format!("which this process may not: {missing}"),
            };
            format!(
                "writes {}: `{}` in the place of {now} for each trial of side {}, and puts it back; {may}",
                of.file, of.value, of.side
            )
        };
        self.uses.iter().map(|what| format!("uses {what}")).chain(self.settings.iter().map(setting)).collect()
    }
}

/// What a requirement that is met uses of the machine beside processor time and memory.
fn used(requirement: &Requirement) -> Option<&'static str> {
    Some(match requirement {
        Requirement::Kvm | Requirement::HardwareKvm => "/dev/kvm, for virtual machines of its own",
        Requirement::LinuxGuest => "QEMU, for Linux guests of its own",
        Requirement::DirectIo => "files without a name in the folder for measurements (TOLLWAY_SCRATCH)",
        Requirement::NetworkNamespaces => {
            "CAP_SYS_ADMIN and CAP_NET_ADMIN, for network namespaces of its own; no interface of this machine is touched"
        }
        Requirement::PacketSockets => "CAP_NET_RAW, for packet sockets in network namespaces of its own",
        Requirement::AfXdp => "CAP_BPF and CAP_NET_ADMIN, for AF_XDP in network namespaces of its own",
        Requirement::HwRng => "/dev/hwrng, whose random numbers it takes",
        _ => return None,
    })
}

/// Whether a setting may be written: found out by opening its file, which changes nothing.
///
/// # Errors
/// Why not.
pub(crate) fn check(setting: &Setting) -> Result<(), Missing> {
    let opened = OpenOptions::new().write(true).open(&setting.file);
    opened.map(drop).map_err(|error| {
        let remedy = match error.kind() {
            ErrorKind::NotFound => "this kernel has no such setting: look for its name in that folder",
            ErrorKind::PermissionDenied => "run as root, or leave that side out",
            ErrorKind::ReadOnlyFilesystem => "run outside of the container, where it is mounted for writing",
            _ => "leave that side out",
        };
        Missing::new(format!("the right to write {}", setting.file.display()), error.to_string(), remedy)
    })
}

/// Refuses sides whose settings may not be written: told before a run begins, and not by each of its trials.
///
/// # Errors
/// [`Error::Missing`] of the first.
pub(crate) fn check_sides(sides: &[Side]) -> Result<(), Error> {
    sides.iter().flat_map(|side| &side.settings).try_for_each(check).map_err(Error::Missing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_that_cannot_be_written_is_told_with_the_remedy_and_nothing_is_written() {
        // Nobody may write what the kernel is called, root included; and this one is nowhere.
        for file in ["/proc/sys/kernel/ostype", "/proc/sys/kernel/no-such"] {
            let side = Side::parse("B", &format!("set:{file}=x")).unwrap();
            let found = Footprint::of(std::slice::from_ref(&side), std::iter::empty());
            let missing = found.settings[0].missing.as_ref().unwrap();
            assert!(missing.what.contains(file) && !missing.reason.is_empty(), "{missing}");
            let said = found.lines().concat();
            assert!(said.contains("may not") && said.contains(&missing.remedy), "{said}");
            assert!(matches!(check_sides(&[side]), Err(Error::Missing(_))));
        }
    }

    #[test]
    fn a_side_without_settings_writes_nothing() {
        let found = Footprint::of(&[Side::as_it_is("A")], std::iter::empty());
        assert_eq!(found, Footprint::default());
        assert!(found.lines().is_empty() && check_sides(&[Side::as_it_is("A")]).is_ok());
    }
}
