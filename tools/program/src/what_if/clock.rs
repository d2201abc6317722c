//! A clock that is read without a system call.

use tollway_core::{Crossing, TollKey};

use super::{Change, calls, difference, in_all};
use crate::bill::Bill;
use crate::prices::Prices;

pub(super) fn change(bill: &Bill, prices: &Prices<'_>) -> Option<Change> {
    let reads = calls(bill)
        .filter(|(_, call, _)| matches!(*call, "clock_gettime" | "gettimeofday" | "time"))
        .map(|(line, ..)| line);
    let (asked, off_by) = in_all(reads);
    let by = |crossing| prices.of(&TollKey::of(crossing).kind("monotonic"));
    let (call, memory) = (by(Crossing::ClockRaw)?, by(Crossing::ClockVdso)?);
    (asked >= 1.0).then(|| Change {
        name: "clock",
        what: "a clock that needs no system call".into(),
        how: "a clock source that user mode can read (tsc in /sys/devices/system/clocksource), and CLOCK_MONOTONIC instead of the clocks of processor time".into(),
        can_be_tried: true,
        in_user_mode: false,
        saves: difference(&call, &memory).times(asked).of_counts_off_by(off_by),
        sooner: None,
    })
}
