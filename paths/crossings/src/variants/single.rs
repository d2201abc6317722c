//! System calls, each kind by itself.

use tollway_core::{Axis, Crossing, Domain, Params, Requirement, Result, Value};

use super::{Needs, Solo};
use crate::engine::single::{self, NAMES, SystemCall};

pub(super) fn variant() -> Solo<SystemCall> {
    Solo::<SystemCall>::new(Crossing::SystemCall, "call")
        .caveats(
            "A call that has neither to wait nor anybody to wake, made directly, mostly without the C library's wrapper. What it \
             uses up is renewed between samples, untimed: a read finds one message, a write an empty channel. A write to a \
             loopback socket has the whole way to the receiver's queue in it. Files are in the page cache and on the file \
             system of the scratch folder. `fcntl-lock` is the mean of a lock and an unlock, `rt-sigprocmask` of a signal \
             blocked and let in. `fdatasync` and `fsync` last as long as the disk takes; their work is the thread's \
             processor time, without what the kernel's other threads do for them.",
        )
        .axis(Axis {
            name: "kind",
            about: "which call, and on what",
            domain: Domain::Words(NAMES),
            default: Value::Text("fstat".into()),
        })
        .axis(Axis {
            name: "size",
            about: "bytes that a call moves; 0 where it moves none",
            domain: Domain::Whole(0, 1 << 16),
            default: Value::Int(0),
        })
        .needing(needs)
}

fn needs(params: &Params) -> Result<Needs> {
    let (kind, _) = single::chosen(params)?;
    Ok(match kind.needs {
        single::Needs::Nothing => Needs::default(),
        single::Needs::Loopback => Needs { requires: vec![Requirement::Loopback], folder: false },
        single::Needs::Folder => Needs { requires: Vec::new(), folder: true },
    })
}
