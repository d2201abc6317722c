//! The scheduling class of what need not answer at once.

use super::{Change, passed};
use crate::bill::{Bill, Of};
use crate::prices::{Price, Prices};

pub(super) fn change(bill: &Bill, prices: &Prices<'_>) -> Option<Change> {
    let taken = passed(bill, &Of::Preemption);
    // Which of them are for somebody that was woken, and which because its time was up, is not known.
    let all = prices.switch()?.times(taken);
    (taken >= 100.0).then(|| Change {
        name: "batch-class",
        what: "SCHED_BATCH: who is woken does not take its processor".into(),
        how: "chrt --batch 0".into(),
        can_be_tried: true,
        saves: Price { ns: all.ns / 2.0, lo: 0.0, ..all },
        sooner: None,
    })
}
