//! What is remarkable in a run: sentences made from its figures.
//!
//! Each rule is a function that looks at the figures and speaks or keeps silent: it keeps silent where a figure is
//! missing and where the intervals would allow the contrary. A ratio in a sentence has the widest interval that the
//! two figures allow, so that no sentence claims more than they do.

mod costs;
mod trust;
mod virtualisation;

use tollway_core::{Crossing, TenantKind, TollKey};

use crate::document::{PointDocument, RemarkDocument, RunDocument, Span};
use crate::number::ratio;

/// How many sentences are enough.
const ENOUGH: usize = 6;

/// A rule: its name, and the sentence if it has something to say.
type Rule = (&'static str, fn(&Facts<'_>) -> Option<String>);

/// Rules about what crossings cost, the most remarkable first.
const COSTS: [Rule; 10] = [
    ("sharing", costs::sharing),
    ("dearest-in-guests", virtualisation::dearest_in_guests),
    ("free-in-guests", virtualisation::free_in_guests),
    ("dearest", costs::dearest),
    ("wake-across-cores", costs::wake_across_cores),
    ("vm-exit", costs::vm_exit),
    ("io-uring-break-even", costs::io_uring_break_even),
    ("clock-without-kernel", costs::clock_without_kernel),
    ("cold-copy", costs::cold_copy),
    ("shared-entropy", costs::shared_entropy),
];

/// Rules about how far the figures can be trusted: these always get their word.
const TRUST: [Rule; 2] = [("predictions", trust::predictions), ("noise", trust::noise)];

/// The sentences of a run, at most six.
pub(crate) fn remarks(document: &RunDocument) -> Vec<RemarkDocument> {
    let facts = Facts { document };
    let say = |rules: &[Rule]| -> Vec<RemarkDocument> {
        rules
            .iter()
            .filter_map(|(rule, speak)| Some(RemarkDocument { rule: (*rule).into(), text: speak(&facts)? }))
            .collect()
    };
    let trust = say(&TRUST);
    let mut remarks = say(&COSTS);
    remarks.truncate(ENOUGH - trust.len());
    remarks.extend(trust);
    remarks
}

/// The figures that rules look at.
pub(crate) struct Facts<'a> {
    document: &'a RunDocument,
}

impl<'a> Facts<'a> {
    /// The tolls of this machine's processes that have a figure, in nanoseconds. Of a run with sides those of the first
    /// one: the others differ from the machine's usual state by intent.
    fn tolls(&self) -> impl Iterator<Item = (&'a TollKey, Span, &'a PointDocument)> {
        self.tolls_in(None)
    }

    /// The tolls of a kind of tenant.
    fn tolls_in(
        &self,
        tenant: Option<TenantKind>,
    ) -> impl Iterator<Item = (&'a TollKey, Span, &'a PointDocument)> {
        let side = self.document.run.sides.first();
        let points = self.document.points.iter().filter(move |p| p.side.as_ref() == side);
        let priced = points.filter_map(|p| Some((p.toll.as_ref()?, p.median?.ns, p)));
        priced.filter(move |(key, ..)| key.tenant == tenant)
    }

    /// The first toll of a crossing that fits.
    fn toll(&self, crossing: Crossing, fits: impl Fn(&TollKey) -> bool) -> Option<(&'a TollKey, Span)> {
        self.tolls().find(|(key, ..)| key.crossing == crossing && fits(key)).map(|(key, ns, _)| (key, ns))
    }

    /// The toll of a crossing that depends on nothing, or its first one.
    fn price(&self, crossing: Crossing) -> Option<Span> {
        self.toll(crossing, |_| true).map(|(_, ns)| ns)
    }

    /// That many nanoseconds in system calls, if a system call was measured: `39 system calls [38, 41]`.
    fn in_calls(&self, ns: Span) -> Option<String> {
        let calls = ns.over(self.price(Crossing::Getppid)?)?;
        let (estimate, interval) = ratio(&calls);
        Some(format!("{estimate} system calls {interval}"))
    }
}

/// A ratio in a sentence: `4.0 × [3.8, 4.2]`.
fn times(span: &Span) -> String {
    let (estimate, interval) = ratio(span);
    format!("{estimate} × {interval}")
}
