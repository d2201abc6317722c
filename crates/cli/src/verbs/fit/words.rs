//! The answer as text: figures, families that are left, models and why they are rejected, the command to go on with.

use anstyle::Style;
use tollway_model::Unit;
use tollway_report::columns::{Align, Cell, Table, printable};

use super::against::CheckDocument;
use super::document::{CoalescingDocument, FamilyDocument, FitDocument, ModelVerdictDocument};
use crate::figure;

const DIM: Style = Style::new().dimmed();
const BOLD: Style = Style::new().bold();

/// Families that are shown of those that are left.
const SHOWN: usize = 3;

/// For a terminal of that many columns, or unwrapped.
pub fn text(document: &FitDocument, width: Option<usize>) -> String {
    let mut text = heading(document).render(width) + &estimates(document).render(width);
    if !document.families.is_empty() {
        text += &families(document).render(width);
    }
    if let Some(found) = &document.coalescing {
        text += &format!("coalescing  {}\n", coalescing(found));
    }
    if !document.models.is_empty() || document.delivery.is_some() {
        text += &models(document).render(width);
    }
    if let Some(check) = &document.check {
        text += &checked(document, check).render(width);
    }
    for note in &document.notes {
        text += &format!("note        {}\n", printable(note));
    }
    if document.check.is_none() {
        text += &go_on(document);
    }
    text
}

/// The commands to go on with.
fn go_on(document: &FitDocument) -> String {
    let mut text = String::new();
    let of_delivery = document.delivery.as_ref().and_then(|judged| judged.command.as_ref());
    if let Some(command) = document.command.as_ref().filter(|command| Some(*command) != of_delivery) {
        let of_rejected = document.models.iter().any(|m| m.rejected && m.command.as_ref() == Some(command));
        let word = if of_rejected { "no model is left; the nearest" } else { "go on with" };
        text += &format!("{word}: {command}\n");
    }
    if let Some(command) = of_delivery {
        text += &format!("how completions are told: {command}\n");
    }
    text
}

fn heading(document: &FitDocument) -> Table {
    let of = document.trace.as_deref().unwrap_or("counters");
    let servers =
        if document.servers == 1 { "one server".into() } else { format!("{} servers", document.servers) };
    let mut head = Table::new(Vec::new());
    head.across(0, Cell::styled(format!("{of} · {} customers · {servers}", document.customers), BOLD));
    head
}

fn estimates(document: &FitDocument) -> Table {
    let mut table = Table::new([Align::Left, Align::Right, Align::Left]);
    table.row(["", "", "95 % interval"].map(|text| Cell::styled(text, DIM)));
    for (name, unit) in &document.order {
        let Some(estimate) = document.estimates.get(name) else { continue };
        let interval = match (estimate.lo, estimate.hi) {
            (Some(lo), Some(hi)) => format!("{} – {}", figure::text(lo, *unit), figure::text(hi, *unit)),
            _ => "–".into(),
        };
        let value = figure::text(estimate.value, *unit);
        table.row([format!("  {name}"), value, interval].map(Cell::plain));
    }
    table
}

/// What is left of the families of gaps, then of services; the nearest where none is.
fn families(document: &FitDocument) -> Table {
    let mut table =
        Table::new([Align::Left, Align::Left, Align::Right, Align::Right, Align::Right, Align::Right]);
    let heads = ["", "fits", "elsewhere", "p", "cv²", "wait"];
    table.row(heads.map(|text| Cell::styled(text, DIM)));
    for of in ["gap", "service"] {
        let all: Vec<&FamilyDocument> = document.families.iter().filter(|f| f.of == of).collect();
        let left = all.iter().filter(|f| !f.rejected).take(SHOWN).count();
        // Where none is left, the nearest tells how far away all are.
        let shown = left.max(usize::from(all.iter().any(|f| f.why_not.is_none())));
        for (at, family) in all.iter().take(shown).enumerate() {
            let name = if at == 0 { format!("  {of}") } else { String::new() };
            let verdict = if family.rejected { " (rejected; the nearest)" } else { "" };
            let member = family.distribution.as_deref().unwrap_or(&family.family);
            let p = family.ad_p.map(|p| if p <= 0.001 { "≤ 0.001".into() } else { format!("{p:.2}") });
            table.row([
                Cell::plain(name),
                Cell::plain(format!("{member}{verdict}")),
                Cell::plain(family.ks.map_or_else(String::new, |ks| figure::text(ks, Unit::Share))),
                Cell::plain(p.unwrap_or_default()),
                Cell::plain(family.scv_off.map_or_else(String::new, signed)),
                Cell::plain(family.wait_off.map_or_else(String::new, per_cent)),
            ]);
        }
        let rejected: Vec<String> = all[shown.min(all.len())..]
            .iter()
            .filter(|f| f.rejected && f.why_not.is_none())
            .map(|f| format!("{} {}", f.family, figure::text(f.ks.unwrap_or(1.0), Unit::Share)))
            .collect();
        if !rejected.is_empty() {
            table.across(2, Cell::styled(format!("rejected for {of}: {}", rejected.join(", ")), DIM));
        }
    }
    table
}

