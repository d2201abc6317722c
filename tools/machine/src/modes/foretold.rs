//! What encryption of the disk is to cost, foretold from two prices that are measured first: the row without it, and what the host's
//! encryption takes by itself for a request of that size.
//!
//! The row without it is that of the mode that encrypts with nothing but the disk changed: what else tells the modes apart is no part of
//! what is foretold. Of requests one after the other the two prices add up. Of several at once the disk may work while the host
//! encrypts: then the row takes at least the dearer of the two and at most their sum, and that is the interval.

use std::collections::BTreeMap;

use anyhow::Result;
use tollway_core::{Forecast, Params, Quoted, TrialSpec};
use tollway_lab::point::Point;
use tollway_lab::progress::Progress;
use tollway_lab::{Estimate, Foretold, Lab, Request};
use tollway_report::RunReport;
use tollway_stats::Interval;
use tollway_store::{PointId, RunId, RunState, Store};

use super::rows::{DISK, PLAIN, is_encrypted};
use super::setback::{self, Lost};
use super::{Asked, FOR_TOLLS, laboratory};
use crate::suite::{IN_GUESTS, case};
use crate::{PATH, suite};

/// The variant that has the price of encryption by itself, and its axes.
const PRICE: &str = "luks";
const SIZE: &str = "size";
const DIRECTION: &str = "direction";

/// Blocks in which the prices are measured.
pub(super) const BLOCKS: u32 = 6;

/// The shortest window that a price is measured in, in milliseconds: 32 requests of 1 MiB at once take a good part of it.
const SHORTEST: f64 = 100.0;

/// What the forecasts are made of: what is to be measured for them, and for which points.
pub(super) struct Prices {
    /// `None` where nothing is foretold.
    request: Option<Request>,
    /// Points of the side that encrypts.
    encrypted: Vec<Point>,
}

/// What was foretold.
#[derive(Default)]
pub(super) struct Foretelling {
    /// The rows of which it was.
    pub(super) rows: Vec<Foretold>,
    /// Those of which it could not be.
    pub(super) lost: Vec<Lost>,
}

impl Prices {
    /// Those of the rows that one side encrypts and the other does not.
    ///
    /// # Errors
    /// None of presets and modes that a request was made of.
    pub(super) fn of(request: &Request, asked: &Asked<'_>, lab: &Lab<'_>) -> Result<Prices> {
        let registry = lab.registry;
        let mut encrypted = Vec::new();
        for point in request.points(registry)? {
            let sides: Vec<Point> =
                request.sides.iter().map(|side| point.on(side, registry)).collect::<Result<_, _>>()?;
            let works_on_a_disk = point.params.get("pattern").is_some();
            if let [a, b] = &sides[..]
                && works_on_a_disk
                && is_encrypted(&a.params) != is_encrypted(&b.params)
            {
                encrypted.push(if is_encrypted(&a.params) { a.clone() } else { b.clone() });
            }
        }
        if encrypted.is_empty() {
            return Ok(Prices { request: None, encrypted });
        }
        let mut cases = Vec::new();
        for row in &encrypted {
            cases.push(case(&row.variant, &plain(&row.params)));
            for direction in directions(&row.params) {
                let price = case(PRICE, &price_of(&row.params, direction)?);
                if !cases.contains(&price) {
                    cases.push(price);
                }
            }
        }
        let mut preset = suite::choice(suite::preset(registry, PATH, IN_GUESTS)?, cases);
        let runs = asked.options.repeats.runs.unwrap_or(BLOCKS).min(BLOCKS);
        preset.trial = TrialSpec { runs, ..preset.trial };
        let title = format!("{}: what the prediction is made of", request.title);
        let mut prices = laboratory(title, vec![preset], asked.options);
        if let Some(seconds) = asked.options.repeats.time {
            // It is measured once, however often is compared.
            let share = FOR_TOLLS / (FOR_TOLLS + (1.0 - FOR_TOLLS) * f64::from(asked.options.repeat));
            prices.fit_to(seconds * share, lab)?;
            prices.within = None;
            for preset in &mut prices.selection.presets {
                preset.trial.window_ms = preset.trial.window_ms.max(SHORTEST);
            }
        }
        Ok(Prices { request: Some(prices), encrypted })
    }

    /// What it would take.
    ///
    /// # Errors
    /// As [`Lab::estimate`].
    pub(super) fn estimate(&self, lab: &Lab<'_>) -> Result<Option<Estimate>> {
        Ok(self.request.as_ref().map(|request| lab.estimate(request)).transpose()?)
    }

