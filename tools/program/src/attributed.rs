//! Kernel time put down to lines as it was measured: to calls by their own stamps.
//!
//! It stands beside what tolls explain and is never added to that. A call's stamps are taken by the programs at its beginning and its end, so they
//! have in them what counting adds between the two, and have not the way into the kernel and out of it. The first is what an empty
//! call is stamped with, measured on this machine just before; the second is what an empty call costs the kernel, by its toll.

use tollway_watch::FileKind;

use crate::bill::{Line, Of};
use crate::observed::Observed;
use crate::prices::Prices;

/// Kernel time that is put down to lines, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Attributed {
    /// To calls, as they were measured.
    pub measured: f64,
    /// To what no stamp sees (page faults, interrupts, switches against a thread's will, calls that never come back), by its tolls.
    pub by_tolls: f64,
}

impl Attributed {
    /// Of all lines; `None` where no call was measured.
    pub fn of(lines: &[Line]) -> Option<Attributed> {
        let measured: f64 = lines.iter().filter_map(|line| line.measured).sum();
        let others = lines.iter().filter(|line| line.measured.is_none() && !is_within_calls(&line.of));
        let by_tolls = others.filter_map(|line| line.sum.as_ref()).map(|sum| sum.ns).sum();
        (measured > 0.0).then_some(Attributed { measured, by_tolls })
    }

    /// All of it.
    pub fn ns(&self) -> f64 {
        self.measured + self.by_tolls
    }
}

/// Whether what a line is of happens within calls, whose stamps have it.
fn is_within_calls(of: &Of) -> bool {
    matches!(of, Of::Wake(_) | Of::WakeBusy | Of::Sleep(_) | Of::AnySleep)
}

/// Notes with each line of calls what they were measured to take, where stamps tell.
pub(crate) fn measure(lines: &mut [Line], observed: &Observed, prices: &Prices<'_>) {
    let stamped = observed.cost.map_or(0.0, |cost| cost.stamped.as_secs_f64() * 1e9);
    let Some(empty) = prices.call("getppid", FileKind::None, 0.0, false).map(|price| price.ns) else {
        return;
    };
    if observed.disturbs || stamped <= 0.0 {
        return;
    }
    for line in lines {
        let inside = line.inside.filter(|inside| *inside > 0.0 && matches!(line.of, Of::Call(..)));
        line.measured = inside.map(|inside| (inside - line.count * stamped).max(0.0) + line.count * empty);
    }
}
