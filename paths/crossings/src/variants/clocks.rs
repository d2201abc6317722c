//! The kernel's clocks.

use tollway_core::{Axis, Crossing, Domain, Value, Variant};

use super::Solo;
use crate::engine::clocks::{ClockRead, SystemCall, Vdso};

/// The clocks, as the engine names them.
const KINDS: &[&str] = &[
    "realtime",
    "monotonic",
    "realtime-coarse",
    "monotonic-coarse",
    "monotonic-raw",
    "boottime",
    "tai",
    "process-cputime",
    "thread-cputime",
    "realtime-alarm",
    "boottime-alarm",
];

pub(super) fn variants() -> Vec<Box<dyn Variant>> {
    let kind = Axis {
        name: "kind",
        about: "which clock is read",
        domain: Domain::Words(KINDS),
        default: Value::Text("monotonic".into()),
    };
    vec![
        Box::new(
            Solo::<ClockRead<Vdso>>::new(Crossing::ClockVdso, "reading")
                .caveats(
                    "The C library's call, which enters the vDSO. The vDSO hands process-cputime, thread-cputime and the \
                     alarm clocks on to the kernel, and every clock but the coarse ones where it cannot read the clock source (anything but \
                     tsc, kvm-clock or Hyper-V's page). Includes a comparison with the reading before.",
                )
                .axis(kind.clone()),
        ),
        Box::new(
            Solo::<ClockRead<SystemCall>>::new(Crossing::ClockRaw, "reading")
                .caveats("The C library's `syscall`, past the vDSO. Includes a comparison with the reading before.")
                .axis(kind),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_axis_names_the_engines_clocks() {
        assert_eq!(KINDS, crate::engine::clocks::KINDS.map(|(name, _)| name));
    }
}
