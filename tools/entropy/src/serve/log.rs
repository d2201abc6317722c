//! What happens while serving, as lines on standard error: `time=… event=… tenant=… reason="…"`.

use tollway_entropy::engine::serve::Told;
use tollway_service::TenantLog;
use tollway_service::log::say;

/// A line about something that happened, unless there were too many about that tenant.
pub(super) fn tell(log: &TenantLog, told: &Told) {
    match told {
        Told::Connected(tenant) => log.tell(*tenant, "connected", None),
        Told::Gone(tenant) => log.tell(*tenant, "gone", None),
        Told::Started(tenant) => log.tell(*tenant, "started", None),
        Told::Stopped(tenant) => log.tell(*tenant, "stopped", None),
        Told::Refused(tenant, refused) => log.refused(*tenant, None, refused),
        Told::Failing { worker, reason } => {
            say("source-failing", &[("thread", &worker.to_string()), ("reason", reason)]);
        }
        Told::Over { worker, reason } => {
            say("source-ended", &[("thread", &worker.to_string()), ("reason", reason)]);
        }
        Told::Recovered(worker) => say("source-recovered", &[("thread", &worker.to_string())]),
        Told::Ended(reason) => say("thread-ended", &[("reason", reason)]),
        _ => {}
    }
}
