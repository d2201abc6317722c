//! Lines about tenants: what one of them does must not fill the log.

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use tollway_virtio::Bucket;
use tollway_virtio::backend::Refused;

use crate::log::say;

/// Lines of one tenant that come at once, and in a second from then on.
const BURST: u64 = 20;
const RATE: u64 = 1;

/// The log of a server with tenants, who are told by their numbers.
pub struct TenantLog {
    names: Vec<String>,
    begun: Instant,
    /// What each may still say, and how many lines it was not allowed.
    quotas: Mutex<Vec<(Bucket, u64)>>,
}

impl fmt::Debug for TenantLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TenantLog").field("names", &self.names).finish_non_exhaustive()
    }
}

impl TenantLog {
    /// Of tenants with these names.
    pub fn new(names: Vec<String>) -> TenantLog {
        let quotas = names.iter().map(|_| (Bucket::new(RATE, BURST, 0), 0)).collect();
        TenantLog { names, begun: Instant::now(), quotas: Mutex::new(quotas) }
    }

    /// A line about something that happened to a tenant, unless there were too many about that one.
    pub fn tell(&self, tenant: usize, event: &str, reason: Option<&str>) {
        self.tell_more(tenant, event, reason.map(|reason| ("reason", reason)).as_slice());
    }

    /// The same of what was refused, with what can be done about it; in which queue, if it is one of several.
    pub fn refused(&self, tenant: usize, queue: Option<usize>, refused: &Refused) {
        let (queue, reason) = (queue.map(|queue| queue.to_string()), refused.to_string());
        let place = queue.as_deref().map(|queue| ("queue", queue));
        let rest = [("reason", &*reason), ("remedy", refused.remedy())];
        self.tell_more(tenant, "refused", &place.into_iter().chain(rest).collect::<Vec<_>>());
    }

    fn tell_more(&self, tenant: usize, event: &str, more: &[(&str, &str)]) {
        let Some(suppressed) = self.may_say(tenant) else { return };
        let suppressed = (suppressed > 0).then(|| suppressed.to_string());
        let mut fields = vec![("tenant", self.names[tenant].as_str())];
        fields.extend_from_slice(more);
        fields.extend(suppressed.as_deref().map(|lines| ("suppressed", lines)));
        say(event, &fields);
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
        let log = TenantLog::new(vec!["a".into(), "b".into()]);
        let said = (0..1000).filter(|_| log.may_say(0).is_some()).count();
        assert!((20..30).contains(&said), "{said}");
        assert_eq!(log.may_say(1), Some(0));
    }
}
