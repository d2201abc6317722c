//! Requests that are under way at once, each a message of its own: asynchronous instead of synchronous.

use super::{Change, asked_and_answered, turns_saved};
use crate::bill::Bill;
use crate::prices::Prices;

/// Requests under way.
const UNDER_WAY: f64 = 16.0;

pub(super) fn change(bill: &Bill, _: &Prices<'_>) -> Option<Change> {
    let messages = asked_and_answered(bill);
    let saves = turns_saved(bill, messages, UNDER_WAY);
    (messages >= 100.0 && saves.ns > 0.0).then(|| Change {
        name: "in-flight",
        what: "16 requests under way at once, each a message of its own".into(),
        how: "asynchronous instead of synchronous: whoever asks does not wait for each answer, and so neither end sleeps for each".into(),
        can_be_tried: false,
        in_user_mode: false,
        saves,
        sooner: None,
    })
}
