//! The figure that tests a claim, from the trials of a run.
//!
//! Everything is worked out block by block first, so that what drifted for both sides of a ratio cancels, and the
//! interval is that of the blocks' figures.

use std::collections::BTreeMap;

use tollway_core::{Claim, Crossover, Figured, Metric, Quantity, Quoted, Yield};
use tollway_stats::{Interval, first_below, paired_ratio, spearman, summary, t_interval};
use tollway_store::{Point, PointState, RunId, Store};

use crate::Result;
use crate::bill::{ByBlock, Tolls, ticks};

/// Share of intervals that hold the true value.
const CONFIDENCE: f64 = 0.95;

/// The units of what is counted in ticks of the clock, and of operations that give nothing that is counted.
const TICKS: &str = "c";
const OPERATIONS: &str = "operations/s";

/// A figure, or why there is none.
type Found<T> = std::result::Result<T, String>;

/// What a run measured.
pub(super) struct Measured<'a> {
    store: &'a Store,
    points: &'a [Point],
    tolls: Tolls<'a>,
    hz: f64,
}

impl<'a> Measured<'a> {
    pub(super) fn of(store: &'a Store, points: &'a [Point], hz: f64) -> Measured<'a> {
        Measured { store, points, tolls: Tolls::of_run(store, points), hz }
    }

    /// Whether the run measured every point that a claim of that path is about.
    pub(super) fn measured(&self, path: &str, claim: &Claim) -> bool {
        claim.quantities().iter().all(|quantity| self.point(path, quantity).is_ok())
    }

    /// Whether it was to measure every one of them.
    pub(super) fn tried(&self, path: &str, claim: &Claim) -> bool {
        claim.quantities().iter().all(|quantity| self.planned(path, quantity).is_some())
    }

    /// What the figure of a metric counts; `None` of a plain number.
    pub(super) fn unit(&self, path: &str, metric: &Metric) -> Option<String> {
        let Metric::Value(of) = metric else { return None };
        match of.what {
            _ if of.counter.is_some() => None,
            Figured::Unevenness => None,
            Figured::Rate => Some(self.yielded(path, of).map_or(OPERATIONS, |y| y.unit.per_second()).into()),
            Figured::Cost | Figured::Pace | Figured::Response | Figured::Predicted => Some(TICKS.into()),
        }
    }

    /// What a quantity's point gives first.
    fn yielded(&self, path: &str, quantity: &Quantity) -> Option<Yield> {
        self.planned(path, quantity)?.spec.yields.first().copied()
    }

    /// The figure of a metric of that path, with its interval.
    pub(super) fn metric(&mut self, path: &str, metric: &Metric) -> Result<Found<Interval>> {
        Ok(match metric {
            Metric::Value(of) => self.quantity(path, of)?.and_then(|of| mean(of.into_values())),
            Metric::Ratio { of, to } => {
                let (of, to) = (self.quantity(path, of)?, self.quantity(path, to)?);
                of.and_then(|of| ratio(&of, &to?))
            }
            Metric::Bend(series) => self.series(path, &series.each)?.and_then(|each| {
                let x: Vec<f64> = series.each.iter().map(|(x, _)| *x).collect();
                bend(&x, &each)
            }),
            Metric::Rank(series) => self.series(path, &series.each)?.and_then(|each| {
                let x: Vec<f64> = series.each.iter().map(|(x, _)| *x).collect();
                rank(&x, &each)
            }),
            Metric::Crossover(crossover) => self.crossover(path, crossover)?,
            Metric::None(why) => Err(why.clone()),
        })
    }

    /// What was predicted for a metric of that path, where all of it was.
    pub(super) fn predicted(&self, path: &str, metric: &Metric) -> Result<Option<f64>> {
        Ok(match metric {
            Metric::Value(of) => self.forecast(path, of)?,
            Metric::Ratio { of, to } => {
                self.forecast(path, of)?.zip(self.forecast(path, to)?).map(|(of, to)| of / to)
            }
            Metric::Crossover(crossover) => self.crossover_predicted(path, crossover)?,
            Metric::Bend(series) => self.series_predicted(path, &series.each)?.and_then(|(x, y)| {
                // Twice, as an interval wants two.
                bend(&x, &[y.clone(), y]).ok().map(|bend| bend.estimate)
            }),
            Metric::Rank(series) => self
                .series_predicted(path, &series.each)?
                .map(|(x, y)| spearman(&x, &y).map_or(0.0, |s| s.rho)),
            Metric::None(_) => None,
        })
    }

    /// A series' places on the horizontal, and what was predicted of each, where that is so of all.
    fn series_predicted(&self, path: &str, each: &[(f64, Quantity)]) -> Result<Option<(Vec<f64>, Vec<f64>)>> {
        let mut found = (Vec::new(), Vec::new());
        for (x, quantity) in each {
            let Some(forecast) = self.forecast(path, quantity)? else { return Ok(None) };
            found.0.push(*x);
            found.1.push(forecast);
        }
        Ok(Some(found))
    }

    /// The first value at which one quantity is below the other, by the ratio of the two at each.
    fn crossover(&mut self, path: &str, crossover: &Crossover) -> Result<Found<Interval>> {
        let mut ratios = Vec::new();
        for (_, of, below) in &crossover.each {
            let (of, below) = (self.quantity(path, of)?, self.quantity(path, below)?);
            match of.and_then(|of| ratio(&of, &below?)) {
                Ok(found) => ratios.push(found),
                Err(why) => return Ok(Err(why)),
            }
        }
        Ok(step(&ratios, crossover))
    }

    /// The same of what was predicted, where that is so of every point.
    fn crossover_predicted(&self, path: &str, crossover: &Crossover) -> Result<Option<f64>> {
        let mut ratios = Vec::new();
        for (_, of, below) in &crossover.each {
            let Some((of, below)) = self.forecast(path, of)?.zip(self.forecast(path, below)?) else {
                return Ok(None);
            };
            let ratio = of / below;
            ratios.push(Interval { estimate: ratio, lo: ratio, hi: ratio, confidence: CONFIDENCE });
        }
        Ok(step(&ratios, crossover).ok().map(|found| found.estimate))
    }

    /// A series' quantities, all of them block by block.
    fn series(&mut self, path: &str, each: &[(f64, Quantity)]) -> Result<Found<Vec<Vec<f64>>>> {
        let mut columns = Vec::new();
        for (_, quantity) in each {
            match self.quantity(path, quantity)? {
                Ok(found) => columns.push(found),
                Err(why) => return Ok(Err(why)),
            }
        }
        let Some(first) = columns.first() else { return Ok(Err("the series has no point".into())) };
        let row = |block: &u32| columns.iter().map(|c| c.get(block).copied()).collect::<Option<Vec<f64>>>();
        Ok(Ok(first.keys().filter_map(row).collect()))
    }

    fn quantity(&mut self, path: &str, quantity: &Quantity) -> Result<Found<ByBlock>> {
        let point = match self.point(path, quantity) {
            Ok(point) => point,
            Err(why) => return Ok(Err(why)),
        };
        let of_all = match quantity.what {
            Figured::Cost => None,
            Figured::Pace => Some(self.store.pace_by_block(point.id)?),
            Figured::Response => Some(self.store.response_by_block(point.id)?),
            Figured::Rate => {
                let each = self.yielded(path, quantity).map_or(1.0, |yielded| yielded.each);
                let rates = self.store.rate_by_block(point.id)?;
                Some(rates.into_iter().map(|(block, rate)| (block, rate * each)).collect())
            }
            Figured::Unevenness => Some(self.store.unevenness_by_block(point.id)?),
            Figured::Predicted => Some(self.predicted_by_block(point)?),
        };
        if let Some(found) = of_all {
            let nothing = || format!("`{}` has no such figure", point.spec.title);
            return Ok(if found.is_empty() { Err(nothing()) } else { Ok(found) });
        }
        let blocks = self.store.work_by_block(point.id)?;
        let mut found = match (&quantity.visit, &quantity.counter) {
            (None, None) if quantity.gates.is_empty() => ticks(&blocks),
            (None, None) => BTreeMap::from_iter(blocks.iter().map(|b| (b.block, 0.0))),
            (_, Some(counter)) => {
                let count =
                    |block: &tollway_store::BlockWork, name: &String| Some(*block.counters.get(name)? as f64);
                let a_block = |block| {
                    let per = quantity.per.as_ref().map_or(Some(1.0), |per| count(block, per))?;
                    Some((block.block, count(block, counter)? / per))
                };
                blocks.iter().filter_map(a_block).filter(|(_, x)| x.is_finite()).collect()
            }
            (Some(_), None) => BTreeMap::new(),
        };
        let gates = quantity.gates.iter().map(|g| (g, 1.0)).chain(quantity.without.iter().map(|g| (g, -1.0)));
        for (name, sign) in gates.chain(quantity.visit.iter().map(|g| (g, 0.0))) {
            let Some(gate) = point.spec.gates.iter().find(|g| g.name == *name) else {
                return Ok(Err(format!("`{}` has no gate `{name}`", point.spec.title)));
            };
            let passed = match self.tolls.gate(gate, &blocks)? {
                Ok(passed) => passed,
                Err(why) => return Ok(Err(format!("gate `{name}` of `{}`: {why}", point.spec.title))),
            };
            if sign == 0.0 {
                found = passed.a_visit;
            } else {
                found = found
                    .iter()
                    .filter_map(|(block, sum)| Some((*block, sum + sign * passed.cost.get(block)?)))
                    .collect();
            }
        }
        if let Some(less) = &quantity.less {
            match self.quantity(path, less)? {
                Ok(less) => {
                    found = found.iter().filter_map(|(b, x)| Some((*b, x - less.get(b)?))).collect();
                }
                Err(why) => return Ok(Err(why)),
            }
        }
        Ok(if found.is_empty() {
            Err(format!(
                "`{}` was not measured in the same blocks as what it is held against",
                point.spec.title
            ))
        } else {
            Ok(found)
        })
    }

    /// What was predicted, the same for each block that was measured.
    fn predicted_by_block(&self, point: &Point) -> Result<ByBlock> {
        let Some(prediction) = self.store.prediction(point.id)? else { return Ok(ByBlock::new()) };
        let blocks = self.store.work_by_block(point.id)?;
        Ok(blocks.iter().map(|b| (b.block, prediction.forecast.ticks)).collect())
    }

    fn forecast(&self, path: &str, quantity: &Quantity) -> Result<Option<f64>> {
        let parts = !quantity.gates.is_empty() || !quantity.without.is_empty();
        if parts || quantity.visit.is_some() {
            return Ok(None);
        }
        let Ok(point) = self.point(path, quantity) else { return Ok(None) };
        if let Some(counter) = &quantity.counter {
            let prediction = self.store.prediction(point.id)?;
            let each = quantity.per.as_deref() == Some("operations") && quantity.less.is_none();
            return Ok(prediction.filter(|_| each).and_then(|p| p.forecast.counts.get(counter).copied()));
        }
        let speaks = |of: Quoted| match quantity.what {
            Figured::Cost => matches!(of, Quoted::Work | Quoted::Median),
            Figured::Pace => of == Quoted::Pace,
            Figured::Response => of == Quoted::Mean,
            Figured::Rate => of == Quoted::Pace,
            Figured::Predicted => true,
            Figured::Unevenness => false,
        };
        let prediction = self.store.prediction(point.id)?.map(|p| p.forecast);
        let mut whole = prediction.filter(|forecast| speaks(forecast.of)).map(|forecast| forecast.ticks);
        if quantity.what == Figured::Rate {
            let each = self.yielded(path, quantity).map_or(1.0, |yielded| yielded.each);
            let actors = self.store.measured_actors(point.id)?;
            whole = whole.zip(actors).map(|(pace, actors)| actors as f64 * each * self.hz / pace);
        }
        Ok(match &quantity.less {
            None => whole,
            Some(less) => whole.zip(self.forecast(path, less)?).map(|(whole, less)| whole - less),
        })
    }

    /// The point of a quantity, if the run was to measure it.
    fn planned(&self, path: &str, quantity: &Quantity) -> Option<&'a Point> {
        let is = |p: &&Point| {
            let spec = &p.spec;
            spec.path == path && spec.variant == quantity.variant && spec.params == quantity.point
        };
        self.points.iter().find(is)
    }

    /// The same, if it was measured.
    fn point(&self, path: &str, quantity: &Quantity) -> Found<&'a Point> {
        let named = || format!("`{} {}`", quantity.variant, quantity.at).replace(" `", "`");
        let point =
            self.planned(path, quantity).ok_or_else(|| format!("the run does not have {}", named()))?;
        match &point.state {
            PointState::Skipped(missing) => Err(format!("{} was skipped: {missing}", named())),
            PointState::Failed(why) => Err(format!("{} failed: {why}", named())),
            PointState::Pending | PointState::Done => Ok(point),
        }
    }
}