    /// Measures the prices, and foretells; where it is interrupted, the run that has what was measured.
    ///
    /// # Errors
    /// Of the laboratory and the store.
    pub(super) fn foretell(
        self,
        lab: &Lab<'_>,
        store: &mut Store,
        progress: &mut dyn Progress,
    ) -> Result<Result<Foretelling, RunId>> {
        let mut foretelling = Foretelling::default();
        let Some(request) = &self.request else { return Ok(Ok(foretelling)) };
        let ended = lab.run(store, request, progress)?;
        if ended.state == RunState::Interrupted {
            return Ok(Err(ended.run));
        }
        let points = store.points(ended.run)?;
        let find = |variant: &str, params: &Params| -> Option<PointId> {
            let same = |p: &&tollway_store::Point| {
                p.spec.variant == variant
                    && params.iter().all(|(axis, value)| p.spec.params.get(axis) == Some(value))
            };
            points.iter().find(same).map(|p| p.id)
        };
        let why = why_not(&RunReport::from_store(store, ended.run)?);
        for row in self.encrypted {
            let pace = find(&row.variant, &plain(&row.params)).map(|id| store.pace(id)).transpose()?;
            let mut encryption = Vec::new();
            for direction in directions(&row.params) {
                let price = find(PRICE, &price_of(&row.params, direction)?);
                let figure = price.map(|id| store.figure(id)).transpose()?.flatten();
                encryption.extend(figure.and_then(|figure| figure.median));
            }
            let whole = encryption.len() == directions(&row.params).len();
            let Point { path, variant, params, .. } = row;
            match pace.flatten().filter(|_| whole) {
                Some(pace) => {
                    let forecast = forecast(&pace, &encryption, &params);
                    foretelling.rows.push(Foretold { path, variant, params, forecast });
                }
                None => foretelling.lost.push(Lost { variant, params, why: why.clone() }),
            }
        }
        Ok(Ok(foretelling))
    }
}

/// What of a run was not measured, and why.
fn why_not(report: &RunReport) -> String {
    let setbacks =
        report.document().points.iter().filter_map(|point| Some((&point.title, setback::why(point)?)));
    let first = setbacks.map(|(title, why)| format!("{title}: {why}")).next();
    first.unwrap_or_else(|| "what it is made of has no figure".into())
}

/// The same without encryption.
fn plain(params: &Params) -> Params {
    params.clone().with(DISK, PLAIN)
}

/// Which way its requests go; both, in equal parts, of a mixed one.
fn directions(params: &Params) -> &'static [&'static str] {
    match params.word("pattern") {
        Ok("read" | "randread") => &["read"],
        Ok("write" | "randwrite") => &["write"],
        _ => &["read", "write"],
    }
}

/// The point that has the price of a request of that size.
fn price_of(params: &Params, direction: &str) -> Result<Params> {
    let size = params.int(SIZE)?;
    Ok(Params::new().with(SIZE, size).with(DIRECTION, direction))
}

/// The pace of a row, in ticks for each request.
fn forecast(plain: &Interval, encryption: &[Interval], params: &Params) -> Forecast {
    let share = 1.0 / encryption.len() as f64;
    let sum = |of: fn(&Interval) -> f64| encryption.iter().map(of).sum::<f64>() * share;
    let (price, least, most) = (sum(|i| i.estimate), sum(|i| i.lo), sum(|i| i.hi));
    let together = plain.estimate + price;
    let is_alone = params.int("depth").is_ok_and(|depth| depth == 1);
    let (ticks, lo) = match is_alone {
        true => (together, plain.lo + least),
        false => (0.5 * (together + plain.estimate.max(price)), plain.lo.max(least)),
    };
    Forecast {
        of: Quoted::Pace,
        ticks,
        lo,
        hi: plain.hi + most,
        model: format!(
            "the row without encryption, and the host's encryption of a request by itself: {}",
            if is_alone { "one after the other" } else { "between the dearer of the two and both" }
        ),
        p99: None,
        counts: BTreeMap::new(),
        from: Vec::new(),
        sharing: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(estimate: f64) -> Interval {
        Interval::new(estimate, 0.9 * estimate, 1.1 * estimate, 0.95).unwrap()
    }

    #[test]
    fn one_at_a_time_adds_up_and_several_overlap_at_most() {
        let (plain, price) = (interval(100.0), [interval(300.0), interval(500.0)]);
        let alone = forecast(&plain, &price, &Params::new().with("depth", 1));
        assert_eq!((alone.ticks, alone.lo.round(), alone.hi.round()), (500.0, 450.0, 550.0));
        let many = forecast(&plain, &price, &Params::new().with("depth", 32));
        assert_eq!((many.ticks, many.lo.round(), many.hi.round()), (450.0, 360.0, 550.0));
    }

    #[test]
    fn a_mixed_row_pays_for_both_directions() {
        let pattern = |word: &str| directions(&Params::new().with("pattern", word)).to_vec();
        assert_eq!(pattern("randread"), ["read"]);
        assert_eq!(pattern("write"), ["write"]);
        assert_eq!(pattern("randrw"), ["read", "write"]);
    }
}
