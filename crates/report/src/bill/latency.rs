//! The ledger of latency: how long what passed was on its way, stage by stage of its critical path.

use tollway_core::Spread;
use tollway_store::StageSpreads;

use crate::document::{LatencyDocument, StageDocument};
use crate::timed;

/// The stages with their figures; `None` where nothing was timed, or in one block only.
pub(super) fn of(stages: &[StageSpreads], hz: f64) -> Option<LatencyDocument> {
    let documents: Vec<StageDocument> = stages.iter().filter_map(|stage| document(stage, hz)).collect();
    let timed = stages.last()?.blocks.values().map(Spread::samples).sum();
    (!documents.is_empty()).then_some(LatencyDocument { timed, stages: documents })
}

fn document(stage: &StageSpreads, hz: f64) -> Option<StageDocument> {
    let figures = timed::figures(&stage.blocks, hz);
    Some(StageDocument {
        name: stage.name.clone(),
        mean: figures.mean?,
        p50: figures.p50?,
        p99: figures.p99,
        p999: figures.p999,
    })
}

/// What a reader must know.
pub(crate) const LEGEND: &str = "Means of stages add up to the whole; quantiles do not.";

/// A stage's figures in words.
pub(crate) fn cells(stage: &StageDocument) -> [String; 4] {
    timed::cells([Some(&stage.mean), Some(&stage.p50), stage.p99.as_ref(), stage.p999.as_ref()])
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use tollway_core::Recorder;

    use super::*;

    #[test]
    fn all_that_was_timed_of_the_whole_is_counted() {
        let mut recorder = Recorder::new();
        (0..900).for_each(|i| recorder.sample(i));
        let blocks = BTreeMap::from([(0, recorder.spread()), (1, recorder.spread())]);
        let ledger = of(&[StageSpreads { name: "a".into(), blocks }], 1e9).unwrap();
        assert_eq!((ledger.timed, ledger.stages.len()), (1800, 1));
        assert_eq!(of(&[], 1e9), None);
    }
}