fn models(document: &FitDocument) -> Table {
    let mut table = Table::new(Vec::new());
    let of_queue = document.models.iter().map(|judged| (judged, "response"));
    for (judged, what) in of_queue.chain(document.delivery.iter().map(|judged| (judged, "delay"))) {
        let verdict = if judged.rejected {
            format!("rejected: {}", judged.reasons.join("; "))
        } else {
            format!("not rejected{}", predictions(judged, what))
        };
        table.across(2, Cell::plain(format!("{}: {verdict}", judged.title)));
    }
    table
}

/// What a model predicts, and how far off that is where it was seen.
fn predictions(judged: &ModelVerdictDocument, what: &str) -> String {
    let one = |name: &str, predicted: Option<f64>, off: Option<f64>| {
        let value = figure::text(predicted?, Unit::Seconds);
        let off = off.map_or_else(String::new, |off| format!(" ({})", per_cent(off)));
        Some(format!("{name} {value}{off}"))
    };
    let mean = one("mean", judged.predicted_mean, judged.mean_off);
    let p99 = one("p99", judged.predicted_p99, judged.p99_off);
    let both: Vec<String> = mean.into_iter().chain(p99).collect();
    if both.is_empty() { String::new() } else { format!("; {what} predicted: {}", both.join(", ")) }
}

/// Each figure as predicted and as measured, and the verdict.
fn checked(document: &FitDocument, check: &CheckDocument) -> Table {
    let mut table =
        Table::new([Align::Left, Align::Right, Align::Right, Align::Left, Align::Right, Align::Left]);
    let file = match check.file.as_str() {
        "-" => "read from standard input".into(),
        file => format!("frozen in {}", printable(file)),
    };
    let title = format!("prediction of {}, {file}", check.model);
    table.across(0, Cell::styled(title, BOLD));
    let heads = ["", "predicted", "measured", "95 % interval", "off", ""];
    table.row(heads.map(|text| Cell::styled(text, DIM)));
    for (name, unit) in &document.order {
        let (Some(figure), Some(seen)) = (check.figures.get(name), document.estimates.get(name)) else {
            continue;
        };
        let told = |value: f64| figure::text(value, *unit);
        let interval = seen.lo.zip(seen.hi).map(|(lo, hi)| format!("{} – {}", told(lo), told(hi)));
        let verdict = if figure.holds { "holds" } else { "does not hold" };
        table.row(
            [
                format!("  {name}"),
                told(figure.predicted),
                told(seen.value),
                interval.unwrap_or_default(),
                per_cent(figure.off),
                verdict.into(),
            ]
            .map(Cell::plain),
        );
    }
    table
}

fn coalescing(found: &CoalescingDocument) -> String {
    let told = |value: f64, lo: Option<f64>, hi: Option<f64>, unit: Unit| {
        let interval =
            lo.zip(hi).map(|(lo, hi)| format!(" [{}, {}]", figure::text(lo, unit), figure::text(hi, unit)));
        figure::text(value, unit) + &interval.unwrap_or_default()
    };
    let mut parts = vec![
        told(found.rate, found.rate_lo, found.rate_hi, Unit::PerSecond) + " interrupts",
        told(found.batch_mean, found.batch_mean_lo, found.batch_mean_hi, Unit::Ratio) + " completions each",
    ];
    parts.extend(found.count.map(|count| format!("count {count}")));
    let timer = |timer| format!("timer {}", told(timer, found.timer_lo, found.timer_hi, Unit::Seconds));
    parts.extend(found.timer.map(timer));
    parts.extend(found.cap.map(|cap| format!("cap {}", figure::text(cap, Unit::PerSecond))));
    parts.extend(found.period.map(|period| format!("period {}", figure::text(period, Unit::Seconds))));
    parts.push(format!("{} explained", figure::text(found.explained, Unit::Share)));
    parts.join(" · ")
}

/// A difference of cv²; what is next to none is none.
fn signed(value: f64) -> String {
    with_sign(value, format!("{:.3}", value.abs()))
}

fn per_cent(share: f64) -> String {
    with_sign(share, format!("{:.1}", 100.0 * share.abs())) + " %"
}

fn with_sign(value: f64, digits: String) -> String {
    match digits.bytes().any(|b| (b'1'..=b'9').contains(&b)) {
        true if value < 0.0 => format!("−{digits}"),
        true => format!("+{digits}"),
        false => digits,
    }
}
