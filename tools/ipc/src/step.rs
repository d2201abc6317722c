//! From how many requests at a time on one way is cheaper than another: of what was measured, and of what was foretold.

use std::collections::BTreeMap;

use serde::Serialize;
use tollway_stats::{FirstBelow, Interval, first_below, paired_ratio};
use tollway_store::{PointId, Store};

/// Confidence of the ratios that a step is found by.
const CONFIDENCE: f64 = 0.95;

/// A step of a ladder, and the steps between which it may be; null where that is beyond the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct StepDocument {
    /// The first step at which the one is cheaper than the other, by the estimates.
    pub from: Option<u64>,
    /// The first at which it may be.
    pub earliest: Option<u64>,
    /// The first at which it certainly is.
    pub latest: Option<u64>,
}

impl StepDocument {
    fn of(found: FirstBelow, ladder: &[u64]) -> StepDocument {
        let at = |step: usize| ladder.get(step).copied();
        StepDocument { from: at(found.estimate), earliest: at(found.lo), latest: at(found.hi) }
    }

    /// The step of these ratios, one for each step of the ladder; `None` without one.
    pub fn found(ratios: &[Interval], ladder: &[u64]) -> Option<StepDocument> {
        (ratios.len() == ladder.len())
            .then(|| first_below(ratios).ok())
            .flatten()
            .map(|found| StepDocument::of(found, ladder))
    }

    /// In words: `from 4 [2, 8]`.
    pub fn words(&self, last: u64) -> String {
        let number = |step: Option<u64>| step.map_or(format!("> {last}"), |step| step.to_string());
        let between = format!("[{}, {}]", number(self.earliest), number(self.latest));
        match self.from {
            Some(step) => format!("from {step} {between}"),
            None => format!("nowhere up to {last} {between}"),
        }
    }

    /// Whether it lies within so many steps of the other; `None` where only a part of what it may be does.
    pub fn is_near(&self, other: &StepDocument, steps: usize, ladder: &[u64]) -> Option<bool> {
        let at = |step: Option<u64>| match step {
            Some(step) => ladder.iter().position(|of| *of == step).unwrap_or(ladder.len()),
            None => ladder.len(),
        };
        let (least, most) = (at(other.from).saturating_sub(steps), at(other.from) + steps);
        let (earliest, latest) = (at(self.earliest), at(self.latest));
        match () {
            () if least <= earliest && latest <= most => Some(true),
            () if latest < least || most < earliest => Some(false),
            () => None,
        }
    }
}

/// What a request of a point costs, block by block: the mean, less what something else took meanwhile, in ticks.
///
/// # Errors
/// If the store cannot be read.
pub fn cost_by_block(store: &Store, point: PointId) -> tollway_store::Result<BTreeMap<u32, f64>> {
    Ok(store.work_by_block(point)?.into_iter().map(|block| (block.block, block.ticks)).collect())
}

/// The ratio of two quantities, block by block.
pub fn ratio(of: &BTreeMap<u32, f64>, to: &BTreeMap<u32, f64>) -> Option<Interval> {
    let pairs: Vec<[(f64, f64); 1]> =
        of.iter().filter_map(|(block, of)| Some([(*to.get(block)?, *of)])).collect();
    paired_ratio(&pairs).and_then(|ratio| ratio.interval(CONFIDENCE)).ok()
}

/// The ratio of two predictions, each with its ends: between the ratios of the ends that are farthest from each other.
pub fn foretold_ratio(of: &Interval, to: &Interval) -> Option<Interval> {
    let ends = [of.estimate / to.estimate, of.lo / to.hi, of.hi / to.lo];
    Interval::new(ends[0], ends[1], ends[2], CONFIDENCE).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LADDER: [u64; 4] = [1, 2, 4, 8];

    fn exactly(value: f64) -> Interval {
        Interval { estimate: value, lo: 0.95 * value, hi: 1.05 * value, confidence: 0.95 }
    }

    fn step(ratios: [f64; 4]) -> StepDocument {
        StepDocument::found(&ratios.map(exactly), &LADDER).unwrap()
    }

    #[test]
    fn a_step_is_told_with_those_between_which_it_may_be() {
        let found = step([1.3, 1.02, 0.98, 0.5]);
        assert_eq!(found, StepDocument { from: Some(4), earliest: Some(2), latest: Some(8) });
        assert_eq!(found.words(8), "from 4 [2, 8]");
        let never = step([1.3, 1.2, 1.2, 1.02]);
        assert_eq!(never.words(8), "nowhere up to 8 [8, > 8]");
        assert_eq!(StepDocument::found(&[exactly(1.0)], &LADDER), None);
    }

    #[test]
    fn a_step_is_near_another_if_all_that_it_may_be_is() {
        let (two, four, eight) =
            (step([1.3, 0.9, 0.8, 0.5]), step([1.3, 1.2, 0.8, 0.5]), step([1.3, 1.2, 1.2, 0.5]));
        let never = step([1.3; 4]);
        assert_eq!(
            (two.is_near(&four, 1, &LADDER), two.is_near(&eight, 1, &LADDER)),
            (Some(true), Some(false))
        );
        assert_eq!(
            (never.is_near(&eight, 1, &LADDER), never.is_near(&four, 1, &LADDER)),
            (Some(true), Some(false))
        );
        // From 4, but it may be anything: that proves nothing of anybody's prediction.
        let wide = step([1.01, 1.01, 0.99, 0.99]);
        assert_eq!(wide, StepDocument { from: Some(4), earliest: Some(1), latest: None });
        for other in [two, four, eight, never] {
            assert_eq!(wide.is_near(&other, 1, &LADDER), None);
        }
    }

    #[test]
    fn ratios_pair_blocks_and_ends() {
        let of = BTreeMap::from([(0, 2.0), (1, 4.2), (2, 6.0)]);
        let to = BTreeMap::from([(0, 1.0), (1, 2.0), (3, 1.0)]);
        let found = ratio(&of, &to).unwrap();
        assert!((2.0..2.1).contains(&found.estimate), "{found:?}");
        assert_eq!(ratio(&of, &BTreeMap::new()), None);
        let foretold = foretold_ratio(&exactly(4.0), &exactly(2.0)).unwrap();
        assert!(foretold.lo < 1.82 && foretold.hi > 2.2 && foretold.estimate == 2.0);
    }
}
