//! What the templates of the page are given: texts and positions, no arithmetic left to do.

use serde::Serialize;

use super::distribution::Distribution;
use super::scale::{Scale, Tick};
use crate::columns::printable;
use crate::compare::differences::leaves;
use crate::document::{PointDocument, RunDocument, SampleKind};
use crate::history::lasted;
use crate::number::{count, glued, interval, percent, plain, ratio, share_of, time};
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
    ticks: Vec<Tick>,
    decade: f64,
    lanes: Vec<Lane>,
    groups: Vec<GroupView>,
    predictions: Vec<PredictionView>,
    prediction_model: Vec<String>,
    quality: QualityView,
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

#[derive(Serialize)]
struct SkippedView {
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

/// A small histogram.
#[derive(Serialize)]
struct Shape {
    path: String,
    label: String,
}

#[derive(Serialize)]
struct PredictionView {
    title: String,
    predicted: String,
    interval: String,
    measured: String,
    off: String,
    inside: Option<bool>,
    lo: f64,
    width: f64,
    x: Option<f64>,
    hover: String,
}

#[derive(Serialize)]
struct QualityView {
    trials: u64,
    quiet: u64,
    share: String,
    width: f64,
    lost: Option<String>,
    noise: Vec<(String, u64, String)>,
    worst: Vec<(String, String, String)>,
}

impl Page {
    pub(crate) fn of(document: &RunDocument, distributions: &[Option<Distribution>]) -> Page {
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
            ticks: scale.map(Scale::ticks).unwrap_or_default(),
            decade: scale.map_or(100.0, Scale::decade),
            lanes: groups.iter().enumerate().filter_map(|(i, g)| Lane::of(i, g, scale?)).collect(),
            groups: groups.iter().enumerate().map(|(i, g)| GroupView::of(i, g, scale, &shape)).collect(),
            predictions: document.points.iter().filter_map(PredictionView::of).collect(),
            prediction_model: models(document),
            quality: QualityView::of(document),
            method: method(document),
            caveats: caveats(document),
            fingerprint: fingerprint(document),
        }
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
                Some(Dot { id: p.id, x: scale.x(ns), title: format!("{}: {}", printable(&p.label()), time(ns)) })
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
        let label = |p: &&PointDocument| printable(&p.label());
        GroupView {
            title: printable(&group.title),
            anchor: anchor(at),
            rows: group.priced.iter().map(|p| Row::of(p, scale, shape)).collect(),
            failed: group
                .failed
                .iter()
                .map(|p| (label(p), printable(p.error.as_deref().unwrap_or_default())))
                .collect(),
            skipped: group
                .skipped
                .iter()
                .map(|(missing, points)| SkippedView {
                    titles: points.iter().map(label).collect(),
                    what: printable(&missing.what),
                    reason: printable(&missing.reason),
                    remedy: printable(&missing.remedy),
                })
                .collect(),
        }
    }
}

