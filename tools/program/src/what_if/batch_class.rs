//! The scheduling class of what need not answer at once.

use tollway_core::Placement;

use super::{Change, comes_to, passed};
use crate::bill::{Bill, Of};
use crate::prices::{Price, Prices};

pub(super) fn change(bill: &Bill, prices: &Prices<'_>) -> Option<Change> {
    let taken = passed(bill, &Of::Preemption);
    // Which of them are for somebody that was woken, and which because its time was up, is not known. Who takes a processor finds little to do,
    // sleeps again and has to be woken again: all of that may go as well.
    let waits = [Of::Sleep(Placement::Same), Of::Wake(Placement::Same)];
    let all = waits.iter().fold(prices.switch()?.times(taken), |all, of| {
        let share = (taken / passed(bill, of).max(1.0)).min(1.0);
        all.plus(&comes_to(bill, of).times(share))
    });
    (taken >= 100.0).then(|| Change {
        name: "batch-class",
        what: "SCHED_BATCH: who is woken does not take its processor".into(),
        how: "chrt --batch 0".into(),
        can_be_tried: true,
        in_user_mode: false,
        saves: Price { ns: all.ns / 2.0, lo: 0.0, ..all },
        sooner: None,
    })
}
