//! Fewer and larger reads and writes of the same bytes.

use tollway_report::number::count;

use super::{Change, difference, gatherable};
use crate::bill::Bill;
use crate::prices::{Price, Prices};

/// The size that reads and writes are gathered to, in bytes: copying is most of what such a call costs.
pub const GATHERED: f64 = 65_536.0;
/// Sizes from which on nothing is gathered any more.
const LARGE: f64 = 16_384.0;

pub(super) fn change(bill: &Bill, prices: &Prices<'_>) -> Option<Change> {
    let mut saves: Option<Price> = None;
    let (mut before, mut after) = (0.0, 0.0);
    for (line, call, file) in gatherable(bill) {
        let done = line.count - line.failed;
        let size = line.bytes / done.max(1.0);
        if done < 1.0 || !(1.0..LARGE).contains(&size) {
            continue;
        }
        let fewer = (line.bytes / GATHERED).ceil();
        let (Some(now), Some(then)) =
            (prices.call(call, file, size, true), prices.call(call, file, line.bytes / fewer, true))
        else {
            continue;
        };
        if now.at_least || done <= fewer {
            continue;
        }
        let saved = difference(&now.times(done), &then.times(fewer));
        saves = Some(saves.unwrap_or_default().plus(&saved));
        (before, after) = (before + done, after + fewer);
    }
    Some(Change {
        name: "larger-reads",
        what: format!("reads and writes of 64 KiB: {} calls instead of {}", count(after), count(before)),
        how: "buffer in the program (BufReader, setvbuf, readv and writev)".into(),
        can_be_tried: false,
        saves: saves?,
        sooner: None,
    })
}
