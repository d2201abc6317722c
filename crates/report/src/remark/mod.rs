//! What is remarkable in a run: sentences made from its figures.
//!
//! Each rule is a function that looks at the figures and speaks or keeps silent: it keeps silent where a figure is
//! missing, where one is so uncertain that a ratio of it is of no use, and where the intervals would allow the contrary.
//! A ratio in a sentence has the widest interval that the two figures allow, so that no sentence claims more than they do.
//!
//! Ratios of different kinds cannot be compared, so within a path the order is ours: what most readers can act on comes
//! first. Every path has its first word before any has its second; who speaks first of them is whose ratio is greatest, by
//! the cautious end of its interval.

mod costs;
mod crypto;
mod generators;
mod messages;
mod packets;
mod parts;
mod trust;
mod virtualisation;

use tollway_core::{Crossing, TenantKind, TollKey};

use crate::document::{PointDocument, RemarkDocument, RunDocument, Span};
use crate::number::ratio;

/// How many sentences are enough.
const ENOUGH: usize = 8;

/// Times the lower end of an interval, from which on its upper end says that the figure is of no use in a sentence.
const NO_USE: f64 = 2.0;

/// A sentence.
pub(crate) struct Said {
    text: String,
    /// The ratio that it is about, by the cautious end of its interval: 1 where it says that nothing differs.
    effect: f64,
}

impl Said {
    fn new(text: String, effect: f64) -> Said {
        Said { text, effect: effect.max(1.0) }
    }
}

/// A rule: its name, and the sentence if it has something to say.
type Rule = (&'static str, fn(&Facts<'_>) -> Option<Said>);

/// Rules by what they are about: the paths, each with what most readers can act on first.
const COSTS: [&[Rule]; 6] = [
    &[
        ("wake-across-cores", costs::wake_across_cores),
        ("dearest-in-guests", virtualisation::dearest_in_guests),
        ("dearest", costs::dearest),
        ("free-in-guests", virtualisation::free_in_guests),
        ("vm-exit", costs::vm_exit),
        ("io-uring-break-even", costs::io_uring_break_even),
        ("clock-without-kernel", costs::clock_without_kernel),
        ("cold-copy", costs::cold_copy),
    ],
    &[("async-pays", messages::async_pays), ("stack", messages::stack)],
    &[("packet", packets::packet)],
    &[("told-or-looking", crypto::told_or_looking)],
    &[
        ("sharing", costs::sharing),
        ("shared-generator", generators::shared),
        ("shared-entropy", costs::shared_entropy),
    ],
    &[
        ("durable", parts::durable),
        ("block-size", parts::block_size),
        ("network-and-memory", parts::network_and_memory),
        ("service", parts::service),
        ("threads", parts::threads),
    ],
];

/// Rules about how far the figures can be trusted: these always get their word.
const TRUST: [Rule; 2] = [("predictions", trust::predictions), ("noise", trust::noise)];

/// The sentences of a run, at most eight.
pub(crate) fn remarks(document: &RunDocument) -> Vec<RemarkDocument> {
    let facts = Facts { document };
    let say = |rules: &[Rule]| -> Vec<(&'static str, Said)> {
        rules.iter().filter_map(|(rule, speak)| Some((*rule, speak(&facts)?))).collect()
    };
    let trust = say(&TRUST);
    let mut remarks = in_turns(COSTS.iter().map(|rules| say(rules)).collect());
    remarks.truncate(ENOUGH - trust.len());
    let all = remarks.into_iter().chain(trust);
    all.map(|(rule, said)| RemarkDocument { rule: rule.into(), text: said.text }).collect()
}

/// The first word of each, the greatest effect first, then the second of each, and so on.
fn in_turns<T>(each: Vec<Vec<(T, Said)>>) -> Vec<(T, Said)> {
    let mut placed: Vec<(usize, (T, Said))> =
        each.into_iter().flat_map(|said| said.into_iter().enumerate()).collect();
    placed.sort_by(|(turn, (_, a)), (other, (_, b))| turn.cmp(other).then(b.effect.total_cmp(&a.effect)));
    placed.into_iter().map(|(_, said)| said).collect()
}

