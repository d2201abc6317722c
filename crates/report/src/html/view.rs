//! What the templates of the page are given: texts and positions, no arithmetic left to do.

use serde::Serialize;

use super::bills::BillsView;
use super::card::CardView;
use super::distribution::Distribution;
use super::evidence::{PredictionView, QualityView, SteadinessView, caveats, fingerprint, method, models};
use super::guests::{GuestsView, TenantsView};
use super::headlines::HeadlinesView;
use super::scale::{Scale, Tick};
use super::sharing::SharingView;
use crate::classes;
use crate::columns::printable;
use crate::document::{MissingDocument, PointDocument, RunDocument, SampleKind};
use crate::history::lasted;
use crate::number::{count, glued, interval, percent, time};
use crate::price_list::{Group, groups};

/// Points of a page up to which each has a picture of its distribution: beyond, the page would grow too large.
const PICTURES: usize = 400;

/// The whole page.
#[derive(Serialize)]
pub(crate) struct Page {
    title: String,
    run: i64,
    state: String,
    facts: Vec<String>,
    machine: Vec<String>,
    remarks: Vec<String>,
    headlines: Option<HeadlinesView>,
    ticks: Vec<Tick>,
    decade: f64,
    lanes: Vec<Lane>,
    groups: Vec<GroupView>,
    card: Option<CardView>,
    guests: Option<GuestsView>,
    tenants: Option<TenantsView>,
    classes: ClassesView,
    counts: CountsView,
    bills: Option<BillsView>,
    bills_first: bool,
    sharing: Vec<SharingView>,
    predictions: Vec<PredictionView>,
    prediction_model: Vec<String>,
    quality: QualityView,
    steadiness: Option<SteadinessView>,
    method: Vec<(String, String)>,
    caveats: Vec<(String, String)>,
    fingerprint: Vec<(String, String)>,
}

/// The points of one boundary on the overview.
#[derive(Serialize)]
struct Lane {
    title: String,
    anchor: String,
    dots: Vec<Dot>,
}

#[derive(Serialize)]
struct Dot {
    id: i64,
    x: f64,
    title: String,
}

#[derive(Serialize)]
struct GroupView {
    title: String,
    anchor: String,
    rows: Vec<Row>,
    failed: Vec<(String, String)>,
    skipped: Vec<SkippedView>,
}

/// What was skipped for one reason.
#[derive(Serialize)]
pub(super) struct SkippedView {
    titles: Vec<String>,
    what: String,
    reason: String,
    remedy: String,
}

#[derive(Serialize)]
struct Row {
    id: i64,
    title: String,
    key: String,
    noisy: Option<String>,
    pending: bool,
    figure: Option<FigureView>,
    trials: u32,
}

#[derive(Serialize)]
struct FigureView {
    median: String,
    interval: String,
    p99: String,
    batches: bool,
    cycles: String,
    hover: String,
    x: f64,
    lo: f64,
    width: f64,
    tail: Option<f64>,
    shape: Option<Shape>,
}

