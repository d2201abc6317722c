//! Memory that malloc keeps instead of giving it back and asking again.

use super::{Change, calls, comes_to, passed, with_unexplained};
use crate::bill::{Bill, Of};
use crate::prices::{Price, Prices, user_side};
use crate::tried::KEPT;

/// Page faults for each such time from which on it uses what it has: what malloc gives back is 128 KiB at the least, 32 pages. What is not used is
/// not there either, and calloc(3) need not clear what is new: a loop of `bytes(33 << 20)` in Python took eight times as long when its memory
/// was kept.
const USED: f64 = 8.0;
/// Times that a process gives memory back, or moves the end of its heap, beyond what its start does, from
/// which on memory goes to and fro.
const MANY: f64 = 100.0;

/// Nanoseconds in user mode, at the most, to have a page in the nearest cache that the kernel has just cleared: 64 lines from the second level, in some 1.5 ns each
/// (`rhythm.rs`). A loop of Python that makes lists of 4 MiB has 90 ms in user mode, 40 where its memory is kept: 115 ns a page (AMD EPYC guest, Linux 6.18).
const REFILL: f64 = 64.0 * 1.5;

pub(super) fn change(bill: &Bill, prices: &Prices<'_>) -> Option<Change> {
    // A process that maps its libraries and ends has no memory to keep, however many there are of it.
    let heaps = bill.evidence.heaps.iter().filter(|heap| heap.given_back >= MANY);
    let heaps: Vec<_> = heaps.filter(|heap| heap.faults >= USED * heap.given_back).collect();
    if heaps.is_empty() {
        return None;
    }
    let moves_memory = |call: &str| matches!(call, "munmap" | "madvise" | "mmap" | "brk");
    let lines = || calls(bill).filter(|(_, call, _)| moves_memory(call));
    let often: f64 = lines().map(|(line, ..)| line.count).sum();
    let share = |of: f64, all: f64| (of / all.max(1.0)).min(1.0);
    let called = lines().filter_map(|(line, ..)| line.sum.as_ref());
    let called = called.fold(Price::default(), |all, one| all.plus(one));
    let called = called.times(share(heaps.iter().map(|heap| heap.calls).sum(), often));
    let pages: f64 = heaps.iter().map(|heap| heap.faults).sum();
    // Each page that came goes as well.
    let back = prices.page_back().unwrap_or_default().times(pages);
    let both = [Of::Fault, Of::FaultInCall];
    let often: f64 = both.iter().map(|of| passed(bill, of)).sum();
    let faults = comes_to(bill, &both[0]).plus(&comes_to(bill, &both[1])).times(share(pages, often));
    let all = called.plus(&faults).plus(&back);
    // How much of it is malloc's is not known.
    let saves = with_unexplained(Price { ns: all.ns / 2.0, lo: 0.0, ..all }, bill);
    let in_user_mode = prices.of(&user_side()).unwrap_or_default().hi + REFILL;
    let saves = Price { hi: saves.hi + in_user_mode * pages, ..saves };
    Some(Change {
        name: "reuse-memory",
        what: "malloc keeps what is freed".into(),
        how: format!("GLIBC_TUNABLES={KEPT}"),
        can_be_tried: true,
        in_user_mode: true,
        saves,
        sooner: None,
    })
}
