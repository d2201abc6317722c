//! Several requests with one message, where one end asks and the other answers.

use super::{Change, calls, difference, passed, talks};
use crate::bill::{Bill, Of};
use crate::prices::{Price, Prices};
use crate::route::moves_bytes;
use tollway_core::Placement;

/// Requests with one message.
const TOGETHER: f64 = 16.0;

pub(super) fn change(bill: &Bill, prices: &Prices<'_>) -> Option<Change> {
    let mut saves: Option<Price> = None;
    let mut messages = 0.0;
    for (line, call, file) in calls(bill) {
        // Whoever waits for several connections at once asks once for what came meanwhile.
        let waits = matches!(call, "epoll_wait" | "epoll_pwait" | "poll" | "ppoll" | "select" | "pselect6");
        let talks = moves_bytes(call) && talks(bill, file);
        if !(waits || talks) {
            continue;
        }
        let done = (line.count - line.failed).max(0.0);
        let now = prices.call(call, file, line.bytes / done.max(1.0), true)?;
        let then = prices.call(call, file, TOGETHER * line.bytes / done.max(1.0), true)?;
        let saved = difference(&now.times(done), &then.times(done / TOGETHER));
        saves = Some(saves.unwrap_or_default().plus(&saved));
        messages += if waits { 0.0 } else { done };
    }
    // Those who would have slept and been woken between two requests.
    for placement in [Placement::Same, Placement::Across] {
        let turns = passed(bill, &Of::Sleep(placement)).min(messages) * (1.0 - 1.0 / TOGETHER);
        let woke = passed(bill, &Of::Wake(placement)).min(messages) * (1.0 - 1.0 / TOGETHER);
        let any = tollway_watch::FileKind::None;
        saves = saves.map(|saves| {
            let sleeps = prices.sleep(any, placement).unwrap_or_default().times(turns);
            saves.plus(&sleeps).plus(&prices.wake(any, placement).unwrap_or_default().times(woke))
        });
    }
    (messages >= 100.0).then_some(Change {
        name: "pipelining",
        what: "16 requests with one message".into(),
        how: "whoever asks sends the next before the last is answered (redis-benchmark -P 16, libpq's pipeline mode)".into(),
        can_be_tried: false,
        saves: saves?,
        sooner: None,
    })
}
