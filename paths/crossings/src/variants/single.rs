//! System calls, each kind by itself.

use tollway_core::{Axis, Crossing, Domain, Params, Requirement, Result, Value, Warmth};

use super::{Needs, Solo};
use crate::engine::single::{self, NAMES, SystemCall};

pub(super) fn variant() -> Solo<SystemCall> {
    Solo::<SystemCall>::new(Crossing::SystemCall, "call")
        .caveats(
            "A call that has neither to wait nor anybody to wake, made directly, mostly without the C library's wrapper. What it \
             uses up is renewed between samples, untimed: a read finds one message, a write an empty channel. A write to a \
             loopback socket has the whole way to the receiver's queue in it. Files are in the page cache and on the file \
             system of the scratch folder. `fcntl-lock` is the mean of a lock and an unlock, `rt-sigprocmask` of a signal \
             blocked and let in. `fdatasync` and `fsync` last as long as the disk takes, `create` and `unlink` may wait for the journal; their work is the thread's \
             processor time, without what the kernel's other threads do for them. A cold call is one by itself, after as much              memory as the second-level cache holds was read and other ways through the kernel were gone, untimed; the              stamps (some 54 ticks) are in it.",
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
        .axis(Axis {
            name: "warmth",
            about: "hot: several calls in a row; cold: one, after memory and ways through the kernel that replace its caches",
            domain: Domain::Words(&["hot", "cold"]),
            default: Value::Text("hot".into()),
        })
        .needing(needs)
}

fn needs(params: &Params) -> Result<Needs> {
    let (kind, _) = single::chosen(params)?;
    // What makes a call cold goes through the loopback device as well.
    let is_cold = single::warmth(params)? == Warmth::Cold;
    let loopback = is_cold || kind.needs == single::Needs::Loopback;
    let requires = if loopback { vec![Requirement::Loopback] } else { Vec::new() };
    Ok(Needs { requires, folder: kind.needs == single::Needs::Folder })
}
