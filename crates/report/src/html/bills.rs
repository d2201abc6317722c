//! Bills on the page: a bar for each path, cut into its gates, all on one scale; a table of each; what changes bring.

use serde::Serialize;

use crate::bill::{latency, profile, words};
use crate::columns::printable;
use crate::document::{
    BillDocument, ChangeDocument, GateDocument, LatencyDocument, PartDocument, ProfileDocument, RunDocument,
};
use crate::number::{count, percent};

/// Colours of gates; further gates share the last.
const COLOURS: usize = 10;

#[derive(Serialize)]
pub(super) struct BillsView {
    bars: Vec<Bar>,
    legend: Vec<(usize, String)>,
    tables: Vec<BillView>,
    changes: Vec<Vec<String>>,
    frozen: bool,
}

/// A path's cost, cut into its gates.
#[derive(Serialize)]
struct Bar {
    label: String,
    total: String,
    /// Where what was measured end to end ends, in per cent of the scale.
    measured: f64,
    parts: Vec<Part>,
}

#[derive(Serialize)]
struct Part {
    x: f64,
    width: f64,
    colour: usize,
    title: String,
}

#[derive(Serialize)]
struct BillView {
    title: String,
    params: String,
    operation: String,
    rows: Vec<GateView>,
    sums: Vec<Vec<String>>,
    /// What other roles pay for: a title for each, and its gates.
    others: Vec<(String, Vec<GateView>)>,
    knock_out: Option<&'static str>,
    verdict: String,
    closes: Option<bool>,
    sampled: Option<SampledView>,
    latency: Option<LatencyView>,
}

