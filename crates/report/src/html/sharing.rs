//! Curves on the page: what each gets on average against what the caps say, and each tenant as a point of its own.

use serde::Serialize;

use crate::columns::printable;
use crate::document::{RunDocument, SharedPoint, SharingDocument};
use crate::number::count;
use crate::sharing::words;

/// Size of a chart's field, in units of its drawing; what stands around it is outside.
const WIDTH: f64 = 520.0;
const HEIGHT: f64 = 220.0;

/// Lines across a chart, about.
const LINES: f64 = 5.0;

#[derive(Serialize)]
pub(super) struct SharingView {
    title: String,
    unit: String,
    caps: String,
    verdict: String,
    legend: &'static str,
    heads: [&'static str; 8],
    rows: Vec<[String; 8]>,
    ticks_x: Vec<(f64, String)>,
    ticks_y: Vec<(f64, String)>,
    /// As paths: predicted for the share that tenants got, and for a fair one.
    predicted: String,
    fair: String,
    measured: Vec<Mark>,
    /// Each tenant, as a path of dots.
    each: String,
    ticks_each: Vec<(f64, String)>,
    /// The published curve, and what it is of.
    published: Option<(String, String)>,
    /// Where more tenants share than there are processors.
    crowded: Option<f64>,
    processors: u32,
}

#[derive(Serialize)]
struct Mark {
    x: f64,
    y: f64,
    top: f64,
    height: f64,
    title: String,
}

/// A linear scale from 0.
struct Scale {
    most: f64,
    length: f64,
}

impl Scale {
    /// To the next line beyond `most`.
    fn to(most: f64, length: f64) -> Scale {
        let step = step(most);
        Scale { most: (most / step).ceil().max(1.0) * step, length }
    }

    fn at(&self, value: f64) -> f64 {
        tenth(value / self.most * self.length)
    }

    /// Upside down, as drawings count.
    fn up(&self, value: f64) -> f64 {
        tenth(self.length - value / self.most * self.length)
    }

    fn ticks(&self) -> impl Iterator<Item = f64> {
        let step = step(self.most);
        let lines = (self.most / step).round() as u32;
        (0..=lines).map(move |i| f64::from(i) * step)
    }
}

/// 1, 2 or 5 times a power of ten, so that about [`LINES`] fit.
fn step(most: f64) -> f64 {
    let rough = (most / LINES).max(f64::MIN_POSITIVE);
    let power = 10f64.powf(rough.log10().floor());
    [1.0, 2.0, 5.0, 10.0].map(|m| m * power).into_iter().find(|s| *s >= rough).unwrap_or(rough)
}

fn tenth(x: f64) -> f64 {
    (x * 10.0).round() / 10.0
}

impl SharingView {
    pub(super) fn all(document: &RunDocument) -> Vec<SharingView> {
        document.sharing.iter().filter(|curve| !curve.points.is_empty()).map(SharingView::of).collect()
    }

    fn of(curve: &SharingDocument) -> SharingView {
        let points = &curve.points;
        let most = |of: &dyn Fn(&SharedPoint) -> f64| points.iter().map(of).fold(0.0, f64::max);
        let x = Scale::to(most(&|p| f64::from(p.tenants)), WIDTH);
        let published = |n: f64| curve.published.as_ref().map(|law| law.one.min(law.shared / n));
        let drawn = |p: &SharedPoint| p.measured.estimate.max(p.predicted);
        let y = Scale::to(most(&|p| drawn(p).max(published(p.tenants.into()).unwrap_or(0.0))), HEIGHT);
        let top = Scale::to(most(&|p| p.each.iter().copied().fold(0.0, f64::max)), HEIGHT);
        let line = |of: &dyn Fn(&SharedPoint) -> Option<f64>| -> String {
            let at = points.iter().filter_map(|p| Some((x.at(p.tenants.into()), y.up(of(p)?))));
            let each: Vec<String> = at.map(|(x, y)| format!("{x} {y}")).collect();
            if each.is_empty() { String::new() } else { format!("M{}", each.join("L")) }
        };
        let dots = points.iter().flat_map(|p| p.each.iter().map(|r| (x.at(p.tenants.into()), top.up(*r))));
        let labels = |scale: &Scale, place: &dyn Fn(f64) -> f64| -> Vec<(f64, String)> {
            scale.ticks().map(|value| (place(value), label(value))).collect()
        };
        SharingView {
            title: words::title(curve),
            unit: words::unit(curve),
            caps: words::caps(curve),
            verdict: words::verdict(curve),
            legend: words::LEGEND,
            heads: words::HEADS,
            rows: points.iter().map(words::row).collect(),
            ticks_x: labels(&x, &|value| x.at(value)),
            ticks_y: labels(&y, &|value| y.up(value)),
            predicted: line(&|p| p.predicted_for_share),
            fair: line(&|p| Some(p.predicted)),
            measured: points.iter().map(|p| Mark::of(p, &x, &y)).collect(),
            each: dots.map(|(x, y)| format!("M{x} {y}h0")).collect(),
            ticks_each: labels(&top, &|value| top.up(value)),
            published: curve
                .published
                .as_ref()
                .map(|law| (line(&|p| published(p.tenants.into())), printable(&law.source))),
            crowded: (x.most > curve.processors.into()).then(|| x.at(f64::from(curve.processors) + 0.5)),
            processors: curve.processors,
        }
    }
}

impl Mark {
    fn of(point: &SharedPoint, x: &Scale, y: &Scale) -> Mark {
        let (hi, lo) = (y.up(point.measured.hi.min(y.most)), y.up(point.measured.lo.max(0.0)));
        let row = words::row(point);
        Mark {
            x: x.at(point.tenants.into()),
            y: y.up(point.measured.estimate),
            top: hi,
            height: tenth(lo - hi),
            title: format!("{} tenants: {} each {}, predicted {}", row[0], row[1], row[2], row[3]),
        }
    }
}

/// A number on an axis: without decimals that say nothing.
fn label(value: f64) -> String {
    let text = count(value);
    let (digits, unit) = text.split_once(' ').unwrap_or((&text, ""));
    let digits =
        if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { digits };
    format!("{digits} {unit}").trim_end().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_end_on_a_line_and_labels_are_short() {
        let scale = Scale::to(58.0, 100.0);
        assert_eq!(scale.ticks().collect::<Vec<_>>(), [0.0, 20.0, 40.0, 60.0]);
        assert_eq!((scale.at(30.0), scale.up(60.0)), (50.0, 0.0));
        assert_eq!([0.0, 5.0, 1500.0, 0.2].map(label), ["0", "5", "1.5 k", "0.2"]);
        assert_eq!(Scale::to(0.0, 100.0).ticks().count(), 2);
    }
}
