//! What the figures of guests mean: which virtual machines these were, and what cannot be compared.

use tollway_core::{Accelerator, KvmKind, TenantKind};

use crate::document::{HostAgainstGuestDocument, LinuxGuestsDocument, RunDocument};
use crate::number::{plain, time};

pub(super) fn notes(table: &HostAgainstGuestDocument, document: &RunDocument) -> Vec<String> {
    let has = |kind| table.tenants.contains(&kind);
    let measured_in =
        |kind| table.crossings.iter().filter_map(|c| c.in_tenant(kind)).any(|cell| cell.median.is_some());
    let mut notes = Vec::new();
    if has(TenantKind::MicroGuest) {
        if measured_in(TenantKind::MicroGuest) {
            notes.push(micro_guests(document.guests.micro_guests).into());
        }
        if table.crossings.iter().any(|c| c.in_tenant(TenantKind::MicroGuest).is_none()) {
            notes.push(
                "Where the micro-guest has no figure and no reason is given, it was not asked: a micro-guest has no \
                 kernel, so that nothing that makes a system call can be measured in one."
                    .into(),
            );
        }
    }
    if measured_in(TenantKind::LinuxGuest) {
        match &document.guests.linux_guests {
            Some(guests) => notes.extend(linux_guests(guests, document)),
            None => notes.push(
                "What ran the instructions of the Linux guests was not recorded: nobody can say whether these are \
                 prices of emulation or of hardware virtualisation."
                    .into(),
            ),
        }
    }
    notes
}

fn micro_guests(kvm: Option<KvmKind>) -> &'static str {
    match kvm {
        Some(KvmKind::Vmx) => {
            "Micro-guests ran on hardware KVM (Intel VMX): their code runs on the processor, and an exit costs what this \
             processor and this kernel ask for one."
        }
        Some(KvmKind::Svm) => {
            "Micro-guests ran on hardware KVM (AMD SVM): their code runs on the processor, and an exit costs what this \
             processor and this kernel ask for one."
        }
        Some(KvmKind::Software) => {
            "Micro-guests ran on KVM without hardware beneath it: their code, all of it in ring 3, runs on the processor \
             itself, so that computing and memory are comparable with any machine's; whatever leaves the guest costs \
             what this host's software asks, often 10 to 30 times what silicon would."
        }
        None => "On what kind of KVM the micro-guests ran was not recorded.",
    }
}

fn linux_guests(guests: &LinuxGuestsDocument, document: &RunDocument) -> Vec<String> {
    let booted = match (&guests.boot_ms, guests.boots) {
        (None, _) => String::new(),
        (Some(ms), 1) => format!(", booted in {}", time(ms.median * 1e6)),
        (Some(ms), n) => format!(
            ", {n} of them, booted in {} to {}, half of them within {}",
            time(ms.min * 1e6),
            time(ms.max * 1e6),
            time(ms.median * 1e6)
        ),
    };
    let accelerator = match guests.accelerator {
        Accelerator::Tcg => "TCG, QEMU's translator",
        Accelerator::Kvm => "KVM",
    };
    let mut notes = vec![format!(
        "Linux guests ran under {accelerator} (QEMU {}, Linux {}, {} MiB{booted}). Why: {}.",
        guests.qemu,
        guests.kernel,
        plain(f64::from(guests.memory_mib)),
        guests.why.trim_end_matches('.')
    )];
    notes.push(match guests.accelerator {
        Accelerator::Tcg => "TCG translates instructions: these are the prices of emulation, not of hardware virtualisation. \
             They tell what a program pays in such a guest on this machine; nothing follows from them for a guest on \
             hardware KVM, not even which crossing is the dearer one."
            .into(),
        Accelerator::Kvm => match document.guests.micro_guests {
            Some(KvmKind::Software) => "That KVM has no hardware beneath it: the guest's kernel is emulated, and its prices \
                 are this host's software's, not silicon's."
                .into(),
            _ => "KVM runs the guest on the processor: what a crossing costs more than in the host is the price of \
                 virtualisation on this machine, exits and nested page tables included."
                .to_string(),
        },
    });
    let host = document.machine.fingerprint.get("kernel_release").and_then(serde_json::Value::as_str);
    if let Some(host) = host.filter(|host| *host != guests.kernel) {
        notes.push(format!(
            "Guest and host have different kernels (Linux {} and {host}): what the kernels do differently is part of every \
             ratio of a crossing into them.",
            guests.kernel
        ));
    }
    notes
}