/// How long what passed was on its way.
#[derive(Serialize)]
struct LatencyView {
    timed: u64,
    heads: [&'static str; 4],
    rows: Vec<(String, [String; 4])>,
    legend: &'static str,
}

/// What a sampling profiler saw.
#[derive(Serialize)]
struct SampledView {
    samples: u64,
    rows: Vec<[String; 4]>,
}

#[derive(Serialize)]
struct GateView {
    colour: usize,
    name: String,
    key: String,
    cells: Vec<String>,
    unknown: Option<String>,
}

impl BillsView {
    pub(super) fn of(document: &RunDocument) -> Option<BillsView> {
        let bills = &document.bills;
        let whole = |bill: &BillDocument| {
            let sum = bill.sum.map_or(0.0, |s| s.ticks.estimate);
            bill.measured.ticks.estimate.max(sum)
        };
        let longest = bills.iter().map(whole).fold(0.0, f64::max);
        if bills.is_empty() || longest <= 0.0 {
            return None;
        }
        let mut names: Vec<&str> = Vec::new();
        for gate in bills.iter().flat_map(|bill| &bill.gates) {
            if !names.contains(&gate.name.as_str()) {
                names.push(&gate.name);
            }
        }
        let colour = |name: &str| names.iter().position(|n| *n == name).unwrap_or(COLOURS).min(COLOURS - 1);
        Some(BillsView {
            bars: bills.iter().map(|bill| Bar::of(bill, longest, &colour)).collect(),
            legend: names.iter().map(|name| (colour(name), printable(name))).collect(),
            tables: bills.iter().map(|bill| BillView::of(bill, &colour)).collect(),
            changes: document.changes.iter().map(change).collect(),
            frozen: document.changes.iter().all(|change| change.frozen),
        })
    }
}

impl Bar {
    fn of(bill: &BillDocument, longest: f64, colour: &dyn Fn(&str) -> usize) -> Bar {
        let share = |ticks: f64| (ticks / longest * 10_000.0).round() / 100.0;
        let mut x = 0.0;
        let mut parts = Vec::new();
        for gate in &bill.gates {
            // A difference of tolls may come out below nothing; there is nothing to draw of it then.
            // What is no part of the sum is no part of the bar.
            let cost = gate.cost.filter(|_| !gate.knock_out).map(|c| c.ticks.estimate);
            let Some(ticks) = cost.filter(|t| *t > 0.0) else { continue };
            let title = format!("{}: {} cycles", printable(&gate.name), count(ticks));
            parts.push(Part { x: share(x), width: share(ticks), colour: colour(&gate.name), title });
            x += ticks;
        }
        Bar {
            label: printable(&format!("{} {}", bill.path, bill.variant)),
            total: count(bill.measured.ticks.estimate),
            measured: share(bill.measured.ticks.estimate),
            parts,
        }
    }
}

impl BillView {
    fn of(bill: &BillDocument, colour: &dyn Fn(&str) -> usize) -> BillView {
        let mut sums = Vec::new();
        let line = |name: &str, cycles: String, interval: String, share: String| {
            vec![name.to_string(), cycles, interval, share]
        };
        if let Some(sum) = &bill.sum {
            sums.push(line("sum", count(sum.ticks.estimate), words::ends(&sum.ticks), String::new()));
        }
        let measured = &bill.measured.ticks;
        sums.push(line(
            "measured end to end",
            count(measured.estimate),
            words::ends(measured),
            String::new(),
        ));
        if let Some(rest) = &bill.unexplained {
            let share = bill.unexplained_share.map(words::signed_percent).unwrap_or_default();
            sums.push(line(
                "unexplained",
                words::signed(rest.ticks.estimate),
                words::ends(&rest.ticks),
                share,
            ));
        }
        BillView {
            title: printable(&format!("{} {}", bill.path, bill.variant)),
            params: printable(&bill.params),
            operation: printable(&bill.operation),
            rows: bill.gates.iter().map(|gate| GateView::of(gate, colour(&gate.name))).collect(),
            sums,
            others: words::others(bill)
                .into_iter()
                .map(|(title, gates)| {
                    (title, gates.into_iter().map(|gate| GateView::of(gate, COLOURS - 1)).collect())
                })
                .collect(),
            knock_out: bill.gates.iter().chain(&bill.apart).any(|g| g.knock_out).then_some(words::KNOCK_OUT),
            verdict: words::verdict(bill),
            closes: bill.closes,
            sampled: bill.profile.as_ref().map(SampledView::of),
            latency: bill.latency.as_ref().map(LatencyView::of),
        }
    }
}

impl LatencyView {
    fn of(ledger: &LatencyDocument) -> LatencyView {
        LatencyView {
            timed: ledger.timed,
            heads: crate::timed::HEADS,
            rows: ledger.stages.iter().map(|s| (printable(&s.name), latency::cells(s))).collect(),
            legend: latency::LEGEND,
        }
    }
}

impl SampledView {
    fn of(profile: &ProfileDocument) -> SampledView {
        let row = |part: &PartDocument| {
            let (share, ends) = profile::share(&part.share);
            [printable(&profile::title(part)), share, ends, part.billed.map_or("–".into(), percent)]
        };
        SampledView { samples: profile.samples, rows: profile.parts.iter().map(row).collect() }
    }
}

impl GateView {
    fn of(gate: &GateDocument, colour: usize) -> GateView {
        let text = |value: Option<String>| value.unwrap_or_else(|| "–".into());
        let cost = gate.cost.map(|c| c.ticks);
        let less = gate.less.as_ref().map(|less| format!(" less {less}")).unwrap_or_default();
        GateView {
            colour,
            name: words::name(gate),
            key: printable(&gate.toll.as_ref().map(|key| format!("{key}{less}")).unwrap_or_default()),
            cells: vec![
                text(gate.visits.map(|n| words::often(n, gate.counted))),
                text(gate.a_visit.map(|t| words::signless(t.estimate))),
                text(cost.map(|c| words::signless(c.estimate))),
                text(cost.map(|c| words::ends(&c))),
                text(gate.share.map(percent)),
            ],
            unknown: gate.unknown.as_deref().map(printable),
        }
    }
}

fn change(change: &ChangeDocument) -> Vec<String> {
    let (predicted, measured) = (&change.predicted.ticks, &change.measured.ticks);
    vec![
        words::change(change),
        words::signless(predicted.estimate),
        words::ends(predicted),
        words::signless(measured.estimate),
        words::ends(measured),
        words::signed_percent(-change.share),
        if change.holds { "holds".into() } else { "missed".into() },
    ]
}
