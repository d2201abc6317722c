//! System calls, several in one, and signals.

use tollway_core::{Axis, Crossing, Domain, Requirement, Value, Variant};

use super::{Prediction, Solo};
use crate::engine::ring::{Batch, Nop, NullWrite};
use crate::engine::signal::SelfSignal;
use crate::engine::syscalls::{Getppid, ReadByte, WriteByte};
use crate::predict;

pub(super) fn variants() -> Vec<Box<dyn Variant>> {
    vec![
        Box::new(
            Solo::<Getppid>::new(Crossing::Getppid, "call")
                .caveats("glibc's wrapper is not in it: the call is made directly."),
        ),
        Box::new(
            Solo::<ReadByte>::new(Crossing::ReadByte, "byte read")
                .caveats("The call is made directly, without glibc's wrapper."),
        ),
        Box::new(
            Solo::<WriteByte>::new(Crossing::WriteByte, "byte written")
                .caveats("The call is made directly, without glibc's wrapper."),
        ),
        Box::new(
            Solo::<Batch<Nop>>::new(Crossing::IoUringNop, "no-op")
                .caveats(
                    "Per no-op: `depth` of them are queued, submitted with one io_uring_enter that waits for all, and \
                     reaped; queueing and reaping in user mode are in it. No SQPOLL, no registered ring.",
                )
                .axis(Axis {
                    name: "depth",
                    about: "no-ops submitted with one call",
                    domain: Domain::Whole(1, 4096),
                    default: Value::Int(1),
                })
                .counts("enter")
                .predicted(Prediction { needs: predict::nop_needs, predict: predict::nop_predict })
                .requires(Requirement::IoUring),
        ),
        Box::new(
            Solo::<Batch<NullWrite>>::new(Crossing::IoUringWrite, "byte written")
                .caveats(
                    "Per byte: `depth` writes of one byte to /dev/null are queued, submitted with one io_uring_enter that waits for \
                     all, and reaped. Beside `write-byte` it says what a ring saves a call, or costs it: its bookkeeping is dearer \
                     than an entry into the kernel where that is cheap.",
                )
                .axis(Axis {
                    name: "depth",
                    about: "writes submitted with one call",
                    domain: Domain::Whole(1, 4096),
                    default: Value::Int(1),
                })
                .counts("enter")
                .requires(Requirement::IoUring),
        ),
        Box::new(Solo::<SelfSignal>::new(Crossing::Signal, "signal").caveats(
            "tgkill to the calling thread, the handler (one addition) and sigreturn: two entries into the kernel. The \
             kernel saves and restores the vector registers on the signal's frame, so a wider register file costs more.",
        )),
    ]
}
