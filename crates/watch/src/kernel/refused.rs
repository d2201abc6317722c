//! What lets a process use bpf(2) to which the kernel has refused it: that depends on who it is and on what refuses.

use std::fs;
use std::os::unix::fs::MetadataExt;

use rustix::process::geteuid;
use rustix::thread::{CapabilitySet, capabilities};

/// The number that the machine's user namespace has on every kernel (include/linux/proc_ns.h, `PROC_USER_INIT_INO`).
const USERS_OF_THE_MACHINE: u64 = 0xEFFF_FFFD;

/// Who was refused.
#[derive(Clone, Copy, Debug)]
struct Refused {
    is_root: bool,
    /// What it has here; the kernel asks for the machine's.
    capabilities: CapabilitySet,
    /// Whether these are of a user namespace; not where /proc does not tell.
    is_in_user_namespace: bool,
}

/// What this process, which was refused, needs.
pub fn remedy() -> String {
    let held = capabilities(None).map_or(CapabilitySet::empty(), |sets| sets.effective);
    let users = fs::metadata("/proc/self/ns/user").map(|users| users.ino());
    Refused {
        is_root: geteuid().is_root(),
        capabilities: held,
        is_in_user_namespace: users.is_ok_and(|number| number != USERS_OF_THE_MACHINE),
    }
    .remedy()
}

impl Refused {
    fn remedy(self) -> String {
        let lacking = self.lacking();
        match (self.is_in_user_namespace, self.is_root) {
            (true, _) => {
                "outside of this user namespace, in which no capability is the machine's: there root \
                watches it with `tollway bill --pid PID`, by the number that it has there"
                    .into()
            }
            (false, _) if lacking.is_empty() => "it has the capabilities, so a filter or a security module \
                refuses: have the container's seccomp profile allow bpf (docker, podman: `--cap-add \
                SYS_ADMIN`; systemd-nspawn: `--system-call-filter=bpf`)"
                .into(),
            (false, true) => format!(
                "root is without {} here: give it {}, or CAP_SYS_ADMIN (docker, podman: `--cap-add SYS_ADMIN`); a \
                 container's seccomp profile has to allow bpf as well",
                lacking.join(" and "),
                if lacking.len() > 1 { "both" } else { "this" },
            ),
            (false, false) => {
                "run as root, or with CAP_BPF and CAP_PERFMON; in a container its seccomp profile \
                has to allow bpf as well"
                    .into()
            }
        }
    }

    /// The capabilities that it needs and has not.
    fn lacking(self) -> Vec<&'static str> {
        if self.capabilities.contains(CapabilitySet::SYS_ADMIN) {
            return Vec::new();
        }
        let needed = [(CapabilitySet::BPF, "CAP_BPF"), (CapabilitySet::PERFMON, "CAP_PERFMON")];
        needed
            .into_iter()
            .filter(|(one, _)| !self.capabilities.contains(*one))
            .map(|(_, name)| name)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(is_root: bool, capabilities: CapabilitySet, is_in_user_namespace: bool) -> String {
        Refused { is_root, capabilities, is_in_user_namespace }.remedy()
    }

    #[test]
    fn root_without_capabilities_is_not_told_to_run_as_root() {
        for (held, lacking) in [
            (CapabilitySet::empty(), "without CAP_BPF and CAP_PERFMON here"),
            (CapabilitySet::BPF, "without CAP_PERFMON here"),
            (CapabilitySet::PERFMON, "without CAP_BPF here"),
        ] {
            let says = says(true, held, false);
            assert!(says.contains(lacking) && says.contains("SYS_ADMIN"), "{says}");
            assert!(!says.contains("run as root"), "{says}");
        }
    }

    #[test]
    fn where_the_capabilities_are_there_the_filter_is_named() {
        for held in [CapabilitySet::SYS_ADMIN, CapabilitySet::BPF | CapabilitySet::PERFMON] {
            let says = says(true, held, false);
            assert!(says.contains("seccomp profile allow bpf") && !says.contains("CAP_"), "{says}");
        }
    }

    #[test]
    fn in_a_user_namespace_no_capability_helps() {
        for (is_root, held) in [(true, CapabilitySet::all()), (false, CapabilitySet::empty())] {
            let says = says(is_root, held, true);
            assert!(says.contains("user namespace") && says.contains("--pid"), "{says}");
            assert!(!says.contains("CAP_") && !says.contains("--cap-add"), "{says}");
        }
    }

    #[test]
    fn another_user_is_told_what_root_has() {
        let says = says(false, CapabilitySet::empty(), false);
        assert!(says.starts_with("run as root, or with CAP_BPF and CAP_PERFMON"), "{says}");
    }
}
