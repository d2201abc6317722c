//! The score card: what a machine gives to programs, a row for each part, told as a rate where that says more than a time.

pub(crate) mod markdown;
pub(crate) mod terminal;

use crate::columns::printable;
use crate::document::{PointDocument, RateDocument, RunDocument};
use crate::number::{interval, rate, rate_interval, time};
use crate::price_list::Group;

/// The title.
pub(crate) const TITLE: &str = "What this machine gives";

/// What the columns are called.
pub(crate) const HEADS: [&str; 6] = ["headline", "95 % interval", "that is", "p50", "p99", "p99.9"];

/// A row in words.
pub(crate) struct Row {
    /// Its title, with a mark where its trials were not quiet.
    pub(crate) title: String,
    /// In the order of [`HEADS`].
    pub(crate) cells: [String; 6],
}

impl RunDocument {
    /// Whether a point is on the card: it yields something that is counted by the second, or stands beside points of its path that do
    /// and is no toll.
    pub(crate) fn on_card(&self, point: &PointDocument) -> bool {
        point.unit.is_some()
            || point.toll.is_none() && self.points.iter().any(|p| p.path == point.path && p.unit.is_some())
    }
}

/// The rows by path and variant, with what was skipped and what failed.
pub(crate) fn groups(document: &RunDocument) -> Vec<Group<'_>> {
    let on_card: Vec<&PointDocument> = document.points.iter().filter(|p| document.on_card(p)).collect();
    let mut names: Vec<(&str, &str)> = Vec::new();
    for point in &on_card {
        let name = (point.path.as_str(), point.variant.as_str());
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let group = |(path, variant): (&str, &str)| {
        let of_it = on_card.iter().copied().filter(|p| p.path == path && p.variant == variant);
        Group::of(format!("{path}: {variant}"), of_it)
    };
    names.into_iter().map(group).collect()
}

/// A point in words.
pub(crate) fn row(point: &PointDocument) -> Row {
    let quantile = |estimate: &Option<crate::document::Estimate>| {
        estimate.as_ref().map_or("–".into(), |e| time(e.ns.estimate))
    };
    let (headline, span) = match (point.rates.first(), point.median) {
        (Some(first), _) => (said(first), rate_interval(&first.per_second)),
        (None, Some(median)) => (time(median.ns.estimate), interval(&median.ns)),
        (None, None) => ("–".into(), "–".into()),
    };
    let others: Vec<String> = point.rates.iter().skip(1).map(said).collect();
    // Of a rate that one operation makes, times say nothing more.
    let [p50, p99, p999] = match point.rates.is_empty() {
        true => ["–"; 3].map(String::from),
        false => [quantile(&point.median), quantile(&point.p99), quantile(&point.p999)],
    };
    let mark = if point.noisy() { " ~" } else { "" };
    Row {
        title: format!("{}{mark}", printable(&point.label())),
        cells: [headline, span, others.join(" · "), p50, p99, p999],
    }
}

fn said(of: &RateDocument) -> String {
    rate(of.per_second.estimate, &of.unit)
}
