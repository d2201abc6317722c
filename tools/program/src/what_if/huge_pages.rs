//! One fault for 2 MiB instead of one for 4 KiB.

use super::{Change, difference};
use crate::bill::Bill;
use crate::prices::{Faults, Price, Prices};

/// Bytes that the kernel clears for a fault, which it has to clear for a huge page as well.
const PAGE: f64 = 4096.0;
/// Pages of 4 KiB in a huge page of 2 MiB: a process with fewer faults than these has nothing to put there.
const TOGETHER: f64 = 512.0;

pub(super) fn change(bill: &Bill, prices: &Prices<'_>) -> Option<Change> {
    // What a program's start and a fork bring is no heap.
    let heaps = bill.evidence.heaps.iter().map(|heap| heap.faults);
    let faults: f64 = heaps.filter(|faults| *faults >= TOGETHER).sum();
    let each = prices.fault(Faults::NEW)?;
    // To clear a page costs what reading as many zeroes does, beyond the call.
    let of = |bytes| prices.call("read", tollway_watch::FileKind::Zero, bytes, true);
    let clearing = of(PAGE)?.less(&of(1.0)?);
    let saved = each.clone().less(&clearing).times(faults);
    // Of which part of them is heap that huge pages can serve is not known: none at the least, all at the most.
    let saves = Price { ns: saved.ns / 2.0, lo: 0.0, ..difference(&saved, &Price::default()) };
    (faults > 0.0).then(|| Change {
        name: "huge-pages",
        what: "huge pages for the heap: one fault instead of 512".into(),
        how: "GLIBC_TUNABLES=glibc.malloc.hugetlb=1, where /sys/kernel/mm/transparent_hugepage/enabled is madvise or always".into(),
        can_be_tried: true,
        in_user_mode: false,
        saves,
        sooner: None,
    })
}
