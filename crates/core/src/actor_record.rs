//! What one actor did and used in one trial: kept beside the trial's figure, so that tenants can be compared.

use serde::{Deserialize, Serialize};

use crate::{Spread, TenantKind};

/// One actor of a trial.
///
/// What is `None` was not kept, could not be read, or does not exist there; it is never zero.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ActorRecord {
    /// The role it played.
    pub role: String,
    /// Its number among the actors of that role, from 0.
    pub number: u32,
    /// Where it lived; `None` in trials that were kept before tenants were.
    pub tenant: Option<TenantKind>,
    /// Processor time of its thread as the system that it ran under counts it, in nanoseconds: a Linux guest counts
    /// for itself, and a micro-guest has no system that could.
    pub own_ns: Option<u64>,
    /// Processor time that this machine gave it, in nanoseconds: that of its thread, or of its guest's virtual
    /// processor.
    pub given_ns: Option<u64>,
    /// The stretch that these processor times are of, in nanoseconds: its run, from the beginning of its warm-up at
    /// the latest.
    pub span_ns: Option<u64>,
    /// The stretch in which it recorded, in nanoseconds.
    pub window_ns: Option<u64>,
    /// Operations that it recorded; of measured actors only.
    pub ops: Option<u64>,
    /// Mean of them, in ticks per operation; of measured actors only.
    pub mean_ticks: Option<f64>,
    /// Ticks between the beginning of the warm-up and the moment at which it began; 0 where it was in time.
    pub late_ticks: u64,
    /// Voluntary context switches of its thread.
    pub voluntary_switches: Option<u64>,
    /// Involuntary context switches of its thread.
    pub involuntary_switches: Option<u64>,
    /// Minor page faults of its thread.
    pub minor_faults: Option<u64>,
    /// Major page faults of its thread.
    pub major_faults: Option<u64>,
    /// Of which [class](crate::Role::classes) it is, where its role has any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// What it recorded, where it is of a class; else that of all actors together is kept alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<Spread>,
}

impl ActorRecord {
    /// Share of a processor that this machine gave it: 1 where it had one for itself all the time. The two clocks
    /// are read one after the other, so it may exceed 1 by a trifle.
    pub fn share(&self) -> Option<f64> {
        ratio(self.given_ns?, self.span_ns?)
    }

    /// Share of a processor that it had by its own reckoning.
    pub fn own_share(&self) -> Option<f64> {
        ratio(self.own_ns?, self.span_ns?)
    }

    /// Operations a second.
    pub fn rate(&self) -> Option<f64> {
        Some(ratio(self.ops?, self.window_ns?)? * 1e9)
    }
}

fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_is_not_zero() {
        let mut record = ActorRecord { given_ns: Some(30), ops: Some(5), ..ActorRecord::default() };
        assert_eq!((record.share(), record.own_share(), record.rate()), (None, None, None));
        (record.span_ns, record.window_ns) = (Some(40), Some(1000));
        assert_eq!((record.share(), record.own_share(), record.rate()), (Some(0.75), None, Some(5e6)));
        record.span_ns = Some(0);
        assert_eq!(record.share(), None);
    }
}
