//! The score card: what a machine gives to programs, a row for each part, told as a rate where that says more than a time.

pub(crate) mod markdown;
pub(crate) mod sections;
pub(crate) mod terminal;

use crate::columns::printable;
use crate::document::{PointDocument, RateDocument, RunDocument};
use crate::number::{interval, percent, rate, rate_interval, time};

pub(crate) use sections::{Family, sections};

/// The title.
pub(crate) const TITLE: &str = "What this machine gives";

/// What the columns are called.
pub(crate) const HEADS: [&str; 6] = ["figure", "95 % interval", "that is", "p50", "p99", "p99.9"];

/// What a row without a figure lacks.
pub(crate) const NO_FIGURE: &str = "– fewer than two trials: there is no figure without an interval";

/// A row in words.
pub(crate) struct Row {
    /// Its title, without what is said once for its family.
    pub(crate) title: String,
    /// In the order of [`HEADS`].
    pub(crate) cells: [String; 6],
    /// Why it is noisy, if it is.
    pub(crate) noise: Option<String>,
}

impl RunDocument {
    /// Whether a point is on the card: it yields something that is counted by the second, or stands beside points of its path that do
    /// and is no toll.
    pub(crate) fn on_card(&self, point: &PointDocument) -> bool {
        point.unit.is_some()
            || point.toll.is_none() && self.points.iter().any(|p| p.path == point.path && p.unit.is_some())
    }
}

/// A point in words.
pub(crate) fn row(family: &Family<'_>, point: &PointDocument) -> Row {
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
    Row {
        title: printable(&family.title(point)),
        cells: [headline, span, others.join(" · "), p50, p99, p999],
        noise: noise(point),
    }
}

fn said(of: &RateDocument) -> String {
    rate(of.per_second.estimate, &of.unit)
}

/// Why the figure of a point is noisy, in words; `None` where it is not.
pub(crate) fn noise(point: &PointDocument) -> Option<String> {
    let quiet = point.quiet_share.filter(|_| point.noisy())?;
    let many = match quiet {
        0.0 => "all".into(),
        share => format!("{} of", percent(1.0 - share)),
    };
    let reasons: Vec<String> = point.noise.iter().map(|n| printable(&n.reason)).collect();
    Some(format!("{many} trials noisy: {}", reasons.join(", ")))
}

/// What is said once where all rows are noisy, mostly for the same reason: that reason.
pub(crate) fn noise_of_all(document: &RunDocument) -> Option<String> {
    let on_card: Vec<&PointDocument> =
        document.points.iter().filter(|p| document.on_card(p) && p.quiet_share.is_some()).collect();
    fn reason(point: &PointDocument) -> Option<&String> {
        point.noise.first().filter(|_| point.noisy()).map(|noise| &noise.reason)
    }
    let first = reason(on_card.first()?)?;
    (on_card.len() > 1 && on_card.iter().all(|point| reason(point) == Some(first))).then(|| printable(first))
}

/// The blocks of a point in the order in which they ran: of its headline rate, else of the time in nanoseconds.
pub(crate) fn blocks(point: &PointDocument) -> &[f64] {
    point.rates.first().map_or(&point.blocks_ns, |first| &first.blocks)
}