/// How long each class took.
#[derive(Serialize)]
struct ClassesView {
    title: &'static str,
    heads: [&'static str; 4],
    rows: Vec<(String, [String; 4])>,
}

/// What actors counted.
#[derive(Serialize)]
struct CountsView {
    title: &'static str,
    rows: Vec<(String, String)>,
}

/// A small histogram.
#[derive(Serialize)]
struct Shape {
    path: String,
    label: String,
}

impl Page {
    pub(crate) fn of(
        document: &RunDocument,
        distributions: &[Option<Distribution>],
        bills_first: bool,
    ) -> Page {
        let run = &document.run;
        let scale = Scale::of(document);
        let groups = groups(document);
        let pictures = distributions.iter().flatten().count() <= PICTURES;
        let shape = |point: &PointDocument| -> Option<Shape> {
            let at = document.points.iter().position(|p| p.id == point.id)?;
            distributions.get(at)?.as_ref().filter(|_| pictures).map(Shape::of)
        };
        Page {
            title: printable(&run.title),
            run: run.id,
            state: run.state.clone(),
            facts: facts(document),
            machine: crate::machine::summary(document).iter().map(|part| printable(part)).collect(),
            remarks: document.remarks.iter().map(|r| glued(&printable(&r.text))).collect(),
            headlines: HeadlinesView::of(document),
            ticks: scale.map(Scale::ticks).unwrap_or_default(),
            decade: scale.map_or(100.0, Scale::decade),
            lanes: groups.iter().enumerate().filter_map(|(i, g)| Lane::of(i, g, scale?)).collect(),
            groups: groups.iter().enumerate().map(|(i, g)| GroupView::of(i, g, scale, &shape)).collect(),
            card: CardView::of(document),
            guests: GuestsView::of(document),
            tenants: TenantsView::of(document),
            classes: ClassesView::of(document),
            counts: CountsView { title: crate::counted::TITLE, rows: crate::counted::rows(document) },
            bills: BillsView::of(document),
            bills_first,
            sharing: SharingView::all(document),
            predictions: document.points.iter().filter_map(PredictionView::of).collect(),
            prediction_model: models(document),
            quality: QualityView::of(document),
            steadiness: SteadinessView::of(document),
            method: method(document),
            caveats: caveats(document),
            fingerprint: fingerprint(document),
        }
    }
}

impl ClassesView {
    fn of(document: &RunDocument) -> ClassesView {
        let of_point = |(title, rows): (String, Vec<classes::ClassRow>)| {
            rows.into_iter().map(move |row| (format!("{title}: {}", row.name), row.cells))
        };
        let rows = classes::rows(document).into_iter().flat_map(of_point).collect();
        ClassesView { title: classes::TITLE, heads: classes::HEADS, rows }
    }
}

fn anchor(group: usize) -> String {
    format!("group-{}", group + 1)
}

fn facts(document: &RunDocument) -> Vec<String> {
    let run = &document.run;
    let mut facts = vec![run.started.strftime("%-d %B %Y, %H:%M UTC").to_string()];
    if let Some(ended) = run.ended {
        facts.push(format!("{} min", lasted(run.started, ended)));
    }
    facts.push(format!("{} points", document.points.len()));
    facts.push(format!("{} trials", document.quality.trials));
    facts
}

impl Lane {
    fn of(at: usize, group: &Group<'_>, scale: Scale) -> Option<Lane> {
        let dots: Vec<Dot> = group
            .priced
            .iter()
            .filter_map(|p| {
                let ns = p.median?.ns.estimate;
                Some(Dot {
                    id: p.id,
                    x: scale.x(ns),
                    title: format!("{}: {}", printable(&p.label()), time(ns)),
                })
            })
            .collect();
        (!dots.is_empty()).then(|| Lane { title: printable(&group.title), anchor: anchor(at), dots })
    }
}

impl GroupView {
    fn of(
        at: usize,
        group: &Group<'_>,
        scale: Option<Scale>,
        shape: &dyn Fn(&PointDocument) -> Option<Shape>,
    ) -> GroupView {
        GroupView {
            title: printable(&group.title),
            anchor: anchor(at),
            rows: group.priced.iter().map(|p| Row::of(p, scale, shape)).collect(),
            failed: failed(group),
            skipped: skipped(group),
        }
    }
}

/// What failed of a group: titles and reasons.
pub(super) fn failed(group: &Group<'_>) -> Vec<(String, String)> {
    let of = |p: &&PointDocument| (printable(&p.label()), printable(p.error.as_deref().unwrap_or_default()));
    group.failed.iter().map(of).collect()
}

/// What of a group was skipped.
pub(super) fn skipped(group: &Group<'_>) -> Vec<SkippedView> {
    let of = |(missing, points): &(&MissingDocument, Vec<&PointDocument>)| SkippedView {
        titles: points.iter().map(|p| printable(&p.label())).collect(),
        what: printable(&missing.what),
        reason: printable(&missing.reason),
        remedy: printable(&missing.remedy),
    };
    group.skipped.iter().map(of).collect()
}

impl Row {
    fn of(
        point: &PointDocument,
        scale: Option<Scale>,
        shape: &dyn Fn(&PointDocument) -> Option<Shape>,
    ) -> Row {
        let key = match &point.toll {
            Some(key) => key.to_string(),
            None => format!("{} {}", point.path, point.variant),
        };
        Row {
            id: point.id,
            title: printable(&point.label()),
            key: printable(&key),
            noisy: point.quiet_share.filter(|_| point.noisy()).map(percent),
            pending: point.state == "pending",
            figure: scale.and_then(|scale| FigureView::of(point, scale, shape(point))),
            trials: point.trials,
        }
    }
}

impl FigureView {
    fn of(point: &PointDocument, scale: Scale, shape: Option<Shape>) -> Option<FigureView> {
        let median = point.median?;
        let (lo, hi) = (scale.x(median.ns.lo), scale.x(median.ns.hi));
        let p99 = point.p99.map(|p| p.ns.estimate);
        let mut hover = format!(
            "{}: median {}, 95 % interval {}",
            printable(&point.label()),
            time(median.ns.estimate),
            interval(&median.ns)
        );
        let batches = point.samples == SampleKind::Batches;
        if let Some(p99) = p99 {
            hover += &format!(", p99 {}{}", time(p99), if batches { " of batches" } else { "" });
        }
        if let Some(min) = point.min {
            hover += &format!(", least {}", time(min.ns.estimate));
        }
        Some(FigureView {
            median: time(median.ns.estimate),
            interval: interval(&median.ns),
            p99: p99.map_or("–".into(), time),
            batches,
            cycles: count(median.ticks.estimate),
            hover,
            x: scale.x(median.ns.estimate),
            lo,
            width: ((hi - lo) * 100.0).round() / 100.0,
            tail: p99.map(|ns| scale.x(ns)),
            shape,
        })
    }
}

impl Shape {
    /// The outline as an SVG path in a box of 96 by 24.
    fn of(distribution: &Distribution) -> Shape {
        let step = 96.0 / distribution.bars.len() as f64;
        let mut path = String::from("M0 24");
        for height in &distribution.bars {
            path += &format!("V{}h{step}", 24.0 - (height * 220.0).round() / 10.0);
        }
        path += "V24z";
        Shape {
            path,
            label: format!("distribution from {} to {}", time(distribution.lo_ns), time(distribution.hi_ns)),
        }
    }
}
