//! Threads that live so shortly that they are in no slice: each did what one of its name does that is in a slice from its beginning to its end.
//!
//! By the work of slices, as others are estimated, a program that begins a thread for each piece of work had a sixth too few of their
//! calls: a life of some microseconds is mostly what counting takes of it, and how much that is is known to a tenth.

use std::collections::BTreeMap;

use super::table::{FAULTS, FAULTS_BY_KIND, Table, add, counted, figures};
use super::{Estimate, MIN_WORK, SLICE_ERROR, Slice, Standing, T_MANY, TELLING, WHOLE};
use crate::counts::Counted;

/// Lives of threads of a name that were seen as a whole.
#[derive(Clone, Default)]
pub(super) struct Lives {
    many: f64,
    did: Table,
    /// Sums of squares of each count.
    squares: BTreeMap<Counted, f64>,
    work: f64,
}

impl Lives {
    pub(super) fn add(&mut self, life: &Slice) {
        self.many += 1.0;
        self.work += life.work;
        add(&mut self.did, &life.did, 1.0);
        for (of, count) in counts(&life.did) {
            *self.squares.entry(of).or_default() += count.powi(2);
        }
    }

    /// Whether enough are known, of threads too short for their work to tell.
    pub(super) fn tell(&self) -> bool {
        self.are_known() && self.work < MIN_WORK * self.many
    }

    fn are_known(&self) -> bool {
        self.many >= TELLING
    }
}

impl Estimate {
    /// Which page faults were in user mode is counted in slices alone, how many there were at all times: of a life that has ended they are as large a part as
    /// of those that were seen as a whole. `seen` is what was counted of it.
    pub(super) fn scale_faults(&mut self, one: &Standing<'_>, seen: &Table, lives: &Lives) {
        let of = |table: &Table| table.get(&None).copied().unwrap_or_default();
        let (whole, own, seen) = (of(&lives.did), of(&figures(one.thread)), of(seen));
        if !lives.are_known() || whole[FAULTS] <= 0.0 || one.counted >= WHOLE * one.ran {
            return;
        }
        for which in FAULTS_BY_KIND {
            let all = own[FAULTS] * whole[which] / whole[FAULTS];
            self.numbered.entry(None).or_default()[which] = 0.0;
            self.did.entry(None).or_default()[which] = (all - seen[which]).max(0.0);
        }
    }

    /// Adds a life such as these.
    pub(super) fn add_life(&mut self, lives: &Lives) {
        add(&mut self.did, &lives.did, 1.0 / lives.many);
        for (of, sum) in counts(&lives.did) {
            let mean = sum / lives.many;
            let squares = lives.squares.get(&of).copied().unwrap_or(0.0);
            let variance = (squares / lives.many - mean.powi(2)).max(0.0) * lives.many / (lives.many - 1.0);
            *self.squares.entry(of).or_default() += variance;
            // All that are not seen have these errors in common.
            let common = T_MANY * (variance / lives.many).sqrt() + SLICE_ERROR * mean;
            *self.common.entry(of).or_default() += common;
        }
    }
}

/// How often there is each kind of what is counted.
fn counts(did: &Table) -> BTreeMap<Counted, f64> {
    did.iter().flat_map(|(key, figures)| counted(key, figures)).fold(
        BTreeMap::new(),
        |mut all, (of, count)| {
            *all.entry(of).or_default() += count;
            all
        },
    )
}
