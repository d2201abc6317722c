//! What the path foretells of every way, from tolls.

use tollway_core::{Crossing, Forecast, Params, Placement, Registry, TollKey, TollSource};
use tollway_stats::Interval;

use super::asked::{Asked, Way};
use super::nothing;
use crate::PATH;
use crate::args::words::Cores;
use crate::step::{StepDocument, foretold_ratio};

/// A way at so many requests at a time, and what is foretold of it.
#[derive(Clone, Debug)]
pub(super) struct Said {
    pub(super) way: Way,
    pub(super) concurrency: u64,
    pub(super) params: Params,
    pub(super) forecast: Forecast,
}

impl Said {
    /// Ticks a request, with the ends of the prediction.
    pub(super) fn ticks(&self) -> Interval {
        let Forecast { ticks, lo, hi, .. } = self.forecast;
        Interval { estimate: ticks, lo, hi, confidence: 0.95 }
    }
}

/// All that is foretold.
#[derive(Clone, Debug)]
pub(super) struct Foreseen {
    /// Every way, at every step that there is of it.
    pub(super) said: Vec<Said>,
    /// From where on nothing is said of ways, and why.
    pub(super) silent: Vec<(Way, String)>,
    /// Ticks of one sleep and the wake-up from it.
    pub(super) wake: Option<f64>,
    /// Nanoseconds of a tick.
    pub(super) ns: f64,
}

impl Foreseen {
    /// Of what was asked, by these tolls.
    ///
    /// # Errors
    /// If the path foretells nothing at all.
    pub(super) fn of(
        asked: &Asked,
        registry: &Registry,
        tolls: &dyn TollSource,
        hz: f64,
    ) -> anyhow::Result<Foreseen> {
        let path = registry.path(PATH)?;
        let mut foreseen = Foreseen { said: Vec::new(), silent: Vec::new(), wake: None, ns: 1e9 / hz };
        for (way, concurrency) in asked.places() {
            let variant = path.variant(way.variant())?;
            let params = asked.params(way, concurrency, registry)?;
            let why = match variant.predict(&params, tolls) {
                Some(Ok(forecast)) => {
                    foreseen.said.push(Said { way, concurrency, params, forecast });
                    continue;
                }
                Some(Err(error)) => error.to_string(),
                None => "nothing is foretold".into(),
            };
            if foreseen.silent.iter().all(|(of, _)| *of != way) {
                foreseen.silent.push((way, format!("with {concurrency} at a time {why}")));
            }
        }
        if foreseen.said.is_empty() {
            let why =
                foreseen.silent.first().map_or(String::new(), |(way, why)| format!("{}: {why}", way.title()));
            return Err(nothing(why).into());
        }
        let placement = if asked.cores == Cores::One { Placement::Same } else { Placement::Across };
        // There and back: two of each.
        let toll = tolls.toll(&TollKey::of(Crossing::Notice).kind("futex").placement(placement));
        foreseen.wake = toll.map(|toll| 0.5 * toll.median);
        Ok(foreseen)
    }

    /// A way at so many requests at a time.
    pub(super) fn at(&self, way: Way, concurrency: u64) -> Option<&Said> {
        self.said.iter().find(|said| said.way == way && said.concurrency == concurrency)
    }

    /// From how many requests at a time on one way is cheaper than another; `None` where a step of it is not foretold.
    pub(super) fn step(&self, of: Way, below: Way, ladder: &[u64]) -> Option<StepDocument> {
        let ratio = |n: &u64| foretold_ratio(&self.at(of, *n)?.ticks(), &self.at(below, *n)?.ticks());
        let ratios: Option<Vec<Interval>> = ladder.iter().map(ratio).collect();
        StepDocument::found(&ratios?, ladder)
    }
}
