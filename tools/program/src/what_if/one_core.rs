//! Those who wake each other on one core.

use tollway_core::Placement;

use super::{Change, comes_to, difference, passed, wait_mostly_on};
use crate::bill::{Bill, Of};
use crate::prices::{Price, Prices};

/// How alike its sleeps and the wake-ups by others of it are, where it waits for nobody else.
const OWN: f64 = 0.9;

pub(super) fn change(bill: &Bill, prices: &Prices<'_>) -> Option<Change> {
    let (same, across, file) = (Placement::Same, Placement::Across, wait_mostly_on(bill));
    let (woke, slept) = (passed(bill, &Of::Wake(across)), passed(bill, &Of::Sleep(across)));
    if woke + slept < 1.0 {
        return None;
    }
    // On one core who wakes another and who sleeps take turns.
    let then = prices.wake(file, same, 1.0)?.times(woke).plus(&prices.sleep(file, same, 1.0)?.times(slept));
    let now = comes_to(bill, &Of::Wake(across)).plus(&comes_to(bill, &Of::Sleep(across)));
    if now.ns <= 0.0 {
        // There are no tolls of it.
        return None;
    }
    let saves = difference(&now, &then);
    // On one core nobody runs while another does, and nobody waits for a core to wake: what is left is all processor time. That is so where whoever sleeps
    // is woken by one of them.
    let takes_turns = bill.ran < 1.05 * bill.watched && woke.min(slept) > OWN * woke.max(slept);
    let sooner = takes_turns.then(|| {
        let idle = bill.watched - bill.ran;
        Price { ns: idle + saves.ns, lo: idle + saves.lo, hi: idle + saves.hi, ..saves.clone() }
    });
    Some(Change {
        name: "one-core",
        what: "all of it on one core, so that nobody is woken across".into(),
        how: if takes_turns {
            "taskset -c 0, or sched_setaffinity(2) for those who wait for each other".into()
        } else {
            "taskset -c 0; but its threads work at the same time, and would have to share the core".into()
        },
        can_be_tried: true,
        saves,
        sooner,
    })
}
