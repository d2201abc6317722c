//! What happens while serving, as lines on standard error: `time=… event=… tenant=… reason="…"`. No key is ever in one.

use tollway_cipher::engine::device::Told;
use tollway_service::TenantLog;
use tollway_service::log::say;

/// A line about something that happened, unless there were too many about that function.
pub(super) fn tell(log: &TenantLog, told: &Told) {
    match told {
        Told::Connected(function) => log.tell(*function, "connected", None),
        Told::Gone(function) => log.tell(*function, "gone", None),
        Told::Started(function, queue) => log.tell(*function, "started", Some(&format!("queue {queue}"))),
        Told::Stopped(function, queue) => log.tell(*function, "stopped", Some(&format!("queue {queue}"))),
        Told::Refused(function, queue, refused) => log.refused(*function, *queue, refused),
        Told::Placed(function, card) => log.tell(*function, "placed", Some(&format!("card {card}"))),
        Told::Failed(card) => say("card-failed", &[("card", &card.to_string())]),
        Told::Ended(reason) => say("thread-ended", &[("reason", reason)]),
        _ => {}
    }
}
