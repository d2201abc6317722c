//! The ledger of latency: how long what passed was on its way, stage by stage of its critical path.

use tollway_core::Spread;
use tollway_store::StageSpreads;

use super::interval;
use crate::document::{Estimate, LatencyDocument, StageDocument};
use crate::number::time;

/// Samples of a block that are to lie beyond a quantile for the block to have it; the interval over blocks says how sure it is.
const BEYOND: f64 = 1.0;

/// The stages with their figures; `None` where nothing was timed, or in one block only.
pub(super) fn of(stages: &[StageSpreads], hz: f64) -> Option<LatencyDocument> {
    let documents: Vec<StageDocument> = stages.iter().filter_map(|stage| document(stage, hz)).collect();
    let timed = stages.last()?.blocks.values().map(Spread::samples).sum();
    (!documents.is_empty()).then_some(LatencyDocument { timed, stages: documents })
}

fn document(stage: &StageSpreads, hz: f64) -> Option<StageDocument> {
    let figure = |of: &dyn Fn(&Spread) -> Option<f64>| {
        let blocks: Option<Vec<f64>> = stage.blocks.values().map(of).collect();
        interval(blocks?.into_iter()).map(|i| {
            let mut estimate = Estimate::of_ticks(&i, hz);
            // An interval of few blocks may reach below nothing; no time does.
            (estimate.ticks.lo, estimate.ns.lo) = (estimate.ticks.lo.max(0.0), estimate.ns.lo.max(0.0));
            estimate
        })
    };
    let quantile = |q: f64| {
        figure(&move |spread| {
            let enough = spread.samples() as f64 * (1.0 - q) >= BEYOND;
            spread.quantile(q).filter(|_| enough || q <= 0.5)
        })
    };
    Some(StageDocument {
        name: stage.name.clone(),
        mean: figure(&Spread::mean)?,
        p50: quantile(0.5)?,
        p99: quantile(0.99),
        p999: quantile(0.999),
    })
}

/// What the columns are called.
pub(crate) const HEADS: [&str; 4] = ["mean", "p50", "p99", "p99.9"];

/// What a reader must know.
pub(crate) const LEGEND: &str = "Means of stages add up to the whole; quantiles do not.";

/// A stage's figures in words.
pub(crate) fn cells(stage: &StageDocument) -> [String; 4] {
    let say = |estimate: Option<&Estimate>| estimate.map_or("–".into(), |e| time(e.ns.estimate));
    [say(Some(&stage.mean)), say(Some(&stage.p50)), say(stage.p99.as_ref()), say(stage.p999.as_ref())]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use tollway_core::Recorder;

    use super::*;

    fn stage(samples: u64) -> StageSpreads {
        let spread = |level: u64| {
            let mut recorder = Recorder::new();
            (0..samples).for_each(|i| recorder.sample(level * (i + 1)));
            recorder.spread()
        };
        StageSpreads { name: "a".into(), blocks: BTreeMap::from([(0, spread(10)), (1, spread(10))]) }
    }

    #[test]
    fn quantiles_are_those_of_blocks_that_have_them() {
        let ledger = of(&[stage(900)], 1e9).unwrap();
        assert_eq!(ledger.timed, 1800);
        let a = &ledger.stages[0];
        assert!((a.mean.ns.estimate - 4505.0).abs() < 1.0);
        assert!((a.p99.unwrap().ns.estimate - 8910.0).abs() < 10.0);
        assert_eq!((a.p999.is_some(), cells(a)[3].as_str()), (false, "–"));
        assert!(of(&[stage(4000)], 1e9).unwrap().stages[0].p999.is_some());
        let few = of(&[stage(50)], 1e9).unwrap();
        assert_eq!(cells(&few.stages[0])[1..], ["250 ns", "–", "–"]);
        assert_eq!(of(&[], 1e9), None);
    }
}
