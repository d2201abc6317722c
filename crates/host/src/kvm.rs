//! What /dev/kvm offers, asked with its own ioctls (Documentation/virt/kvm/api.rst), and what kind of KVM it is.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;

use tollway_core::{KvmKind, Missing};

use crate::features::Features;
use crate::found::Found;

/// `_IO(KVMIO, 0x00)`, answered with the API's version.
const GET_API_VERSION: libc::c_ulong = 0xae00;
/// `_IO(KVMIO, 0x01)`, answered with a descriptor of a new machine.
const CREATE_VM: libc::c_ulong = 0xae01;
/// `_IO(KVMIO, 0x03)`, answered with 0 or more.
const CHECK_EXTENSION: libc::c_ulong = 0xae03;

/// The only version there is: the kernel promises not to change it.
const VERSION: i32 = 12;

/// What micro-guests need, by the numbers of KVM_CAP_*.
const NEEDED: [(libc::c_ulong, &str); 4] = [
    (3, "KVM_CAP_USER_MEMORY"),
    (36, "KVM_CAP_IOEVENTFD"),
    (81, "KVM_CAP_READONLY_MEM"),
    (136, "KVM_CAP_IMMEDIATE_EXIT"),
];

/// What kind of KVM this is, at a guess: by the processor's flags, and by the module kvm_pvm.
fn guess() -> KvmKind {
    let features = Features::read();
    match Path::new("/sys/module/kvm_pvm").exists() {
        false if features.vmx => KvmKind::Vmx,
        false if features.svm => KvmKind::Svm,
        _ => KvmKind::Software,
    }
}

/// Opens /dev/kvm, checks its version and the capabilities that micro-guests need, makes a machine and drops it.
///
/// # Errors
/// [`Missing`] with the step that failed and what would help.
pub fn probe() -> Result<KvmKind, Missing> {
    probe_device(Path::new("/dev/kvm"))
}

fn probe_device(path: &Path) -> Found<KvmKind> {
    let missing = |reason: String, remedy: &str| Missing::new("KVM", reason, remedy);
    let device = OpenOptions::new().read(true).write(true).open(path).map_err(|error| {
        let remedy = match error.raw_os_error() {
            Some(libc::EACCES | libc::EPERM) => {
                "give this user access to /dev/kvm (as root: usermod -aG kvm USER, then log in anew)"
            }
            Some(libc::ENOENT) => {
                "load kvm_intel or kvm_amd; in a virtual machine, switch nested virtualisation on at its host; in a \
                 container, pass /dev/kvm in"
            }
            _ => "load kvm_intel or kvm_amd, or switch virtualisation on in the firmware",
        };
        missing(format!("{}: {error}", path.display()), remedy)
    })?;
    let version = ioctl(&device, GET_API_VERSION, 0);
    if version.as_ref().ok() != Some(&VERSION) {
        let found = version.map_or_else(|e| e.to_string(), |v| format!("its API has version {v}"));
        return Err(missing(
            format!("{}: {found}", path.display()),
            "use a kernel whose KVM API has version 12",
        ));
    }
    for (capability, name) in NEEDED {
        if !matches!(ioctl(&device, CHECK_EXTENSION, capability), Ok(1..)) {
            return Err(missing(format!("it lacks {name}"), "use Linux 4.13 or later"));
        }
    }
    let machine = ioctl(&device, CREATE_VM, 0)
        .map_err(|e| missing(format!("no machine could be made: {e}"), "see the kernel's log for kvm"))?;
    // SAFETY: a descriptor that was just made and that nobody else owns.
    drop(unsafe { OwnedFd::from_raw_fd(machine) });
    Ok(guess())
}

fn ioctl(device: &File, request: libc::c_ulong, argument: libc::c_ulong) -> io::Result<i32> {
    // SAFETY: the three requests of this file take a number, not a pointer; on another kind of device they are
    // refused or read nothing of ours.
    let answer = unsafe { libc::ioctl(device.as_raw_fd(), request, argument) };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(answer) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_way_to_lack_it_has_its_remedy() {
        let absent = probe_device(Path::new("/nowhere/kvm")).unwrap_err();
        assert!(absent.remedy.contains("kvm_intel or kvm_amd"), "{absent}");
        let other = probe_device(Path::new("/dev/null")).unwrap_err();
        assert!(other.remedy.contains("version 12"), "{other}");
    }

    #[test]
    fn this_machines_kvm_is_told_or_missing() {
        match probe() {
            Ok(kind) => println!("{}", kind.meaning()),
            Err(missing) => println!("{missing}"),
        }
    }
}
