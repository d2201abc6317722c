//! The figures of a run as CSV: a line for each point, base units, empty where there is no figure.

use crate::document::{Estimate, PointDocument, RunDocument, SampleKind, Span};

/// The names of the columns. A column is only ever added at the end.
const COLUMNS: [&str; 46] = [
    "run",
    "point",
    "side",
    "path",
    "variant",
    "params",
    "toll",
    "boundary",
    "title",
    "operation",
    "state",
    "trials",
    "blocks",
    "quiet_share",
    "batch",
    "samples",
    "median_ns",
    "median_ns_lo",
    "median_ns_hi",
    "median_ticks",
    "median_ticks_lo",
    "median_ticks_hi",
    "mean_ns",
    "mean_ns_lo",
    "mean_ns_hi",
    "p99_ns",
    "p99_ns_lo",
    "p99_ns_hi",
    "confidence",
    "predicted_ns",
    "predicted_ns_lo",
    "predicted_ns_hi",
    "why_no_figure",
    "tenant",
    "to_host",
    "to_host_lo",
    "to_host_hi",
    "to_host_verdict",
    "tenants",
    "share_min",
    "share_median",
    "share_max",
    "rate_total",
    "fastest_over_slowest",
    "fastest_over_slowest_lo",
    "fastest_over_slowest_hi",
];

pub(crate) fn run(document: &RunDocument) -> String {
    let mut out = String::new();
    line(&mut out, COLUMNS.into_iter().map(String::from));
    for point in &document.points {
        let fields = fields(document.run.id, point).into_iter().chain(tenancy(document, point));
        line(&mut out, fields);
    }
    out
}

fn fields(run: i64, point: &PointDocument) -> [String; 33] {
    let share = point.quiet_share.map(|s| s.to_string()).unwrap_or_default();
    let params: Vec<String> = point.params.iter().map(|(axis, value)| format!("{axis}={value}")).collect();
    let [median, low, high] = ns(point.median);
    let [mean, mean_low, mean_high] = ns(point.mean);
    let [p99, p99_low, p99_high] = ns(point.p99);
    let ticks =
        |of: fn(&Estimate) -> f64| point.median.as_ref().map(|m| of(m).to_string()).unwrap_or_default();
    let [predicted, predicted_low, predicted_high] = match &point.prediction {
        Some(p) => [p.ns.estimate, p.ns.lo, p.ns.hi].map(|x| x.to_string()),
        None => Default::default(),
    };
    let samples = match point.samples {
        SampleKind::Operations => "operations",
        SampleKind::Batches => "batches",
    };
    let why = match (&point.skipped, &point.error) {
        (Some(m), _) => format!("skipped: {}: {} → {}", m.what, m.reason, m.remedy),
        (None, Some(error)) => format!("failed: {error}"),
        (None, None) => String::new(),
    };
    [
        run.to_string(),
        point.id.to_string(),
        point.side.clone().unwrap_or_default(),
        point.path.clone(),
        point.variant.clone(),
        params.join(" "),
        point.toll.as_ref().map(ToString::to_string).unwrap_or_default(),
        point.boundary.map(|b| b.title().to_string()).unwrap_or_default(),
        point.title.clone(),
        point.operation.clone(),
        point.state.clone(),
        point.trials.to_string(),
        point.blocks.to_string(),
        share,
        point.batch.map(|b| b.to_string()).unwrap_or_default(),
        samples.into(),
        median,
        low,
        high,
        ticks(|m| m.ticks.estimate),
        ticks(|m| m.ticks.lo),
        ticks(|m| m.ticks.hi),
        mean,
        mean_low,
        mean_high,
        p99,
        p99_low,
        p99_high,
        point.median.map(|m| m.confidence.to_string()).unwrap_or_default(),
        predicted,
        predicted_low,
        predicted_high,
        why,
    ]
}

/// Where it was measured, what that costs against a process of this machine, and what each tenant got.
fn tenancy(document: &RunDocument, point: &PointDocument) -> [String; 13] {
    let table = document.host_against_guest.iter().flat_map(|t| &t.crossings);
    let to_host =
        table.flat_map(|c| &c.measured).find(|m| m.point == point.id).and_then(|m| m.to_host.as_ref());
    let span = |span: Option<&Span>| {
        span.map_or_else(Default::default, |s| [s.estimate, s.lo, s.hi].map(|x| x.to_string()))
    };
    let [ratio, ratio_low, ratio_high] = span(to_host.map(|r| &r.b_over_a));
    let tenants = point.tenants.as_ref();
    let [least, median, most] = tenants
        .and_then(|t| t.share)
        .map_or_else(Default::default, |s| [s.min, s.median, s.max].map(|x| x.to_string()));
    let [fairness, fairness_low, fairness_high] = span(tenants.and_then(|t| t.fastest_over_slowest.as_ref()));
    [
        point.params.get("tenant").map(ToString::to_string).unwrap_or_default(),
        ratio,
        ratio_low,
        ratio_high,
        to_host.map(|r| r.verdict.word().to_string()).unwrap_or_default(),
        tenants.map(|t| t.measured.to_string()).unwrap_or_default(),
        least,
        median,
        most,
        tenants.and_then(|t| t.total_rate).map(|r| r.estimate.to_string()).unwrap_or_default(),
        fairness,
        fairness_low,
        fairness_high,
    ]
}

fn ns(estimate: Option<Estimate>) -> [String; 3] {
    estimate.map_or_else(Default::default, |e| [e.ns.estimate, e.ns.lo, e.ns.hi].map(|x| x.to_string()))
}

/// Lines of fields as CSV (RFC 4180).
pub fn lines(lines: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut out = String::new();
    lines.into_iter().for_each(|fields| line(&mut out, fields));
    out
}

fn line(out: &mut String, fields: impl IntoIterator<Item = String>) {
    let fields: Vec<String> = fields.into_iter().map(|f| quoted(&f)).collect();
    out.push_str(&fields.join(","));
    out.push_str("\r\n");
}

/// RFC 4180, section 2: quotes where a field has a comma, a quote or a line's end, and quotes in it doubled.
fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\r', '\n']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.into()
    }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn what_would_end_a_field_is_quoted() {
        assert_eq!(quoted("plain text"), "plain text");
        assert_eq!(quoted("a,b"), "\"a,b\"");
        assert_eq!(quoted("say \"no\"\r\n"), "\"say \"\"no\"\"\r\n\"");
    }
}
