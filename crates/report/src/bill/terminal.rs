//! Bills as text for a terminal.

use anstyle::Style;

use crate::columns::{Align, Cell, Table, printable};
use crate::document::{
    BillDocument, ChangeDocument, GateDocument, LatencyDocument, ProfileDocument, RunDocument,
};
use crate::number::{count, percent};

use super::words::{self, ends, often, signed, signed_percent, signless, verdict};

const DIM: Style = Style::new().dimmed();
const BOLD: Style = Style::new().bold();

/// The longest bar.
const BAR: usize = 20;

/// Columns of a terminal from which on there is room for bars and intervals.
const WITH_BARS: usize = 96;

/// Every bill of a run, and then what changes bring.
pub(crate) fn all(document: &RunDocument, width: Option<usize>) -> Vec<String> {
    let bills = document.bills.iter().map(|b| bill(b, width));
    bills.chain((!document.changes.is_empty()).then(|| changes(&document.changes, width))).collect()
}

/// What changes bring, predicted and measured.
fn changes(changes: &[ChangeDocument], width: Option<usize>) -> String {
    let mut table = Table::new([
        Align::Left,
        Align::Right,
        Align::Left,
        Align::Right,
        Align::Left,
        Align::Right,
        Align::Left,
    ]);
    table.row(
        ["What a change saves, in cycles", "predicted", "95 %", "measured", "95 %", "", ""]
            .map(|h| Cell::styled(h, if h.starts_with("What") { BOLD } else { DIM })),
    );
    for change in changes {
        let (predicted, measured) = (&change.predicted.ticks, &change.measured.ticks);
        table.row([
            Cell::plain(format!("  {}", words::change(change))),
            Cell::plain(signless(predicted.estimate)),
            Cell::styled(ends(predicted), DIM),
            Cell::plain(signless(measured.estimate)),
            Cell::styled(ends(measured), DIM),
            Cell::plain(signed_percent(-change.share)),
            Cell::plain(if change.holds { "holds" } else { "missed" }),
        ]);
    }
    if changes.iter().any(|c| !c.frozen) {
        let note = "tolls and paths were measured together: what was predicted was not written down first";
        table.across(2, Cell::styled(note, DIM));
    }
    table.render(width)
}

/// A bill; for a terminal of `width` columns, or unwrapped.
pub(crate) fn bill(bill: &BillDocument, width: Option<usize>) -> String {
    let bars = width.is_some_and(|w| w >= WITH_BARS);
    let mut table = Table::new([
        Align::Left,
        Align::Right,
        Align::Right,
        Align::Right,
        Align::Left,
        Align::Right,
        Align::Left,
    ]);
    let title = format!("Bill of {} {}", bill.path, bill.variant);
    table.across(0, Cell::styled(printable(&title), BOLD));
    table.across(2, Cell::styled(printable(&bill.params), DIM));
    let per = format!("per {}", printable(&bill.operation));
    let heads = ["  gate", &per, "toll", "cycles", "95 % interval", "share", ""];
    table.row(heads.map(|h| Cell::styled(h, DIM)));
    for gate in &bill.gates {
        table.row(row(gate, bars));
    }
    let line = |name: &str, cycles: String, interval: String, share: String| {
        let plain = |text: String| Cell::plain(text);
        vec![
            Cell::styled(format!("  {name}"), BOLD),
            plain(String::new()),
            plain(String::new()),
            Cell::styled(cycles, BOLD),
            plain(interval),
            plain(share),
        ]
    };
    if let Some(sum) = &bill.sum {
        table.row(line("sum", count(sum.ticks.estimate), ends(&sum.ticks), String::new()));
    }
    let measured = &bill.measured.ticks;
    table.row(line("measured end to end", count(measured.estimate), ends(measured), String::new()));
    if let Some(rest) = &bill.unexplained {
        let share = bill.unexplained_share.map(signed_percent).unwrap_or_default();
        table.row(line("unexplained", signed(rest.ticks.estimate), ends(&rest.ticks), share));
    }
    for (title, gates) in words::others(bill) {
        table.across(0, Cell::styled(format!("  {title}"), DIM));
        for gate in gates {
            table.row(row(gate, bars));
        }
    }
    let gates = || bill.gates.iter().chain(&bill.apart);
    if gates().any(|gate| gate.knock_out) {
        table.across(2, Cell::styled(words::KNOCK_OUT, DIM));
    }
    for gate in gates() {
        if let Some(why) = &gate.unknown {
            table.across(2, Cell::styled(printable(&format!("{}: unknown: {why}", gate.name)), DIM));
        }
    }
    table.across(2, Cell::styled(verdict(bill), DIM));
    let profile = bill.profile.as_ref().map(|p| profile(p, width)).unwrap_or_default();
    let latency = bill.latency.as_ref().map(|l| latency(l, &bill.operation, width)).unwrap_or_default();
    table.render(width) + &profile + &latency
}

/// The ledger of latency.
fn latency(latency: &LatencyDocument, operation: &str, width: Option<usize>) -> String {
    let mut table = Table::new([Align::Left, Align::Right, Align::Right, Align::Right, Align::Right]);
    let mut heads =
        vec![format!("  how long a {} is on its way ({} timed)", printable(operation), latency.timed)];
    heads.extend(crate::timed::HEADS.map(String::from));
    table.row(heads.into_iter().map(|h| Cell::styled(h, DIM)).collect::<Vec<_>>());
    for stage in &latency.stages {
        let mut cells = vec![Cell::plain(format!("  {}", printable(&stage.name)))];
        cells.extend(super::latency::cells(stage).map(Cell::plain));
        table.row(cells);
    }
    table.across(2, Cell::styled(super::latency::LEGEND, DIM));
    table.render(width)
}

/// What a sampling profiler saw, beside the bill.
fn profile(profile: &ProfileDocument, width: Option<usize>) -> String {
    let mut table = Table::new([Align::Left, Align::Right, Align::Left, Align::Right]);
    let heads = [
        format!("  sampled while it ran, {} times", profile.samples),
        "share".into(),
        "95 %".into(),
        "in the bill".into(),
    ];
    table.row(heads.map(|h| Cell::styled(h, DIM)));
    for part in &profile.parts {
        let (share, ends) = super::profile::share(&part.share);
        table.row([
            Cell::plain(format!("  {}", printable(&super::profile::title(part)))),
            Cell::plain(share),
            Cell::styled(ends, DIM),
            Cell::plain(part.billed.map_or("–".into(), percent)),
        ]);
    }
    table.render(width)
}

fn row(gate: &GateDocument, bars: bool) -> Vec<Cell> {
    let of = |text: Option<String>| Cell::plain(text.unwrap_or_else(|| "–".into()));
    let cost = gate.cost.as_ref().map(|c| c.ticks);
    let bar = match gate.share {
        Some(share) if bars => "█".repeat((share.clamp(0.0, 1.0) * BAR as f64).round() as usize),
        _ => String::new(),
    };
    vec![
        Cell::plain(format!("  {}", words::name(gate))),
        of(gate.visits.map(|n| often(n, gate.counted))),
        of(gate.a_visit.map(|t| signless(t.estimate))),
        of(cost.map(|c| signless(c.estimate))),
        Cell::plain(cost.map(|c| ends(&c)).unwrap_or_default()),
        of(gate.share.map(percent)),
        Cell::plain(bar),
    ]
}
