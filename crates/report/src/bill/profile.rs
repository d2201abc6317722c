//! What a sampling profiler saw while a path ran whole, beside what its gates cost when each is measured on its own.

use tollway_core::{Axis, Tally};
use tollway_store::BlockWork;

use super::{Billed, interval, words};
use crate::document::{GateDocument, PartDocument, ProfileDocument, Span};

/// The parts in the order of the gates; `None` where nobody sampled.
pub(super) fn of(work: &[BlockWork], gates: &[GateDocument]) -> Option<ProfileDocument> {
    let samples = work.iter().flat_map(|block| block.samples.values()).sum();
    if samples == 0 {
        return None;
    }
    let names = work.iter().flat_map(|block| block.samples.keys());
    let mut names: Vec<&String> = names.collect();
    names.sort();
    names.dedup();
    let mut parts: Vec<PartDocument> = names.into_iter().filter_map(|name| part(name, work, gates)).collect();
    let place = |part: &PartDocument| {
        let first = part.gates.first();
        first.and_then(|first| gates.iter().position(|g| g.name == *first)).unwrap_or(gates.len())
    };
    parts.sort_by_key(place);
    Some(ProfileDocument { samples, parts })
}

fn part(name: &str, work: &[BlockWork], gates: &[GateDocument]) -> Option<PartDocument> {
    let of_block = |block: &BlockWork| {
        let all: u64 = block.samples.values().sum();
        let own = block.samples.get(name).copied().unwrap_or_default();
        (all > 0).then(|| own as f64 / all as f64)
    };
    let share = interval(work.iter().filter_map(of_block))?;
    let own: Vec<String> = match name {
        "" => Vec::new(),
        some => some.split(Tally::AND).map(String::from).collect(),
    };
    Some(PartDocument {
        samples: work.iter().filter_map(|b| b.samples.get(name)).sum(),
        share: Span { estimate: share.estimate, lo: share.lo.max(0.0), hi: share.hi.min(1.0) },
        billed: billed(&own, gates),
        gates: own,
    })
}

/// The share that gates of these names have in a bill.
fn billed(names: &[String], gates: &[GateDocument]) -> Option<f64> {
    let shares = names.iter().map(|name| gates.iter().find(|g| g.name == *name)?.share);
    shares.collect::<Option<Vec<f64>>>().filter(|b| !b.is_empty()).map(|b| b.iter().sum())
}

/// Bills of points that somebody looked at go, where there is the same point that nobody looked at; it gets their profile.
pub(super) fn beside_what_nobody_looked_at(bills: Vec<Billed<'_>>) -> Vec<Billed<'_>> {
    let (looked_at, mut kept): (Vec<_>, Vec<_>) =
        bills.into_iter().partition(|b| b.document.profile.is_some());
    for bill in looked_at {
        let spec = &bill.point.spec;
        let params = spec.params.clone().without(Axis::PROFILE);
        let same = kept.iter_mut().find(|other| {
            let other = &other.point.spec;
            other.path == spec.path
                && other.variant == spec.variant
                && other.params.clone().without(Axis::PROFILE) == params
        });
        match same {
            Some(other) => {
                let mut profile = bill.document.profile;
                for part in profile.iter_mut().flat_map(|p| &mut p.parts) {
                    part.billed = billed(&part.gates, &other.document.gates);
                }
                other.document.profile = profile;
            }
            None => kept.push(bill),
        }
    }
    kept.sort_by_key(|bill| bill.document.point);
    kept
}

/// A part's name for people.
pub(crate) fn title(part: &PartDocument) -> String {
    match part.gates.is_empty() {
        true => "at no gate".into(),
        false => part.gates.join(Tally::AND),
    }
}

/// A share and its interval, in per cent: `22 %`, `[21, 23]`.
pub(crate) fn share(share: &Span) -> (String, String) {
    (crate::number::percent(share.estimate), words::ends(&share.times(100.0)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn gate(name: &str, share: f64) -> GateDocument {
        GateDocument { name: name.into(), share: Some(share), ..GateDocument::default() }
    }

    #[test]
    fn parts_come_in_the_order_of_the_gates_with_what_the_bill_says_of_them() {
        let block = |n: u64| BlockWork {
            samples: BTreeMap::from([
                (String::new(), 10),
                ("read + copy".into(), 30 + n),
                ("filter".into(), 60 - n),
            ]),
            ..BlockWork::default()
        };
        let gates = [gate("filter", 0.5), gate("read", 0.1), gate("copy", 0.25)];
        let profile = of(&[block(0), block(2)], &gates).unwrap();
        assert_eq!(profile.samples, 200);
        let titles: Vec<String> = profile.parts.iter().map(title).collect();
        assert_eq!(titles, ["filter", "read + copy", "at no gate"]);
        assert_eq!(profile.parts[1].billed, Some(0.35));
        assert_eq!((profile.parts[0].samples, profile.parts[2].billed), (118, None));
        assert!((profile.parts[0].share.estimate - 0.59).abs() < 1e-12);
        assert_eq!(of(&[BlockWork::default()], &gates), None);
    }
}
