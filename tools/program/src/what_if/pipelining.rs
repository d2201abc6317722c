//! Several requests with one message, where one end asks and the other answers.

use super::{Change, asked_and_answered, calls, difference, talks, turns_saved, waits_for_several};
use crate::bill::Bill;
use crate::prices::{Price, Prices};
use crate::route::moves_bytes;

/// Requests with one message.
const TOGETHER: f64 = 16.0;

pub(super) fn change(bill: &Bill, prices: &Prices<'_>) -> Option<Change> {
    let mut saves: Option<Price> = None;
    let messages = asked_and_answered(bill);
    for (line, call, file) in calls(bill) {
        // Whoever waits for several connections at once asks once for what came meanwhile.
        if !(waits_for_several(call) || moves_bytes(call) && talks(bill, file)) {
            continue;
        }
        let done = line.done();
        let now = prices.call(call, file, line.bytes / done.max(1.0), true)?;
        let then = prices.call(call, file, TOGETHER * line.bytes / done.max(1.0), true)?;
        // Both by the line's own price, which knows how cold its calls are and what they find.
        let hot = now.ns * line.count;
        let own = line.sum.as_ref().filter(|_| hot > 0.0).map_or(1.0, |sum| sum.ns / hot);
        let saved = difference(&now.times(done), &then.times(done / TOGETHER)).times(own);
        saves = Some(saves.unwrap_or_default().plus(&saved.of_counts_off_by(line.off_by())));
    }
    let saves = saves?.plus(&turns_saved(bill, messages, TOGETHER));
    (messages >= 100.0).then_some(Change {
        name: "pipelining",
        what: "16 requests with one message".into(),
        how: "whoever asks sends the next before the last is answered (redis-benchmark -P 16, libpq's pipeline mode)".into(),
        can_be_tried: false,
        in_user_mode: false,
        saves,
        sooner: None,
    })
}
