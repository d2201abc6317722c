//! What ends counted: how they waited, whom they woke, and how often their processes were taken off their processors.

use tollway_channel::linux::{Counts, plain};
use tollway_channel::wait::Waits;
use tollway_core::Tally;
use tollway_host::samplers::usage::{Usage, delta};

/// Gates whose visits are counted. A visit is a round trip of the exchange that is their toll, which both ends have a half of.
pub(super) const YIELDING: &str = "two switches by giving way";
pub(super) const SLEEPING: &str = "two sleeps and wake-ups";

/// Those of who gave its core away and kept it, or not.
pub(super) const CALLING: &str = "giving way";

/// How often an end woke the other; both ends together.
pub(super) const NOTICES: &str = "notices";

/// The counts of an end of rings, of the client's or the server's role.
pub(super) fn of_ring(tally: Tally, whose: &str, counts: &Counts) -> Tally {
    let tally = tally
        .visited(YIELDING, counts.waits.giving_way / 2)
        .visited(CALLING, counts.waits.giving_way)
        .visited(SLEEPING, counts.waits.asleep / 2)
        .counter(NOTICES, counts.notices)
        .counter(format!("{whose}_notices"), counts.notices);
    waits(tally, whose, &counts.waits)
}

/// How waits ended.
pub(super) fn waits(tally: Tally, whose: &str, waits: &Waits) -> Tally {
    tally
        .counter(format!("{whose}_waits_looking"), waits.looking)
        .counter(format!("{whose}_waits_giving_way"), waits.giving_way)
        .counter(format!("{whose}_waits_at_last"), waits.at_last)
        .counter(format!("{whose}_waits_asleep"), waits.asleep)
}

/// The counts of an end of synchronous channels, of the client's or the server's role.
pub(super) fn of_plain(tally: Tally, whose: &str, counts: &plain::Counts) -> Tally {
    tally
        .visited(YIELDING, counts.yields / 2)
        .visited(CALLING, counts.yields)
        .visited(SLEEPING, counts.sleeps / 2)
        .counter(NOTICES, counts.notices)
        .counter(format!("{whose}_notices"), counts.notices)
        .counter(format!("{whose}_yields"), counts.yields)
        .counter(format!("{whose}_sleeps"), counts.sleeps)
}

/// What a process used before that.
pub(super) struct Before(Option<Usage>);

/// What a process used meanwhile, all threads together; unknown where the kernel does not tell.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Used(Option<Usage>);

impl Before {
    pub(super) fn now() -> Before {
        Before(Usage::process().ok())
    }

    pub(super) fn since(self) -> Used {
        let known = |before: Usage| {
            let delta = delta(&before, &Usage::process().ok()?);
            Some(Usage {
                user: delta.user?,
                system: delta.system?,
                minor_faults: delta.minor_faults?,
                major_faults: delta.major_faults?,
                voluntary: delta.voluntary?,
                involuntary: delta.involuntary?,
            })
        };
        Used(self.0.and_then(known))
    }
}

impl Used {
    /// With these, if they are known.
    pub(super) fn counted(self, tally: Tally, whose: &str) -> Tally {
        let Some(used) = self.0 else { return tally };
        tally
            .counter(format!("{whose}_switches_waiting"), used.voluntary)
            .counter(format!("{whose}_switches_displaced"), used.involuntary)
            .counter(format!("{whose}_processor_ns"), (used.user + used.system).as_nanos() as u64)
    }
}
