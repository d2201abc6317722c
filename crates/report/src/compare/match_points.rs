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

/// Matches points that measure the same: path, variant, parameters and toll, and the side where that counts.
pub(super) fn by_identity<'a>(a: &'a [PointRecord], b: &'a [PointRecord], with_side: bool) -> Matched<'a> {
    let identity = |record: &PointRecord| {
        let p = &record.point.spec;
        // Debug tells a word from a number: `size=64` and `size="64"` are not one point.
        let toll = p.toll.as_ref().map(ToString::to_string);
        (
            p.path.clone(),
            p.variant.clone(),
            format!("{:?}", p.params),
            toll,
            p.side.clone().filter(|_| with_side),
        )
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