/// Points of a run.
pub(super) fn points(store: &Store, run: RunId) -> Result<Vec<Point>> {
    Ok(store.points(run)?.into_iter().filter(|p| p.spec.side.is_none()).collect())
}

fn mean(values: impl Iterator<Item = f64>) -> Found<Interval> {
    t_interval(&values.collect::<Vec<_>>(), CONFIDENCE).map_err(|e| e.to_string())
}

/// Pairs of a block's figures; on logarithms where that can be.
fn ratio(of: &ByBlock, to: &ByBlock) -> Found<Interval> {
    let pairs: Vec<(f64, f64)> = of.iter().filter_map(|(b, of)| Some((*to.get(b)?, *of))).collect();
    if pairs.iter().all(|(to, of)| *to > 0.0 && *of > 0.0) {
        let blocks: Vec<[(f64, f64); 1]> = pairs.into_iter().map(|pair| [pair]).collect();
        return paired_ratio(&blocks).and_then(|r| r.interval(CONFIDENCE)).map_err(|e| e.to_string());
    }
    if pairs.iter().all(|(to, _)| *to == 0.0) {
        return Err("what it is divided by is 0".into());
    }
    mean(pairs.into_iter().map(|(to, of)| of / to).filter(|r| r.is_finite()))
}

/// The value of a crossover's axis at which these ratios, one for each, begin to be below 1.
fn step(ratios: &[Interval], crossover: &Crossover) -> Found<Interval> {
    let ladder: Vec<f64> = crossover.each.iter().map(|(x, ..)| *x).collect();
    first_below(ratios).and_then(|found| found.on(&ladder, CONFIDENCE)).map_err(|e| e.to_string())
}

