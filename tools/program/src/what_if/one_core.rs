//! Those who wake each other on one core.

use tollway_core::Placement;

use super::{Change, difference, passed, wait_mostly_on};
use crate::bill::{Bill, Of};
use crate::prices::Prices;

pub(super) fn change(bill: &Bill, prices: &Prices<'_>) -> Option<Change> {
    let (same, across, file) = (Placement::Same, Placement::Across, wait_mostly_on(bill));
    let (woke, slept) = (passed(bill, &Of::Wake(across)), passed(bill, &Of::Sleep(across)));
    if woke + slept < 1.0 {
        return None;
    }
    let wakes = difference(&prices.wake(file, across)?.times(woke), &prices.wake(file, same)?.times(woke));
    let sleeps =
        difference(&prices.sleep(file, across)?.times(slept), &prices.sleep(file, same)?.times(slept));
    // Each hand-over from one to the other is half of a round trip of two sleeps and two wake-ups.
    let round_trip = |placement| prices.round_trip(file, placement);
    let takes_turns = bill.ran < 1.05 * bill.watched;
    let sooner = round_trip(across).zip(round_trip(same)).filter(|_| takes_turns);
    let sooner = sooner.map(|(across, same)| difference(&across, &same).times(woke.min(slept) / 2.0));
    Some(Change {
        name: "one-core",
        what: "all of it on one core, so that nobody is woken across".into(),
        how: if takes_turns {
            "taskset -c 0, or sched_setaffinity(2) for those who wait for each other".into()
        } else {
            "taskset -c 0; but its threads work at the same time, and would have to share the core".into()
        },
        can_be_tried: true,
        saves: wakes.plus(&sleeps),
        sooner,
    })
}
