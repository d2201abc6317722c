//! Which point of A is which point of B.

use std::collections::BTreeMap;

use tollway_store::PointRecord;

/// The points of two sides, matched.
pub(super) struct Matched<'a> {
    /// Points that both have, in the order of A.
    pub(super) both: Vec<(&'a PointRecord, &'a PointRecord)>,
    /// Points that only A has.
    pub(super) only_a: Vec<&'a PointRecord>,
    /// Points that only B has.
    pub(super) only_b: Vec<&'a PointRecord>,
}

/// Matches the points of two sides of one run: the laboratory writes each point down on all sides before the next, so that the n-th
/// of one side is the n-th of the other, also where the sides differ in the value of an axis.
pub(super) fn by_turns<'a>(a: &'a [PointRecord], b: &'a [PointRecord]) -> Matched<'a> {
    let what = |record: &PointRecord| (record.point.spec.path.clone(), record.point.spec.variant.clone());
    let (both, rest): (Vec<_>, Vec<_>) = a.iter().zip(b).partition(|(a, b)| what(a) == what(b));
    let (mut only_a, mut only_b): (Vec<_>, Vec<_>) = rest.into_iter().unzip();
    only_a.extend(a.iter().skip(b.len()));
    only_b.extend(b.iter().skip(a.len()));
    Matched { both, only_a, only_b }
}

/// Matches points that measure the same: path, variant, parameters and toll and side.
pub(super) fn by_identity<'a>(a: &'a [PointRecord], b: &'a [PointRecord]) -> Matched<'a> {
    let identity = |record: &PointRecord| {
        let p = &record.point.spec;
        // Debug tells a word from a number: `size=64` and `size="64"` are not one point.
        let toll = p.toll.as_ref().map(ToString::to_string);
        (p.path.clone(), p.variant.clone(), format!("{:?}", p.params), toll, p.side.clone())
    };
    let mut left: BTreeMap<_, &PointRecord> = BTreeMap::new();
    for point in b {
        left.entry(identity(point)).or_insert(point);
    }
    let mut matched = Matched { both: Vec::new(), only_a: Vec::new(), only_b: Vec::new() };
    for point in a {
        match left.remove(&identity(point)) {
            Some(same) => matched.both.push((point, same)),
            None => matched.only_a.push(point),
        }
    }
    matched.only_b = left.into_values().collect();
    matched.only_b.sort_by_key(|p| p.point.id);
    matched
}
