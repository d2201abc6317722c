//! Observations and tolls that tests make up.

use tollway_core::{Toll, TollKey};
use tollway_watch::Counts;

use crate::names::Names;
use crate::observed::Observed;

/// A program of which this was counted, and nothing else is known.
pub(crate) fn observed(counts: Counts) -> Observed {
    Observed {
        title: "made up".into(),
        counts,
        by: "nobody",
        unseen: Vec::new(),
        disturbs: false,
        cost: None,
        steal: None,
        there_and_back: None,
        ended: None,
        names: Names::default(),
    }
}

/// A toll of `ns` nanoseconds, with an interval of this part of it to each side.
pub(crate) fn toll(key: &TollKey, ns: f64, part: f64) -> Toll {
    let (lo, hi) = ((1.0 - part) * ns, (1.0 + part) * ns);
    Toll { key: key.clone(), median: ns, lo, hi, work: ns, work_lo: lo, work_hi: hi, hz: 1e9, run: 1 }
}
