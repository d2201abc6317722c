//! The scheduling class of what need not answer at once.

use tollway_core::Placement;
use tollway_watch::FileKind;

use super::{Change, calls, comes_to, is_read, passed, with_unexplained};
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
    // Who is let finish brings more at a time: what was read piece by piece may be read at once.
    let pieces = calls(bill).filter(|(_, call, file)| is_read(call) && *file == FileKind::Pipe);
    let at_most = pieces.fold(all.clone(), |all, (line, ..)| {
        let share = (taken / line.count.max(1.0)).min(1.0);
        line.sum.as_ref().map_or(all.clone(), |sum| all.plus(&sum.times(share)))
    });
    let saves = with_unexplained(Price { ns: all.ns / 2.0, lo: 0.0, ..at_most }, bill);
    (taken >= 100.0).then(|| Change {
        name: "batch-class",
        what: "SCHED_BATCH: who is woken does not take its processor".into(),
        how: "chrt --batch 0".into(),
        can_be_tried: true,
        in_user_mode: false,
        saves,
        sooner: None,
    })
}
