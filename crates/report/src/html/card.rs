//! The score card on the page: each row with where its blocks lie around it.

use serde::Serialize;

use crate::card::{self, HEADS, TITLE};
use crate::columns::printable;
use crate::document::{PointDocument, RunDocument, Span};
use crate::number::{percent, rate, time};

use super::view::SkippedView;

/// How far the picture of a row reaches to either side of its figure at least, as a share of it.
const REACH: f64 = 0.1;

/// The card.
#[derive(Serialize)]
pub(crate) struct CardView {
    title: &'static str,
    heads: [&'static str; 6],
    groups: Vec<GroupView>,
}

#[derive(Serialize)]
struct GroupView {
    title: String,
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
}

/// Where the blocks of a row lie: in the middle its figure, the ends a share of it away.
#[derive(Serialize)]
struct Plot {
    /// Where the interval begins, and how wide it is, in percent of the picture.
    lo: f64,
    width: f64,
    /// The blocks, in percent of the picture, each with its figure.
    dots: Vec<(f64, String)>,
    /// How far the picture reaches to either side.
    reach: String,
}

impl CardView {
    /// `None` where nothing is told as a rate.
    pub(crate) fn of(document: &RunDocument) -> Option<CardView> {
        let groups: Vec<GroupView> = card::groups(document)
            .iter()
            .map(|group| GroupView {
                title: printable(&group.title),
                rows: group.priced.iter().map(|point| RowView::of(point)).collect(),
                failed: super::view::failed(group),
                skipped: super::view::skipped(group),
            })
            .collect();
        (!groups.is_empty()).then_some(CardView { title: TITLE, heads: HEADS, groups })
    }
}

impl RowView {
    fn of(point: &PointDocument) -> RowView {
        RowView {
            id: point.id,
            title: printable(&point.label()),
            noisy: point.quiet_share.filter(|_| point.noisy()).map(percent),
            cells: card::row(point).cells,
            plot: Plot::of(point),
        }
    }
}

impl Plot {
    fn of(point: &PointDocument) -> Option<Plot> {
        let headline = point.rates.first();
        let (span, blocks): (Span, &[f64]) = match headline {
            Some(first) => (first.per_second, &first.blocks),
            None => (point.median?.ns, &[]),
        };
        let say = |x: f64| headline.map_or_else(|| time(x), |first| rate(x, &first.unit));
        let all = blocks.iter().copied().chain([span.lo, span.hi]);
        let reach = all.map(|x| (x / span.estimate - 1.0).abs()).fold(REACH, f64::max);
        let x = |value: f64| {
            let share = (value / span.estimate - 1.0) / reach;
            (50.0 + 46.0 * share.clamp(-1.0, 1.0)).max(0.0)
        };
        Some(Plot {
            lo: x(span.lo),
            width: x(span.hi) - x(span.lo),
            dots: blocks.iter().map(|block| (x(*block), say(*block))).collect(),
            reach: format!("± {}", percent(reach)),
        })
    }
}
