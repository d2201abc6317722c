//! What encryption of the disk is to cost, foretold from two prices that are measured first: the row without it, and what the host's
//! encryption takes by itself for a request of that size.
//!
//! Of requests one after the other the two add up. Of several at once the disk may work while the host encrypts: then the row takes at
//! least the dearer of the two and at most their sum, and that is the interval.

use std::collections::BTreeMap;

use anyhow::Result;
use tollway_core::{Forecast, Params, Quoted, TrialSpec, Value};
use tollway_lab::point::Point;
use tollway_lab::progress::Progress;
use tollway_lab::{Foretold, Lab, Request};
use tollway_stats::Interval;
use tollway_store::{PointId, RunState, Store};

use super::{FOR_TOLLS, asked};
use crate::args::Modes;
use crate::suite::case;
use crate::{PATH, suite};

/// The axis and its word for a disk that the host encrypts.
const DISK: &str = "disk";
const ENCRYPTED: &str = "luks";

/// The variant that has the price of encryption by itself, and its axes.
const PRICE: &str = "luks";
const SIZE: &str = "size";
const DIRECTION: &str = "direction";

/// Blocks in which the prices are measured.
const BLOCKS: u32 = 6;

/// A row that one side encrypts and the other does not.
struct Row {
    plain: Point,
    encrypted: Point,
}

/// The forecasts; `None` where it was interrupted.
pub(super) fn of(
    request: &Request,
    options: &Modes,
    lab: &Lab<'_>,
    store: &mut Store,
    progress: &mut dyn Progress,
) -> Result<Option<Vec<Foretold>>> {
    let mut rows = Vec::new();
    for point in request.points(lab.registry)? {
        let sides: Vec<Point> =
            request.sides.iter().map(|side| point.on(side, lab.registry)).collect::<Result<_, _>>()?;
        let is_encrypted = |point: &Point| point.params.get(DISK) == Some(&Value::from(ENCRYPTED));
        let works_on_a_disk = point.params.get("pattern").is_some();
        if let [a, b] = &sides[..]
            && works_on_a_disk
            && is_encrypted(a) != is_encrypted(b)
        {
            let (plain, encrypted) = if is_encrypted(a) { (b, a) } else { (a, b) };
            rows.push(Row { plain: plain.clone(), encrypted: encrypted.clone() });
        }
    }
    if rows.is_empty() {
        return Ok(Some(Vec::new()));
    }
    let mut cases: Vec<_> = rows.iter().map(|row| case(&row.plain.variant, &row.plain.params)).collect();
    for row in &rows {
        for direction in directions(&row.plain.params) {
            let params = price_of(&row.plain.params, direction)?;
            let price = case(PRICE, &params);
            if !cases.contains(&price) {
                cases.push(price);
            }
        }
    }
    let mut preset = suite::preset(lab.registry, PATH, super::IN_GUESTS)?;
    preset.axes.0.clear();
    preset.case = cases;
    preset.trial = TrialSpec { runs: BLOCKS, ..request.selection.presets[0].trial.clone() };
    let mut prices = asked("machine modes: what the prediction is made of".into(), preset, options);
    if let Some(seconds) = options.repeats.time {
        prices.fit_to(seconds * FOR_TOLLS, lab.registry)?;
    }
    let ended = lab.run(store, &prices, progress)?;
    if ended.state == RunState::Interrupted {
        return Ok(None);
    }
    let points = store.points(ended.run)?;
    let find = |variant: &str, params: &Params| -> Option<PointId> {
        let same = |p: &&tollway_store::Point| {
            p.spec.variant == variant
                && params.iter().all(|(axis, value)| p.spec.params.get(axis) == Some(value))
        };
        points.iter().find(same).map(|p| p.id)
    };
    let mut foretold = Vec::new();
    for row in rows {
        let Some(plain) = find(&row.plain.variant, &row.plain.params) else { continue };
        let Some(plain) = store.pace(plain)? else { continue };
        let mut encryption = Vec::new();
        for direction in directions(&row.plain.params) {
            let price = find(PRICE, &price_of(&row.plain.params, direction)?);
            let figure = price.map(|id| store.figure(id)).transpose()?.flatten();
            encryption.extend(figure.and_then(|figure| figure.median));
        }
        // One that could not be measured leaves the row without a prediction.
        if encryption.len() < directions(&row.plain.params).len() {
            continue;
        }
        let forecast = forecast(&plain, &encryption, &row.plain.params);
        let Row { encrypted: Point { path, variant, params, .. }, .. } = row;
        foretold.push(Foretold { path, variant, params, forecast });
    }
    Ok(Some(foretold))
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
