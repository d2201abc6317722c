//! Many operations with one entry into the kernel: io_uring.

use tollway_core::{Crossing, TollKey};

use super::{Change, difference, gatherable, in_all};
use crate::bill::Bill;
use crate::prices::Prices;

pub(super) fn change(bill: &Bill, prices: &Prices<'_>) -> Option<Change> {
    // The same byte written by a call of its own, and as one of 32 that a ring is given at once: an entry into the kernel is saved, and the ring's books are kept.
    let call = prices.of(&TollKey::of(Crossing::WriteByte))?;
    let operation = prices.of(&TollKey::of(Crossing::IoUringWrite).depth(32))?;
    let (several, off_by) = in_all(gatherable(bill).map(|(line, ..)| line));
    (several >= 64.0).then(|| Change {
        name: "io-uring",
        what: "reads and writes by io_uring, 32 with one entry".into(),
        how: "io_uring_enter(2) with many operations; pays only where as many are known at once".into(),
        can_be_tried: false,
        in_user_mode: false,
        saves: difference(&call, &operation).times(several).of_counts_off_by(off_by),
        sooner: None,
    })
}