impl Row {
    fn of(point: &PointDocument, scale: Option<Scale>, shape: &dyn Fn(&PointDocument) -> Option<Shape>) -> Row {
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

impl PredictionView {
    fn of(point: &PointDocument) -> Option<PredictionView> {
        let prediction = point.prediction.as_ref()?;
        // Positions on a scale from half to twice the prediction, logarithmic.
        let x = |ns: f64| {
            let share = 0.5 + 0.5 * (ns / prediction.ns.estimate).log2();
            if share.is_finite() { (share.clamp(0.0, 1.0) * 1e4).round() / 100.0 } else { 50.0 }
        };
        let measured = point.median.map(|m| m.ns);
        let (lo, hi) = (x(prediction.ns.lo), x(prediction.ns.hi));
        let over = measured.map(|m| crate::document::Span {
            estimate: m.estimate / prediction.ns.estimate,
            lo: m.lo / prediction.ns.estimate,
            hi: m.hi / prediction.ns.estimate,
        });
        let title = printable(&point.label());
        let predicted = time(prediction.ns.estimate);
        let found = measured.map_or("–".into(), |m| time(m.estimate));
        Some(PredictionView {
            hover: format!("{title}: predicted {predicted} [{}], measured {found}", interval(&prediction.ns)),
            title,
            predicted,
            interval: interval(&prediction.ns),
            measured: found,
            off: over.map_or("–".into(), |o| ratio(&o).0),
            inside: prediction.grade.map(|g| g.inside),
            lo,
            width: ((hi - lo) * 100.0).round() / 100.0,
            x: measured.map(|m| x(m.estimate)),
        })
    }
}

fn models(document: &RunDocument) -> Vec<String> {
    let mut models: Vec<String> =
        document.points.iter().filter_map(|p| p.prediction.as_ref()).map(|p| printable(&p.model)).collect();
    models.sort();
    models.dedup();
    models
}

impl QualityView {
    fn of(document: &RunDocument) -> QualityView {
        let quality = &document.quality;
        let mut worst: Vec<&PointDocument> = document.points.iter().filter(|p| p.noisy()).collect();
        worst.sort_by(|a, b| a.quiet_share.unwrap_or(1.0).total_cmp(&b.quiet_share.unwrap_or(1.0)));
        QualityView {
            trials: quality.trials,
            quiet: quality.quiet,
            share: share_of(quality.quiet, quality.trials),
            width: quality.quiet_share().unwrap_or(0.0) * 100.0,
            lost: quality.lost_share.map(percent),
            noise: quality.noise.iter().map(|n| (printable(&n.reason), n.trials, printable(&n.example))).collect(),
            worst: worst
                .iter()
                .take(8)
                .map(|p| {
                    let share = |s: Option<f64>| s.map_or("–".into(), percent);
                    (printable(&p.label()), share(p.quiet_share), share(p.lost_share))
                })
                .collect(),
        }
    }
}

fn method(document: &RunDocument) -> Vec<(String, String)> {
    let run = &document.run;
    let blocks: Vec<u32> = document.points.iter().map(|p| p.blocks).filter(|b| *b > 0).collect();
    let blocks = match (blocks.iter().min(), blocks.iter().max()) {
        (Some(lo), Some(hi)) if lo == hi => format!("{lo} of freshly started processes"),
        (Some(lo), Some(hi)) => format!("{lo} to {hi} of freshly started processes"),
        _ => "none".into(),
    };
    let mut method = vec![
        ("Command line".to_string(), printable(&run.argv.join(" "))),
        ("Tollway".into(), printable(&run.version)),
        ("Seed".into(), run.seed.to_string()),
        ("Clock".into(), format!("{} ticks a second ({} GHz)", run.hz, plain(run.hz / 1e9))),
        ("Blocks".into(), blocks),
        ("Began".into(), run.started.to_string()),
        ("Ended".into(), run.ended.map_or("–".into(), |t| t.to_string())),
        ("Machine".into(), printable(&document.machine.id)),
    ];
    if !run.sides.is_empty() {
        method.push(("Sides".into(), printable(&run.sides.join(", "))));
    }
    method
}

/// Each caveat once, with what it holds for.
fn caveats(document: &RunDocument) -> Vec<(String, String)> {
    let mut caveats: Vec<(String, Vec<String>)> = Vec::new();
    for point in document.points.iter().filter(|p| !p.caveats.trim().is_empty()) {
        let (text, name) = (printable(point.caveats.trim()), printable(&point.variant));
        match caveats.iter_mut().find(|(t, _)| *t == text) {
            Some((_, names)) if names.contains(&name) => {}
            Some((_, names)) => names.push(name),
            None => caveats.push((text, vec![name])),
        }
    }
    caveats.into_iter().map(|(text, names)| (names.join(", "), text)).collect()
}

fn fingerprint(document: &RunDocument) -> Vec<(String, String)> {
    leaves(&document.machine.fingerprint)
        .into_iter()
        .map(|(field, value)| {
            let value = match value {
                serde_json::Value::Null => "–".into(),
                serde_json::Value::String(text) => text,
                serde_json::Value::Array(items) if items.len() > 64 => format!("{} values", items.len()),
                other => other.to_string(),
            };
            (printable(&field), printable(&value))
        })
        .collect()
}
