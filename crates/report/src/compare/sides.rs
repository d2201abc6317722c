//! The ratio of one figure: from pairs of trials side by side, or from the blocks of two runs. Of points that yield something by the
//! second it is the ratio of their rates, of others that of their medians.

use tollway_stats::summary::median;
use tollway_stats::{Ratio, StatsError, paired_ratio, unpaired_ratio};
use tollway_store::{PointRecord, PointState, Trial, by_block, pairs_of};

use crate::document::Range;

/// What became of one figure.
pub(crate) struct Outcome {
    /// The ratio, or why there is none.
    pub(crate) ratio: Result<Ratio, String>,
    /// Trials of A and of B that entered.
    pub(crate) trials: [u32; 2],
    /// B over A of the pairs of each block, its median: the least block's, the middle one's, the greatest
    /// one's. `None` of two runs.
    pub(crate) pairs: Option<Range>,
}

/// Whether a point has trials that may be used; if not, why.
pub(super) fn usable(record: &PointRecord) -> Result<(), String> {
    match &record.point.state {
        PointState::Skipped(missing) => Err(format!("skipped: {missing}")),
        PointState::Failed(error) => Err(format!("failed: {error}")),
        PointState::Pending | PointState::Done if record.measured.is_empty() => Err("not measured".into()),
        PointState::Pending | PointState::Done => Ok(()),
    }
}

/// Whether two points are compared by their rates.
pub(crate) fn by_rate(a: &PointRecord, b: &PointRecord) -> bool {
    let has =
        |p: &PointRecord| !p.point.spec.yields.is_empty() && p.measured.iter().all(|t| t.rate().is_some());
    has(a) && has(b)
}

/// The number of a trial that enters a ratio.
fn number(trial: &Trial, by_rate: bool) -> f64 {
    trial.rate().filter(|_| by_rate).unwrap_or(trial.median)
}

fn both_usable(a: &PointRecord, b: &PointRecord) -> Result<(), String> {
    match (usable(a), usable(b)) {
        (Ok(()), Ok(())) => Ok(()),
        (Err(a), Err(b)) if a == b => Err(a),
        (Err(a), Ok(())) => Err(format!("A {a}")),
        (Ok(()), Err(b)) => Err(format!("B {b}")),
        (Err(a), Err(b)) => Err(format!("A {a}; B {b}")),
    }
}

/// B over A from trials that ran side by side in one run.
pub(crate) fn paired(a: &PointRecord, b: &PointRecord) -> Outcome {
    if let Err(why) = both_usable(a, b) {
        return Outcome { ratio: Err(why), trials: [0; 2], pairs: None };
    }
    let by_rate = by_rate(a, b);
    let blocks: Vec<Vec<(f64, f64)>> = pairs_of(&a.measured, &b.measured)
        .into_iter()
        .map(|pairs| pairs.into_iter().map(|(a, b)| (number(a, by_rate), number(b, by_rate))).collect())
        .collect();
    let pairs = count(blocks.iter().map(Vec::len).sum());
    let of_block = |pairs: &Vec<(f64, f64)>| {
        median(&pairs.iter().map(|(a, b)| b / a).collect::<Vec<_>>()).ok().filter(|ratio| ratio.is_finite())
    };
    let of_blocks: Vec<f64> = blocks.iter().filter_map(of_block).collect();
    Outcome {
        ratio: paired_ratio(&blocks).map_err(|e| too_few(&e)),
        trials: [pairs; 2],
        pairs: Range::of(&of_blocks),
    }
}

/// B over A from two runs, each with a clock of its own.
pub(super) fn unpaired(a: &PointRecord, b: &PointRecord, hz: [f64; 2]) -> Outcome {
    if let Err(why) = both_usable(a, b) {
        return Outcome { ratio: Err(why), trials: [0; 2], pairs: None };
    }
    let by_rate = by_rate(a, b);
    let of = |trial: &Trial, hz: f64| if by_rate { number(trial, true) } else { trial.median / hz };
    let seconds = |record: &PointRecord, hz: f64| -> Vec<Vec<f64>> {
        by_block(&record.measured)
            .into_values()
            .map(|trials| trials.iter().map(|t| of(t, hz)).collect())
            .collect()
    };
    let trials = [count(a.measured.len()), count(b.measured.len())];
    let ratio = unpaired_ratio(&seconds(a, hz[0]), &seconds(b, hz[1]));
    Outcome { ratio: ratio.map_err(|e| too_few(&e)), trials, pairs: None }
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

fn too_few(error: &StatsError) -> String {
    match error {
        StatsError::TooFew { needed, got, .. } => {
            format!("it takes {needed} blocks of fresh processes on each side, there is {got}: measure more")
        }
        other => other.to_string(),
    }
}