/// The figures that rules look at.
pub(crate) struct Facts<'a> {
    document: &'a RunDocument,
}

impl<'a> Facts<'a> {
    /// The points of this machine. Of a run with sides those of the first one: the others differ from the machine's usual
    /// state by intent.
    fn points(&self) -> impl Iterator<Item = &'a PointDocument> {
        let side = self.document.run.sides.first();
        self.document.points.iter().filter(move |p| p.side.as_ref() == side)
    }

    /// The first point of a variant that has these values on its axes.
    fn point(&self, path: &str, variant: &str, at: &[(&str, &str)]) -> Option<&'a PointDocument> {
        let fits = |p: &&PointDocument| {
            let has =
                |(axis, value): &(&str, &str)| p.params.get(*axis).is_some_and(|v| v.to_string() == *value);
            p.path == path && p.variant == variant && at.iter().all(has)
        };
        self.points().find(fits)
    }

    /// The points that differ from this one in the value of an axis and in nothing else.
    fn beside(&self, point: &'a PointDocument, axis: &'a str) -> impl Iterator<Item = &'a PointDocument> {
        let others = move |p: &'a PointDocument| p.params.iter().filter(move |(name, _)| *name != axis);
        self.points().filter(move |p| {
            let alike = p.path == point.path && p.variant == point.variant && others(p).eq(others(point));
            alike && p.params.get(axis) != point.params.get(axis)
        })
    }

    /// What its operation takes, in nanoseconds; `None` where that is of no use.
    fn takes(&self, path: &str, variant: &str, at: &[(&str, &str)]) -> Option<Span> {
        sure(self.point(path, variant, at)?.median?.ns)
    }

    /// The tolls of this machine's processes that have a figure, in nanoseconds.
    fn tolls(&self) -> impl Iterator<Item = (&'a TollKey, Span, &'a PointDocument)> {
        self.tolls_in(None)
    }

    /// The tolls of a kind of tenant.
    fn tolls_in(
        &self,
        tenant: Option<TenantKind>,
    ) -> impl Iterator<Item = (&'a TollKey, Span, &'a PointDocument)> {
        let priced = self.points().filter_map(|p| Some((p.toll.as_ref()?, p.median?.ns, p)));
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

    /// That many nanoseconds in system calls, if a system call was measured: `39 system calls [38, 41]`, and how many at least.
    fn in_calls(&self, ns: Span) -> Option<(String, f64)> {
        let calls = sure(ns.over(self.price(Crossing::Getppid)?)?)?;
        let (estimate, interval) = ratio(&calls);
        Some((format!("{estimate} system calls {interval}"), calls.lo))
    }
}

/// A figure, where it is of use in a sentence.
fn sure(span: Span) -> Option<Span> {
    (span.lo > 0.0 && span.hi < NO_USE * span.lo).then_some(span)
}

/// A ratio in a sentence: `4.0 × [3.8, 4.2]`.
fn times(span: &Span) -> String {
    let (estimate, interval) = ratio(span);
    format!("{estimate} × {interval}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_has_its_first_word_before_any_has_its_second() {
        let said = |effects: &[f64]| -> Vec<(f64, Said)> {
            effects.iter().map(|effect| (*effect, Said::new(String::new(), *effect))).collect()
        };
        let order: Vec<f64> = in_turns(vec![said(&[2.0, 50.0]), said(&[]), said(&[9.0, 3.0, 70.0])])
            .into_iter()
            .map(|(effect, _)| effect)
            .collect();
        assert_eq!(order, [9.0, 2.0, 50.0, 3.0, 70.0]);
    }

    #[test]
    fn what_reaches_to_twice_itself_is_of_no_use() {
        let span = |lo, hi| Span { estimate: lo, lo, hi };
        assert!(sure(span(1.0, 1.9)).is_some());
        assert!(sure(span(1.0, 2.0)).is_none() && sure(span(0.0, 0.0)).is_none());
    }
}
