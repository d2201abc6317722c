//! As much time as one processor has, for a program that has more.

use super::Change;
use crate::bill::Bill;
use crate::prices::{Price, Prices};

/// How long a period is, in nanoseconds: in each a group has its time, and is stopped when it has had that. The kernel's default, and what `--try` sets.
const PERIOD: f64 = 100e6;
/// The part of a period that processors may have taken and not used, or used and not had: 5 ms are handed out at once (sched_cfs_bandwidth_slice_us).
const SLICE: f64 = 0.05;

pub(super) fn change(bill: &Bill, prices: &Prices<'_>) -> Option<Change> {
    // What has less than that on the whole may have more for a while; how often is not known.
    let longer = bill.ran + bill.counting - bill.watched;
    if longer < SLICE * bill.watched {
        return None;
    }
    // In each period a thread on each processor is stopped and goes on.
    let stops = prices.switch()?.times(2.0 * bill.ran / PERIOD * (bill.ran / bill.watched).ceil());
    let saves = Price { ns: -stops.ns, lo: -stops.hi, hi: -stops.lo, ..stops };
    let unsure = SLICE * bill.ran;
    let sooner = Price { ns: -longer, lo: -longer - unsure, hi: -longer + unsure, ..saves.clone() };
    Some(Change {
        name: "processor-limit",
        what: "the time of one processor and no more".into(),
        how: "cpu.max of a control group (systemd-run -p CPUQuota=100%, docker run --cpus 1)".into(),
        can_be_tried: true,
        in_user_mode: false,
        saves,
        sooner: Some(sooner),
    })
}
