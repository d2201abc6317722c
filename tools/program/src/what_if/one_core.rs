//! Those who wake each other on one core.

use tollway_core::Placement;

use super::{Change, comes_to, difference, passed, wait_mostly_on};
use crate::bill::{Bill, Of};
use crate::prices::{Price, Prices};

/// The least share of its sleeps woken from elsewhere that its own threads end: what else ends them is an
/// interrupt, or another program.
const ITS_OWN: f64 = 0.1;

/// How alike its sleeps and the wake-ups by others of it are, where it waits for nobody else.
const OWN: f64 = 0.9;

pub(super) fn change(bill: &Bill, prices: &Prices<'_>) -> Option<Change> {
    let (same, across, file) = (Placement::Same, Placement::Across, wait_mostly_on(bill));
    let (woke, slept) = (passed(bill, &Of::Wake(across)), passed(bill, &Of::Sleep(across)));
    // Its own threads have to wake each other: an interrupt, of a disk or a network, does so from wherever it
    // comes.
    let its_own = woke + passed(bill, &Of::WakeBusy);
    if bill.evidence.running < 2 || its_own < 1.0 || its_own < ITS_OWN * slept {
        return None;
    }
    let ended = slept.min(its_own);
    // On one core who wakes another and who sleeps take turns.
    let then = prices.wake(file, same, 1.0)?.times(woke).plus(&prices.sleep(file, same, 1.0)?.times(ended));
    let sleeps = comes_to(bill, &Of::Sleep(across)).times(ended / slept.max(1.0));
    let now = comes_to(bill, &Of::Wake(across)).plus(&sleeps);
    if now.ns <= 0.0 {
        // There are no tolls of it.
        return None;
    }
    let saves = difference(&now, &then);
    // On one core nobody runs while another does, and nobody waits for a core to wake: what is left is all processor time. That is so where whoever sleeps
    // is woken by one of them.
    let ran = bill.ran + bill.counting;
    let takes_turns = ran < 1.05 * bill.watched && its_own.min(slept) > OWN * its_own.max(slept);
    let sooner = takes_turns.then(|| {
        let idle = bill.watched - ran;
        Price { ns: idle + saves.ns, lo: idle + saves.lo, hi: idle + saves.hi, ..saves.clone() }
    });
    Some(Change {
        name: "one-core",
        what: "all of it on one core, so that nobody is woken across".into(),
        how: if takes_turns {
            "taskset -c 0, or sched_setaffinity(2) for those who wait for each other".into()
        } else {
            "taskset -c 0; threads that work at the same time would have to share the core".into()
        },
        can_be_tried: true,
        in_user_mode: false,
        saves,
        sooner,
    })
}
