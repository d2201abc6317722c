//! What a sweep found, for a terminal.

use std::fmt::Write;

use tollway_report::columns::{Align, Cell, Table};
use tollway_report::document::Span;
use tollway_report::number;

use super::document::{SweepDocument, SweptDocument};
use crate::args::words::Cores;
use crate::span::{ends, off};

/// A column of counts: its head, and how it is had of a point.
type Counted = (&'static str, fn(&SweptDocument) -> Option<f64>);

/// Those that are shown where some point has them.
const COUNTED: [Counted; 3] = [
    ("notices", |point| point.counts.get("notices").copied()),
    ("switches", |point| {
        let switches = point.counts.iter().filter(|(name, _)| name.ends_with("_switches_waiting"));
        let all: Vec<f64> = switches.map(|(_, count)| *count).collect();
        (!all.is_empty()).then(|| all.iter().sum())
    }),
    ("entries", |point| point.counts.get("kernel_entries").copied()),
];

impl SweepDocument {
    /// For a terminal of that many columns.
    pub fn to_text(&self, width: Option<usize>) -> String {
        let mut out = String::new();
        for cores in [None, Some(1), Some(2)] {
            let points: Vec<&SweptDocument> = self.points.iter().filter(|p| p.cores == cores).collect();
            if !points.is_empty() {
                let title = match cores {
                    None => String::new(),
                    Some(1) => format!("{}:\n", Cores::One.phrase()),
                    Some(_) => format!("{}:\n", Cores::Two.phrase()),
                };
                let _ = writeln!(out, "{title}{}", self.table(&points, width));
            }
        }
        for line in self.crossing().into_iter().chain(self.notes()) {
            let _ = writeln!(out, "{line}");
        }
        out
    }

    fn table(&self, points: &[&SweptDocument], width: Option<usize>) -> String {
        let some = |has: fn(&SweptDocument) -> bool| points.iter().any(|point| has(point));
        let (timed, foretold) = (some(|p| p.latency_ns.is_some()), some(|p| p.foretold.is_some()));
        let counted: Vec<&Counted> =
            COUNTED.iter().filter(|(_, of)| points.iter().any(|point| of(point).is_some())).collect();
        let mut head = vec!["way", self.axis.as_str(), "a request", "95 % interval", "a second"];
        head.extend(timed.then_some("mean / p50 / p99 / p99.9"));
        head.extend(foretold.then_some(["foretold", "came to", "off"]).into_iter().flatten());
        head.extend(counted.iter().map(|(head, _)| *head));
        let mut aligns = vec![Align::Right; head.len()];
        (aligns[0], aligns[3]) = (Align::Left, Align::Left);
        let mut table = Table::new(aligns);
        table.row(head.iter().map(|head| Cell::plain(*head)).collect::<Vec<_>>());
        for point in points {
            let time = |ns: f64| number::time(ns);
            let dash = || "–".to_string();
            let mut cells = vec![
                point.variant.clone(),
                point.at_a_time.map_or_else(dash, |n| n.to_string()),
                time(point.time_ns.estimate),
                ends(&point.time_ns),
                number::count(point.per_second.estimate),
            ];
            if timed {
                let of = |l: &super::LatencyDocument| {
                    let all = [Some(l.mean), Some(l.p50), l.p99, l.p999];
                    all.map(|ns| ns.map_or_else(dash, time)).join(" / ")
                };
                cells.push(point.latency_ns.as_ref().map_or_else(dash, of));
            }
            if foretold {
                match &point.foretold {
                    None => cells.extend([dash(), dash(), String::new()]),
                    Some(said) => {
                        let foretold = said.time_ns.estimate;
                        let off = |measured: &Span| off(foretold, measured.estimate, said.outcome.as_deref());
                        let came_to = said.measured_ns.as_ref();
                        cells.extend([
                            time(foretold),
                            came_to.map_or_else(dash, |measured| time(measured.estimate)),
                            came_to.map_or_else(dash, off),
                        ]);
                    }
                }
            }
            cells.extend(counted.iter().map(|(_, of)| of(point).map_or_else(dash, share)));
            table.row(cells.into_iter().map(Cell::plain).collect::<Vec<_>>());
        }
        table.render(width)
    }

    fn crossing(&self) -> Vec<String> {
        let last = self.ladder.last().copied().unwrap_or_default();
        let line = |of: &super::CrossoverDocument| {
            let phrase = if of.cores == 1 { Cores::One.phrase() } else { Cores::Two.phrase() };
            let foretold =
                of.foretold.map_or(String::new(), |step| format!("; foretold {}", step.words(last)));
            format!("{phrase} {} is cheaper than {} {}{foretold}", of.of, of.below, of.measured.words(last))
        };
        self.crossovers.iter().map(line).collect()
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let skipped = self
            .skipped
            .iter()
            .map(|s| format!("skipped: {}: {}: {} → {}", s.point, s.what, s.reason, s.remedy));
        notes.extend(skipped);
        notes.extend(self.failed.iter().map(|f| format!("failed: {}: {}", f.point, f.reason)));
        if let Some(quiet) = self.quiet_share.filter(|quiet| *quiet < 0.5) {
            notes.push(format!("the machine was quiet in {} of the trials", number::percent(quiet)));
        }
        if let Some(off) = self.off_little() {
            notes.push(format!(
                "throughput times mean latency is the number of connections within {} at every point (Little's law)",
                number::percent(off)
            ));
        }
        if self.points.iter().any(SweptDocument::came_to_another) {
            notes.push(
                "foretold, came to, off: mostly the median of stretches, which few slow ones do not move; `a request` is the mean of all"
                    .to_string(),
            );
        }
        if self.points.iter().any(|point| number::says_nothing(&point.time_ns)) {
            notes.push(
                "an interval says nothing where blocks are few and differ: give more --runs".to_string(),
            );
        }
        if self.interrupted && self.points.is_empty() {
            notes.push(format!(
                "interrupted before there was a figure; `tollway run --resume` goes on with run {} of the store",
                self.run
            ));
        } else if self.interrupted {
            notes.push(format!(
                "interrupted: these are the figures of what was measured by then, run {} of the store; `tollway run --resume` goes on with it",
                self.run
            ));
        }
        notes
    }

    /// How far throughput times mean latency is off the number of connections, at the point at which it is farthest; `None` where that was not counted.
    fn off_little(&self) -> Option<f64> {
        let both = |point: &SweptDocument| {
            let count = |name: &str| point.counts.get(name).copied();
            Some((count("little_latencies")? / count("little_connections")? - 1.0).abs())
        };
        self.points.iter().filter_map(both).max_by(f64::total_cmp)
    }
}

impl SweptDocument {
    /// Whether what its prediction speaks of came to something else than what a request costs.
    fn came_to_another(&self) -> bool {
        let measured = self.foretold.as_ref().and_then(|said| said.measured_ns.as_ref());
        measured.is_some_and(|ns| !(self.time_ns.lo..=self.time_ns.hi).contains(&ns.estimate))
    }
}

/// How often something is done for a request: what is less than a thousandth is said to be.
fn share(count: f64) -> String {
    match count {
        0.0 => "0".into(),
        count if count < 0.001 => "< 0.001".into(),
        count => number::plain(count),
    }
}
