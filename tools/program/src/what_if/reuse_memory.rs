//! Memory that malloc keeps instead of giving it back and asking again.

use super::{Change, calls, passed};
use crate::bill::{Bill, Of};
use crate::prices::{Price, Prices};
use crate::tried::KEPT;

pub(super) fn change(bill: &Bill, prices: &Prices<'_>) -> Option<Change> {
    let asks = |name: &str| {
        calls(bill).filter(|(_, call, _)| *call == name).map(|(line, ..)| line.count).sum::<f64>()
    };
    let given_back = asks("munmap") + asks("madvise") + asks("brk");
    // Every program maps its libraries; what goes to and fro is more than that.
    if given_back < 100.0 {
        return None;
    }
    let none = tollway_watch::FileKind::None;
    let price = |call: &str| Some(prices.call(call, none, 0.0, false)?.times(asks(call)));
    let called = price("munmap")?.plus(&price("madvise")?).plus(&price("mmap")?).plus(&price("brk")?);
    let faults = prices.fault()?.times(passed(bill, &Of::Fault));
    let all = called.plus(&faults);
    // How much of it is malloc's is not known.
    let saves = Price { ns: all.ns / 2.0, lo: 0.0, ..all };
    Some(Change {
        name: "reuse-memory",
        what: "malloc keeps what is freed".into(),
        how: format!("GLIBC_TUNABLES={KEPT}"),
        can_be_tried: true,
        saves,
        sooner: None,
    })
}
