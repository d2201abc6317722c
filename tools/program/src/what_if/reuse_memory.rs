//! Memory that malloc keeps instead of giving it back and asking again.

use super::{Change, calls, comes_to};
use crate::bill::{Bill, Of};
use crate::prices::{Price, Prices};
use crate::tried::KEPT;

pub(super) fn change(bill: &Bill, _: &Prices<'_>) -> Option<Change> {
    let asks = |name: &str| {
        calls(bill).filter(|(_, call, _)| *call == name).map(|(line, ..)| line.count).sum::<f64>()
    };
    let given_back = asks("munmap") + asks("madvise") + asks("brk");
    // Every program maps its libraries; what goes to and fro is more than that.
    if given_back < 100.0 {
        return None;
    }
    let moves_memory = |call: &str| matches!(call, "munmap" | "madvise" | "mmap" | "brk");
    let called =
        calls(bill).filter(|(_, call, _)| moves_memory(call)).filter_map(|(line, ..)| line.sum.as_ref());
    let all = called.fold(comes_to(bill, &Of::Fault), |all, one| all.plus(one));
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
