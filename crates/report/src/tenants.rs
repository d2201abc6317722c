//! What the tenants of points got, as words: a row for each point with several measured actors, and one for all points
//! with a single guest of a kind.

use tollway_core::TenantKind;

use crate::columns::printable;
use crate::document::{PointDocument, Range, RunDocument, Span, TenantsDocument};
use crate::host_against_guest::kind_title;
use crate::number::{count, percent, ratio, rounded_span};

/// A row of the table.
pub(crate) struct TenantsRow {
    /// What was measured.
    pub(crate) title: String,
    /// How many tenants at once, and of what kind: `60 micro-guests`.
    pub(crate) tenants: String,
    /// Shares of a processor: `3.1 % · 3.3 % · 3.5 %`.
    pub(crate) share: String,
    /// The share by a guest's own reckoning, where that comes to something else.
    pub(crate) own: String,
    /// Operations a second of each tenant, least, median and most.
    pub(crate) rate: String,
    /// Operations a second of all, with its interval.
    pub(crate) total: String,
    /// The fastest over the slowest, with its interval.
    pub(crate) fairness: String,
}

/// What the columns are called.
pub(crate) const HEADS: [&str; 7] = [
    "What each tenant got",
    "tenants",
    "share of a processor",
    "own reckoning",
    "operations/s each",
    "together",
    "fastest / slowest",
];

/// What the columns mean.
pub(crate) const LEGEND: &str = "Three numbers are the least, the median and the greatest over the tenants of a point. The \
    share is what this machine gave the tenant's thread or virtual processor while it ran (asleep it takes none); a guest that is not told when it must wait \
    reckons otherwise. Fastest over \
    slowest is taken trial by trial, so that it has the noise of single trials in it; its interval is over blocks.";

pub(crate) fn rows(document: &RunDocument) -> Vec<TenantsRow> {
    let mut rows = Vec::new();
    let mut single: Vec<(TenantKind, Vec<f64>, Vec<f64>)> = Vec::new();
    for point in document.points.iter().filter(|p| !p.on_a_curve()) {
        let Some(tenants) = &point.tenants else { continue };
        match tenants.measured {
            0 => {}
            1 => {
                let Some(kind) = guest_of(tenants) else { continue };
                let at = single.iter().position(|(k, ..)| *k == kind).unwrap_or_else(|| {
                    single.push((kind, Vec::new(), Vec::new()));
                    single.len() - 1
                });
                single[at].1.extend(tenants.share.map(|s| s.median));
                single[at].2.extend(tenants.own_share.map(|s| s.median));
            }
            _ => rows.push(several(&title(point), tenants, document)),
        }
    }
    for (kind, shares, own) in single {
        let points = shares.len().max(own.len());
        rows.push(TenantsRow {
            title: match points {
                1 => "one alone".into(),
                n => format!("one alone, over {n} points"),
            },
            tenants: kind_title(kind, &document.guests),
            share: Range::of(&shares).map_or("–".into(), |s| range(s, percent)),
            own: own_share(Range::of(&shares), Range::of(&own)),
            rate: "–".into(),
            total: "–".into(),
            fairness: "–".into(),
        });
    }
    rows
}

/// The guest of a point with a single measured actor: that actor's, or its server's.
fn guest_of(tenants: &TenantsDocument) -> Option<TenantKind> {
    let guest = |kind: &TenantKind| matches!(kind, TenantKind::MicroGuest | TenantKind::LinuxGuest);
    tenants.tenant.filter(guest)
}

/// What was measured: where it lived is a column of its own.
fn title(point: &PointDocument) -> String {
    let title = point.label();
    match (&point.toll, point.params.get("tenant")) {
        // A title without a toll is made of the crossing's, or of the parameters.
        (None, Some(tenant)) => {
            [format!(", in a {tenant}"), ", in a Linux guest".into(), format!(", {tenant}s")]
                .iter()
                .fold(title.replace(&format!(" tenant={tenant}"), ""), |title, tenant| {
                    title.replace(tenant, "")
                })
        }
        _ => title,
    }
}

fn several(title: &str, tenants: &TenantsDocument, document: &RunDocument) -> TenantsRow {
    let kind = tenants.tenant.map_or("tenants".into(), |kind| match kind {
        TenantKind::Process => "processes".into(),
        TenantKind::LinuxGuest => kind_title(kind, &document.guests).replacen("guest", "guests", 1),
        other => format!("{}s", other.title()),
    });
    let fairness = match &tenants.fastest_over_slowest {
        Some(span) if is_wide(span) => format!("{} ?", ratio(span).0),
        Some(span) => {
            let (estimate, interval) = ratio(span);
            format!("{estimate} {interval}")
        }
        None if tenants.starved_trials > 0 => match tenants.starved_trials {
            1 => "one got nothing in a trial".into(),
            n => format!("one got nothing in {n} trials"),
        },
        None => "–".into(),
    };
    TenantsRow {
        title: printable(title),
        tenants: format!("{} {kind}", tenants.measured),
        share: tenants.share.map_or("–".into(), |s| range(s, percent)),
        own: own_share(tenants.share, tenants.own_share),
        rate: tenants.rate.map_or("–".into(), |r| range(r, count)),
        total: tenants.total_rate.as_ref().map_or("–".into(), total),
        fairness,
    }
}

/// Whether an interval, of two or three blocks, says nothing.
fn is_wide(span: &Span) -> bool {
    /// So many times the estimate.
    const WIDE: f64 = 10.0;
    span.lo <= 0.0 || span.hi > WIDE * span.estimate
}

fn total(span: &Span) -> String {
    let (estimate, interval) = rounded_span(span);
    if is_wide(span) {
        return format!("{estimate} ?");
    }
    format!("{estimate} {interval}")
}

fn range(range: Range, say: impl Fn(f64) -> String) -> String {
    [range.min, range.median, range.max].map(say).join(" · ")
}

/// The median share by a guest's own reckoning, where that comes to something else than what the host gave.
fn own_share(given: Option<Range>, own: Option<Range>) -> String {
    match (given, own) {
        (Some(given), Some(own)) if (own.median - given.median).abs() <= 0.02 => String::new(),
        (_, Some(own)) => percent(own.median),
        (_, None) => String::new(),
    }
}