/// The mean of the blocks' rank correlations. None is beyond −1 or 1, so its interval is not.
fn rank(x: &[f64], blocks: &[Vec<f64>]) -> Found<Interval> {
    let Interval { estimate, lo, hi, confidence } =
        mean(blocks.iter().map(|y| spearman(x, y).map_or(0.0, |s| s.rho)))?;
    Interval::new(estimate, lo.max(-1.0), hi.min(1.0), confidence).map_err(|e| e.to_string())
}

/// The distance from the line of least squares of the point that is farthest from it on average, over the line's rise.
fn bend(x: &[f64], blocks: &[Vec<f64>]) -> Found<Interval> {
    let failed = |e: tollway_stats::StatsError| e.to_string();
    let middle = summary::mean(x).map_err(failed)?;
    let (least, most) =
        x.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), x| (lo.min(*x), hi.max(*x)));
    let spread: f64 = x.iter().map(|x| (x - middle).powi(2)).sum();
    let mut distances: Vec<Vec<f64>> = vec![Vec::new(); x.len()];
    for y in blocks {
        let level = summary::mean(y).map_err(failed)?;
        let slope = x.iter().zip(y).map(|(x, y)| (x - middle) * (y - level)).sum::<f64>() / spread;
        let rise = slope.abs() * (most - least);
        for ((x, y), distances) in x.iter().zip(y).zip(&mut distances) {
            distances.push((y - level - slope * (x - middle)) / rise);
        }
    }
    let farthest = distances
        .iter()
        .filter_map(|d| mean(d.iter().copied()).ok())
        .max_by(|a, b| a.estimate.abs().total_cmp(&b.estimate.abs()))
        .ok_or("fewer than two blocks were measured")?;
    let sign = farthest.estimate.signum();
    let (a, b) = (sign * farthest.lo, sign * farthest.hi);
    Interval::new(farthest.estimate.abs(), a.min(b), a.max(b), CONFIDENCE).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_straight_line_has_no_bend_and_a_knee_has_one() {
        let x = [1.0, 2.0, 3.0, 4.0];
        let straight: Vec<Vec<f64>> =
            (0..5).map(|b| x.iter().map(|x| 7.0 + f64::from(b) + 3.0 * x).collect()).collect();
        assert!(bend(&x, &straight).unwrap().hi < 1e-9);
        let falling: Vec<Vec<f64>> = (0..5).map(|_| x.iter().map(|x| 9.0 - 2.0 * x).collect()).collect();
        assert!(bend(&x, &falling).unwrap().hi < 1e-9);
        // y = 0, 0, 0, 1: the line rises by 0.3 a step and by 0.9 in all; the third point is 0.4 below it, the last 0.3 above.
        let knee: Vec<Vec<f64>> = (0..5).map(|_| vec![0.0, 0.0, 0.0, 1.0]).collect();
        let found = bend(&x, &knee).unwrap();
        assert!((found.estimate - 0.4 / 0.9).abs() < 1e-9, "{found:?}");
        assert!(found.lo > 0.3);
        // What the claim `ipc.notice-is-the-rest` says of the study's figures: 199 of 8897 cycles.
        let shares: Vec<f64> = (0..6).map(|step| 0.5f64.powi(step)).collect();
        let study = vec![vec![10_550.0, 6_000.0, 3_450.0, 2_550.0, 1_950.0, 1_700.0]; 2];
        assert!((bend(&shares, &study).unwrap().estimate - 0.0224).abs() < 1e-4);
    }

    #[test]
    fn a_rank_correlation_is_never_beyond_one() {
        let x = [1.0, 2.0, 3.0, 4.0];
        let (falls, nearly) = (vec![9.0, 7.0, 5.0, 3.0], vec![9.0, 5.0, 7.0, 3.0]);
        let found = rank(&x, &[falls.clone(), falls.clone(), falls.clone(), nearly.clone()]).unwrap();
        // -1, -1, -1 and -0.8: by Student the interval would begin at -1.11.
        assert!((found.estimate + 0.95).abs() < 1e-9 && found.lo == -1.0, "{found:?}");
        assert!((found.hi + 0.791).abs() < 0.001, "{found:?}");
        let rises = rank(&[4.0, 3.0, 2.0, 1.0], &[falls.clone(), falls, nearly]).unwrap();
        assert!(rises.hi == 1.0 && rises.lo < rises.estimate, "{rises:?}");
    }

    #[test]
    fn a_ratio_pairs_its_blocks() {
        let of = BTreeMap::from([(0, 20.0), (1, 44.0), (2, 62.0), (3, 80.0)]);
        let to = BTreeMap::from([(0, 10.0), (1, 20.0), (2, 30.0), (7, 1.0)]);
        let found = ratio(&of, &to).unwrap();
        assert!((found.estimate - (2.0 * 2.2 * (62.0 / 30.0_f64)).cbrt()).abs() < 0.01, "{found:?}");
        // A difference may lie on either side of 0.
        let of = BTreeMap::from([(0, -1.0), (1, 1.0), (2, 0.0)]);
        let found = ratio(&of, &to).unwrap();
        assert!(found.contains(0.0) && found.lo < 0.0, "{found:?}");
        assert!(ratio(&of, &BTreeMap::from([(0, 0.0), (1, 0.0)])).is_err());
    }
}
