//! What was timed by itself, in figures: a stage of a critical path, a class of tenants.

use std::collections::BTreeMap;

use tollway_core::Spread;

use crate::bill::interval;
use crate::document::Estimate;
use crate::number::time;

/// Samples that are to lie beyond a quantile for it to be had; of several blocks, each has it, and the interval says how sure it is.
const BEYOND: f64 = 1.0;

/// A quantile of what was timed, in ticks; the median of any sample, others where so many were timed that one lies beyond.
pub fn quantile(spread: &Spread, q: f64) -> Option<f64> {
    let enough = spread.samples() as f64 * (1.0 - q) >= BEYOND;
    spread.quantile(q).filter(|_| enough || q <= 0.5)
}

/// Figures with their intervals over blocks: none of one block only, of blocks of which one has nothing, or too few samples for a
/// quantile.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Figures {
    pub(crate) mean: Option<Estimate>,
    pub(crate) p50: Option<Estimate>,
    pub(crate) p99: Option<Estimate>,
    pub(crate) p999: Option<Estimate>,
}

/// The figures of what was timed in each block.
pub(crate) fn figures(blocks: &BTreeMap<u32, Spread>, hz: f64) -> Figures {
    let figure = |of: &dyn Fn(&Spread) -> Option<f64>| {
        let blocks: Option<Vec<f64>> = blocks.values().map(of).collect();
        interval(blocks?.into_iter()).map(|i| {
            let mut estimate = Estimate::of_ticks(&i, hz);
            // An interval of few blocks may reach below nothing; no time does.
            (estimate.ticks.lo, estimate.ns.lo) = (estimate.ticks.lo.max(0.0), estimate.ns.lo.max(0.0));
            estimate
        })
    };
    let at = |q: f64| figure(&move |spread| quantile(spread, q));
    Figures { mean: figure(&Spread::mean), p50: at(0.5), p99: at(0.99), p999: at(0.999) }
}

/// What the columns are called.
pub(crate) const HEADS: [&str; 4] = ["mean", "p50", "p99", "p99.9"];

/// The figures in words.
pub(crate) fn cells(figures: [Option<&Estimate>; 4]) -> [String; 4] {
    figures.map(|figure| figure.map_or("–".into(), |e| time(e.ns.estimate)))
}

#[cfg(test)]
mod tests {
    use tollway_core::Recorder;

    use super::*;

    fn timed(samples: u64) -> Figures {
        let spread = |level: u64| {
            let mut recorder = Recorder::new();
            (0..samples).for_each(|i| recorder.sample(level * (i + 1)));
            recorder.spread()
        };
        figures(&BTreeMap::from([(0, spread(10)), (1, spread(10))]), 1e9)
    }

    #[test]
    fn quantiles_are_those_of_blocks_that_have_them() {
        let a = timed(900);
        assert!((a.mean.unwrap().ns.estimate - 4505.0).abs() < 1.0);
        assert!((a.p99.unwrap().ns.estimate - 8910.0).abs() < 10.0);
        assert!(a.p999.is_none() && timed(4000).p999.is_some());
        let few = timed(50);
        let cells = cells([few.mean, few.p50, few.p99, few.p999].each_ref().map(Option::as_ref));
        assert_eq!(cells[1..], ["250 ns", "–", "–"]);
        assert!(timed(0).mean.is_none() && figures(&BTreeMap::new(), 1e9).mean.is_none());
    }
}
