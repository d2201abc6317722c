//! What a program does without the kernel: calls, counters, generators, atomics, and the instruction that exits.

use tollway_core::{CpuFeature, Crossing, Requirement, Variant};

use super::Solo;
use crate::engine::atomics::AtomicAdd;
use crate::engine::call::EmptyCall;
use crate::engine::counter::{CounterRead, Fenced, Plain, WithProcessor};
use crate::engine::entropy_draw::{Draw, Rdrand, Rdseed};
use crate::engine::exit_inside::ExitInside;

pub(super) fn variants() -> Vec<Box<dyn Variant>> {
    vec![
        Box::new(Solo::<EmptyCall>::new(Crossing::EmptyCall, "call").without_kernel().caveats(
            "A call through a pointer, well predicted, and the return; the loop around it (`empty-loop`) is in it.",
        )),
        Box::new(Solo::<CounterRead<Plain>>::new(Crossing::Rdtsc, "reading").without_kernel().caveats(
            "Back to back, with a comparison with the reading before. Where a hypervisor traps RDTSC it exits.",
        )),
        Box::new(Solo::<CounterRead<Fenced>>::new(Crossing::RdtscFenced, "reading").without_kernel().caveats(
            "Back to back, with a comparison with the reading before, for which each fence waits. LFENCE costs more \
             where loads are under way; here there are none.",
        )),
        Box::new(
            Solo::<CounterRead<WithProcessor>>::new(Crossing::Rdtscp, "reading").without_kernel()
                .caveats("Back to back, with a comparison with the reading before and a store of the processor's number."),
        ),
        Box::new(
            Solo::<Draw<Rdrand>>::new(Crossing::Rdrand, "draw of 64 bits").without_kernel()
                .caveats(
                    "Includes tries that failed (at most 10 a draw; the tally counts them). The generator is shared by \
                     the cores of a socket: neighbours slow it down.",
                )
                .requires(Requirement::Cpu(CpuFeature::Rdrand)),
        ),
        Box::new(
            Solo::<Draw<Rdseed>>::new(Crossing::Rdseed, "draw of 64 bits").without_kernel()
                .caveats(
                    "One success, with all the tries that it took (the tally counts the failures): drawn back to back \
                     the source runs dry, and the figure is its rate, shared by the cores of a socket. Linux distrusts \
                     RDSEED of early Zen 5 (AMD-SB-7055) and hides it from /proc/cpuinfo: there the 16- and 32-bit \
                     forms are broken, not the 64-bit form that is drawn here.",
                )
                .requires(Requirement::Cpu(CpuFeature::Rdseed)),
        ),
        Box::new(Solo::<AtomicAdd>::new(Crossing::AtomicAlone, "addition").without_kernel().caveats(
            "One after the other on the same line, which stays in the core's own cache: each waits for the one before.",
        )),
        Box::new(
            Solo::<ExitInside>::new(Crossing::ExitInside, "CPUID")
                .caveats(
                    "CPUID always exits under VT-x, and under AMD-V wherever the hypervisor asks for it, as all common \
                     ones do. A paravirtual hypervisor (PVM, Xen PV) may let it run natively from user mode: a figure of \
                     some hundred cycles says so. Includes the comparison of the answer.",
                )
                .requires(Requirement::InsideVm),
        ),
    ]
}
