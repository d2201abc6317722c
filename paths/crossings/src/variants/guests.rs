//! The ways between a micro-guest and the host.

use tollway_core::{Crossing, Variant};

use super::{Duo, Solo};
use crate::engine::doorbell::DoorbellExchange;
use crate::engine::exits::{Cpuid, MmioStore, PortOutput, Ring, Vmcall};

pub(super) fn variants() -> Vec<Box<dyn Variant>> {
    vec![
        Box::new(
            Solo::<PortOutput>::new(Crossing::ExitPort, "output")
                .only_in_micro_guest(0)
                .caveats("From ring 3. To the program that runs the guest, in user mode, and back; it only counts."),
        ),
        Box::new(
            Solo::<MmioStore>::new(Crossing::ExitMmio, "store")
                .only_in_micro_guest(0)
                .caveats("From ring 3. As port output, and KVM has to decode the instruction."),
        ),
        Box::new(
            Solo::<Ring>::new(Crossing::ExitIoeventfd, "store")
                .only_in_micro_guest(1)
                .caveats("To the kernel and back, which adds to an eventfd. Nobody waits for it: no wake-up is in it."),
        ),
        Box::new(
            Solo::<Cpuid>::new(Crossing::ExitCpuid, "CPUID")
                .only_in_micro_guest(0)
                .caveats("To the kernel and back; where this machine is virtual itself, its hypervisor may add to it."),
        ),
        Box::new(
            Solo::<Vmcall>::new(Crossing::ExitVmcall, "hypercall")
                .only_in_micro_guest(0)
                .caveats("VMCALL or VMMCALL, by the processor's vendor, from ring 3, where KVM refuses it at once."),
        ),
        Box::new(Duo::<DoorbellExchange>::from_micro_guest(Crossing::GuestDoorbell, 1).caveats(
            "A round trip is the guest's exit to the kernel, a write to an eventfd there, the wake-up of a sleeping \
             process on another core, its read, and its answer seen by a guest that spins.",
        )),
    ]
}
