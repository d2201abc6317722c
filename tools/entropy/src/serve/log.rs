//! What happens, as lines on standard error: `time=… event=… tenant=… reason="…"`.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use tollway_entropy::engine::serve::Told;
use tollway_virtio::Bucket;

use crate::log::say;

/// Lines of one tenant that come at once, and in a second from then on: what it does must not fill the log.
const BURST: u64 = 20;
const RATE: u64 = 1;

/// The log of a server.
pub(super) struct Log {
    names: Vec<String>,
    begun: Instant,
    quotas: Mutex<Vec<(Bucket, u64)>>,
}

impl Log {
    pub(super) fn new(names: Vec<String>) -> Log {
        let quotas = names.iter().map(|_| (Bucket::new(RATE, BURST, 0), 0)).collect();
        Log { names, begun: Instant::now(), quotas: Mutex::new(quotas) }
    }

    /// A line about the server itself.
    pub(super) fn say(&self, event: &str, fields: &[(&str, &str)]) {
        say(event, fields);
    }

    /// A line about something that happened while serving, unless there were too many about that tenant.
    pub(super) fn tell(&self, told: &Told) {
        let of_tenant = |tenant: usize, event: &str, reason: Option<String>| {
            let Some(suppressed) = self.may_say(tenant) else { return };
            let suppressed = (suppressed > 0).then(|| suppressed.to_string());
            let mut fields = vec![("tenant", self.names[tenant].as_str())];
            fields.extend(reason.as_deref().map(|reason| ("reason", reason)));
            fields.extend(suppressed.as_deref().map(|lines| ("suppressed", lines)));
            self.say(event, &fields);
        };
        match told {
            Told::Connected(tenant) => of_tenant(*tenant, "connected", None),
            Told::Gone(tenant) => of_tenant(*tenant, "gone", None),
            Told::Started(tenant) => of_tenant(*tenant, "started", None),
            Told::Stopped(tenant) => of_tenant(*tenant, "stopped", None),
            Told::Refused(tenant, refused) => of_tenant(*tenant, "refused", Some(refused.to_string())),
            Told::Failing { worker, reason } => {
                self.say("source-failing", &[("thread", &worker.to_string()), ("reason", reason)]);
            }
            Told::Over { worker, reason } => {
                self.say("source-ended", &[("thread", &worker.to_string()), ("reason", reason)]);
            }
            Told::Recovered(worker) => self.say("source-recovered", &[("thread", &worker.to_string())]),
            Told::Ended(reason) => self.say("thread-ended", &[("reason", reason)]),
            _ => {}
        }
    }

    /// Whether a line about a tenant may be written; how many were not, before it.
    fn may_say(&self, tenant: usize) -> Option<u64> {
        let now = self.begun.elapsed().as_nanos() as u64;
        let mut quotas = self.quotas.lock().unwrap_or_else(PoisonError::into_inner);
        let (bucket, suppressed) = &mut quotas[tenant];
        if bucket.level(now) == 0 {
            *suppressed += 1;
            return None;
        }
        bucket.take(1);
        Some(std::mem::take(suppressed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_tenant_does_not_fill_the_log() {
        let log = Log::new(vec!["a".into(), "b".into()]);
        let said = (0..1000).filter(|_| log.may_say(0).is_some()).count();
        assert!((20..30).contains(&said), "{said}");
        assert_eq!(log.may_say(1), Some(0));
    }
}
