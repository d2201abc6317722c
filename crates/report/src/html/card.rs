//! The score card on the page: each row with where its blocks lie around it, and where earlier runs lay.

use serde::Serialize;

use crate::card::{self, Family, HEADS, NO_FIGURE, TITLE, sections};
use crate::columns::printable;
use crate::document::{PointDocument, RunDocument, Span};
use crate::number::{rate, time};

use super::view::SkippedView;

/// How far the picture of a row reaches to either side of its figure at least, as a share of it.
const REACH: f64 = 0.1;

/// How far it reaches at most for the sake of an interval.
const FURTHEST: f64 = 1.0;

/// Width and height of the picture of earlier runs, and its margin, in pixels.
const HISTORY: (f64, f64, f64) = (96.0, 26.0, 4.0);

/// The card.
#[derive(Serialize)]
pub(crate) struct CardView {
    title: &'static str,
    heads: [&'static str; 6],
    sections: Vec<SectionView>,
    /// Whether a row has earlier runs.
    history: bool,
    /// What a row without a figure lacks; absent where all have one.
    without: Option<&'static str>,
}

#[derive(Serialize)]
struct SectionView {
    title: String,
    /// Whether there is a row with or to have a figure.
    rows: bool,
    /// How many columns its table has.
    columns: usize,
    families: Vec<FamilyView>,
}

#[derive(Serialize)]
struct FamilyView {
    common: String,
    rows: Vec<RowView>,
    failed: Vec<(String, String)>,
    skipped: Vec<SkippedView>,
}

#[derive(Serialize)]
struct RowView {
    id: i64,
    title: String,
    noisy: Option<String>,
    cells: [String; 6],
    plot: Option<Plot>,
    history: Option<HistoryPlot>,
}

/// Where the blocks of a row lie: in the middle its figure, the ends a share of it away.
#[derive(Serialize)]
struct Plot {
    /// Where the interval begins, and how wide it is, in percent of the picture.
    lo: f64,
    width: f64,
    /// The blocks, in percent of the picture, each with its figure.
    dots: Vec<(f64, String)>,
    /// From where to where the picture reaches, as figures: a share with "±" would be read as the interval.
    reach: String,
}

/// The earlier runs of a row and this one, from left to right.
#[derive(Serialize)]
struct HistoryPlot {
    label: String,
    /// The line through the figures, as an SVG path.
    line: String,
    dots: Vec<HistoryDot>,
}

#[derive(Serialize)]
struct HistoryDot {
    x: f64,
    y: f64,
    /// The ends of the interval.
    hi: f64,
    lo: f64,
    title: String,
    /// Whether machine or program was another than before.
    changed: bool,
    now: bool,
}

impl CardView {
    /// `None` where nothing is told as a rate.
    pub(crate) fn of(document: &RunDocument) -> Option<CardView> {
        let history = document.points.iter().any(|point| !point.earlier.is_empty());
        let sections: Vec<SectionView> = sections(document)
            .iter()
            .map(|section| {
                let families: Vec<FamilyView> = section.families.iter().map(FamilyView::of).collect();
                SectionView {
                    title: printable(&section.title),
                    rows: families.iter().any(|family| !family.rows.is_empty()),
                    columns: 2 + HEADS.len() + usize::from(history),
                    families,
                }
            })
            .collect();
        let rows = || sections.iter().flat_map(|s| &s.families).flat_map(|f| &f.rows);
        let without = rows().any(|row| row.cells[0] == "–").then_some(NO_FIGURE);
        (!sections.is_empty()).then_some(CardView { title: TITLE, heads: HEADS, sections, history, without })
    }
}

impl FamilyView {
    fn of(family: &Family<'_>) -> FamilyView {
        FamilyView {
            common: printable(&family.common.join(", ")),
            rows: family.group.priced.iter().map(|point| RowView::of(family, point)).collect(),
            failed: super::view::failed(&family.group),
            skipped: super::view::skipped(&family.group),
        }
    }
}

impl RowView {
    fn of(family: &Family<'_>, point: &PointDocument) -> RowView {
        let row = card::row(family, point);
        RowView {
            id: point.id,
            title: row.title,
            noisy: row.noise,
            cells: row.cells,
            plot: Plot::of(point),
            history: HistoryPlot::of(point),
        }
    }
}

/// The figure of a point with its interval, and how such a figure is said.
fn figure(point: &PointDocument) -> Option<(Span, impl Fn(f64) -> String + '_)> {
    let headline = point.rates.first();
    let span = headline.map(|first| first.per_second).or(point.median.map(|median| median.ns))?;
    Some((span, move |x: f64| headline.map_or_else(|| time(x), |first| rate(x, &first.unit))))
}

impl Plot {
    fn of(point: &PointDocument) -> Option<Plot> {
        let (span, say) = figure(point)?;
        let blocks = card::blocks(point);
        let off = |x: f64| (x / span.estimate - 1.0).abs();
        // An interval that is wider goes beyond the picture: it shall not push all blocks together.
        let interval = off(span.lo).max(off(span.hi)).min(FURTHEST);
        let reach = blocks.iter().map(|block| off(*block)).fold(REACH.max(interval), f64::max);
        let x = |value: f64| {
            let share = (value / span.estimate - 1.0) / reach;
            round(50.0 + 46.0 * share.clamp(-1.0, 1.0))
        };
        Some(Plot {
            lo: x(span.lo),
            width: round(x(span.hi) - x(span.lo)),
            dots: blocks.iter().map(|block| (x(*block), say(*block))).collect(),
            reach: [-reach, reach].map(|share| say((1.0 + share).max(0.0) * span.estimate)).join(" … "),
        })
    }
}

impl HistoryPlot {
    /// `None` where the store has no earlier run of the row.
    fn of(point: &PointDocument) -> Option<HistoryPlot> {
        let (now, say) = figure(point).filter(|_| !point.earlier.is_empty())?;
        let spans: Vec<Span> = point.earlier.iter().map(|e| e.figure).chain([now]).collect();
        let least = spans.iter().map(|s| s.estimate).fold(f64::INFINITY, f64::min);
        let most = spans.iter().map(|s| s.estimate).fold(0.0, f64::max);
        // Noise shall not look like change: the picture is at least as high as its rows reach.
        let (middle, half) = (0.5 * (least + most), (0.5 * (most - least)).max(REACH * most));
        let (width, height, margin) = HISTORY;
        let y = |value: f64| {
            let share = ((value - middle) / half).clamp(-1.0, 1.0);
            round(0.5 * height - share * (0.5 * height - margin))
        };
        let step = (width - 2.0 * margin) / (spans.len() - 1) as f64;
        let dots: Vec<HistoryDot> = spans
            .iter()
            .enumerate()
            .map(|(at, span)| {
                let earlier = point.earlier.get(at);
                let title = match earlier {
                    None => format!("this run: {}", say(span.estimate)),
                    Some(run) => {
                        let when = run.started.strftime("%-d %B %Y, %H:%M");
                        format!("run {}, {when}: {}", run.run, say(span.estimate))
                    }
                };
                let changed = match earlier {
                    Some(run) => &run.changed,
                    None => &point.changed,
                };
                let marks: Vec<String> = changed.iter().map(crate::history::changed).collect();
                let title = [vec![title], marks].concat().join("; ");
                HistoryDot {
                    x: round(margin + step * at as f64),
                    y: y(span.estimate),
                    hi: y(span.hi),
                    lo: y(span.lo),
                    title: printable(&title),
                    changed: !changed.is_empty(),
                    now: earlier.is_none(),
                }
            })
            .collect();
        let line = dots
            .iter()
            .enumerate()
            .map(|(at, dot)| format!("{}{} {}", if at == 0 { "M" } else { "L" }, dot.x, dot.y));
        Some(HistoryPlot {
            label: format!("{} earlier runs and this one, unpaired", point.earlier.len()),
            line: line.collect(),
            dots,
        })
    }
}

fn round(x: f64) -> f64 {
    (x * 100.0).round() / 100.0
}
