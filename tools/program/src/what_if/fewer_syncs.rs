//! Several changes made durable at once.

use tollway_core::{Crossing, TollKey};

use super::{Change, calls};
use crate::bill::Bill;
use crate::prices::{Price, Prices};

/// Changes that are made durable at once.
const TOGETHER: f64 = 8.0;

pub(super) fn change(bill: &Bill, prices: &Prices<'_>) -> Option<Change> {
    let mut saves: Option<Price> = None;
    let (mut synced, mut waited) = (0.0, 0.0);
    for (line, ..) in
        calls(bill).filter(|(_, call, _)| matches!(*call, "fsync" | "fdatasync" | "sync_file_range"))
    {
        let saved = line.sum.as_ref()?.times(1.0 - 1.0 / TOGETHER);
        saves = Some(saves.unwrap_or_default().plus(&saved));
        synced += line.count;
        waited += line.away.unwrap_or(0.0) + line.inside.unwrap_or(0.0);
    }
    // How long one lasts is known of this very program, where it was stamped; else by the toll, which is of a disk alone.
    let latency = prices.latency(&TollKey::of(Crossing::SystemCall).kind("fdatasync"))?;
    let sooner = if waited > 0.0 {
        Price { ns: waited, lo: 0.8 * waited, hi: waited, keys: latency.keys, at_least: false }
    } else {
        latency.times(synced)
    };
    (synced >= 10.0).then_some(Change {
        name: "fewer-syncs",
        what: "8 changes made durable at once".into(),
        how: "one transaction for several changes; group commit (PostgreSQL: commit_delay; SQLite: BEGIN … COMMIT)".into(),
        can_be_tried: false,
        in_user_mode: false,
        saves: saves?,
        sooner: Some(sooner.times(1.0 - 1.0 / TOGETHER)),
    })
}
