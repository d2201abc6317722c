//! Estimates are scaled to what the kernel counts of a thread at all times: its reads and writes.
//!
//! A slice tells how many calls there are in a second of work, and beside it that can be another number: a writer that is counted
//! is slower, so that its reader sleeps more often, and then each write has to wake it. A bill of one with other calls as well had
//! 9 % too few of these in the median, while its reads and writes came out right. How one varies with the other from slice to slice
//! tells what more of the one means for the other: as many more in a loop that makes both, fewer in a program with phases of
//! each, and nothing where they have nothing to do with each other (the regression estimator: W. G. Cochran, Sampling Techniques,
//! 3rd edition, chapter 7, with its variance by residuals).

use std::collections::BTreeMap;

use super::table::{Figures, Key, Table};
use super::{Estimate, KNOWN_BEFORE, SLICE_ERROR, Standing};
use crate::counts::Counted;
use crate::numbers;

/// Reads and writes without which the kernel's own count of them scales nothing.
const MIN_KNOWN: f64 = 50.0;

/// Sums of products of the errors of gaps: of each count with that of reads and writes, and of that with itself.
#[derive(Clone, Default)]
pub(super) struct Together {
    with: BTreeMap<Counted, f64>,
    moved: f64,
    /// By how much reads and writes may be off in all gaps alike.
    common: f64,
}

impl Together {
    /// Adds a gap, in which this count may be off by `error`, and reads and writes by `of_moved`. With a slice on one side only nobody
    /// knows whether both are off alike: half of the product is between that and independence.
    pub(super) fn add(&mut self, of: Counted, error: f64, of_moved: f64, is_between_two: bool) {
        *self.with.entry(of).or_default() += error * of_moved * if is_between_two { 1.0 } else { 0.5 };
    }

    pub(super) fn add_moved(&mut self, error: f64, common: f64) {
        self.moved += error.powi(2);
        self.common += common;
    }
}

fn is_moved(key: &Key) -> bool {
    key.is_some_and(|(number, _)| numbers::is_accounted(number))
}

/// How many reads and writes there are among these.
pub(super) fn moved<'t>(table: impl IntoIterator<Item = (&'t Key, &'t Figures)>) -> f64 {
    table.into_iter().filter(|(key, _)| is_moved(key)).map(|(_, figures)| figures[0]).sum()
}

/// How often each kind of call is in a table.
fn kinds(table: &Table) -> BTreeMap<Counted, f64> {
    table.iter().fold(BTreeMap::new(), |mut kinds, (key, figures)| {
        if let Some(of) = kind(key) {
            *kinds.entry(of).or_default() += figures[0];
        }
        kinds
    })
}

fn is_with_them(of: &Counted) -> bool {
    matches!(of, Counted::Call(number, _) if numbers::is_accounted(*number))
}

fn kind(key: &Key) -> Option<Counted> {
    key.map(|(number, file)| Counted::Call(number, file.kind))
}

impl Estimate {
    /// Scales it to what the kernel counted.
    pub(super) fn scale_to(&mut self, one: &Standing<'_>) {
        let calls = one.thread.calls.iter().filter(|calls| numbers::is_accounted(calls.number));
        let counted: u64 = calls.map(|calls| calls.count).sum();
        let missing = one.moved.saturating_sub(counted) as f64 - moved(&self.numbered);
        let estimated = moved(&self.did);
        if missing < MIN_KNOWN || estimated < MIN_KNOWN {
            return;
        }
        let scale = missing / estimated;
        let mut scales = BTreeMap::new();
        for (of, count) in kinds(&self.did) {
            let scale = if is_with_them(&of) {
                self.know_sum(of, count / estimated);
                scale
            } else {
                self.regressed(of, count, estimated, scale)
            };
            scales.insert(of, scale);
        }
        for (key, figures) in &mut self.did {
            let scale = kind(key).and_then(|of| scales.get(&of).copied()).unwrap_or(1.0);
            figures.iter_mut().for_each(|figure| *figure *= scale);
        }
    }

    /// The sum of reads and writes is exact. Of a kind that is this `part` of them it is uncertain only which of them it was.
    fn know_sum(&mut self, of: Counted, part: f64) {
        let others = (1.0 - part).max(0.0);
        self.squares.entry(of).and_modify(|square| *square *= others * others);
        self.common.entry(of).and_modify(|error| *error *= others);
    }

    /// By what the estimate of this kind of calls is to be multiplied, where that of reads and writes is by `scale`: by how both vary
    /// together. What all gaps have in common, as what counting costs, makes both wrong alike.
    fn regressed(&mut self, of: Counted, count: f64, moved: f64, scale: f64) -> f64 {
        let Some(square) = self.squares.get(&of).copied() else { return 1.0 };
        let common = self.common.get(&of).copied().unwrap_or(0.0);
        let with = self.together.with.get(&of).copied().unwrap_or(0.0) + common * self.together.common;
        let square_of_moved = self.together.moved + self.together.common.powi(2);
        if square_of_moved <= 0.0 || count <= 0.0 {
            return 1.0;
        }
        let gaps = (self.gaps + KNOWN_BEFORE) as f64;
        let residual =
            (square + common.powi(2) - with.powi(2) / square_of_moved).max(0.0) * gaps / (gaps - 1.0);
        let more = (scale - 1.0) * moved;
        let found = (count + more * with / square_of_moved).max(0.0);
        let of_slope = more.powi(2) / (gaps * square_of_moved);
        self.squares.insert(of, residual * (1.0 + of_slope));
        self.common.insert(of, SLICE_ERROR * found);
        found / count
    }
}
