//! A comparison as text for a terminal.

use anstyle::{AnsiColor, Style};

use crate::columns::{Align, Cell, Table, printable, wrap};
use crate::document::{ComparedDocument, ComparisonDocument, VerdictDocument};
use crate::number::{percent, rate, ratio, time};
use crate::price_list::by_boundary;

/// How many differences of the machines are listed.
const DIFFERENCES: usize = 8;

fn style(verdict: VerdictDocument) -> Style {
    match verdict {
        VerdictDocument::Same => Style::new(),
        VerdictDocument::Better => AnsiColor::Green.on_default(),
        VerdictDocument::Worse => AnsiColor::Red.on_default().bold(),
        VerdictDocument::NotSeparable => AnsiColor::Yellow.on_default(),
    }
}

/// The verdict with what stood in its way: `not separable (steal 2.1 %)`.
pub(crate) fn verdict_text(figure: &ComparedDocument) -> String {
    match (&figure.ratio, &figure.why) {
        (Some(found), _) => {
            let word = found.verdict.word();
            match &figure.noise {
                Some(noise) if found.verdict == VerdictDocument::NotSeparable => {
                    // The first cause is enough in a column.
                    let cause = noise.split(", ").next().unwrap_or(noise);
                    format!("{word} ({})", printable(cause))
                }
                _ => word.into(),
            }
        }
        (None, why) => printable(why.as_deref().unwrap_or("–")),
    }
}

/// Why the ratio of a figure is not that of the two columns beside it, and what it is made of; `None` where
/// they agree.
pub(crate) fn unlike_its_columns(figure: &ComparedDocument) -> Option<String> {
    let columns = figure.unlike_its_columns()?;
    let [columns, least, most] = {
        let pairs = figure.pairs?;
        [columns, pairs.min, pairs.max].map(|x| format!("{x:.3}"))
    };
    Some(format!(
        "the columns' ratio is {columns}; that of the {} pairs side by side is, block by block, {least} to {most}",
        figure.trials[0]
    ))
}

/// What a reader must know about the figures.
pub(super) fn notes(figures: &[ComparedDocument]) -> Vec<String> {
    let mut notes = Vec::new();
    let noisy = figures.iter().filter(|f| f.noise.is_some()).count();
    if noisy > 0 {
        notes.push(format!(
            "{noisy} of {} figures come from a machine that was not quiet: compare again when it is.",
            figures.len()
        ));
    }
    let few = figures.iter().filter_map(|f| f.ratio.as_ref()).map(|r| r.blocks).min();
    if let Some(few @ 2..=4) = few {
        notes.push(format!(
            "With {few} blocks of fresh processes only large changes can be told; 10 are usual."
        ));
    }
    notes
}

/// How often each verdict was given, in words: `12 same · 1 worse · 3 not separable`.
pub(crate) fn tally(document: &ComparisonDocument) -> String {
    let count = |wanted: Option<VerdictDocument>| {
        document.figures.iter().filter(|f| f.ratio.as_ref().map(|r| r.verdict) == wanted).count()
    };
    [VerdictDocument::Worse, VerdictDocument::Better, VerdictDocument::Same, VerdictDocument::NotSeparable]
        .into_iter()
        .map(|v| (count(Some(v)), v.word()))
        .chain([(count(None), "without a ratio")])
        .filter(|(n, _)| *n > 0)
        .map(|(n, word)| format!("{n} {word}"))
        .collect::<Vec<_>>()
        .join(" · ")
}

/// What the verdicts hold for.
pub(crate) fn criteria(document: &ComparisonDocument) -> String {
    format!(
        "Intervals 95 %, each on its own; verdicts hold for all figures together (at most {} of them false). Same: within \
         ± {}, shown. {}{}",
        percent(document.false_discovery_rate),
        percent(document.margin),
        match document.figures.iter().any(|f| f.rates.is_some()) {
            true => "Of times lower is better, of rates higher.",
            false => "Lower is better.",
        },
        match document.pairing.as_str() {
            "paired" => {
                " Ratios are of pairs of trials, side by side; the columns are each side's median over all of its trials, in which \
                 drift that both sides share does not cancel."
            }
            _ => "",
        }
    )
}

/// A comparison for a terminal of `width` columns; `None` where the output is no terminal.
pub fn terminal(document: &ComparisonDocument, width: Option<usize>) -> String {
    let (bold, dim) = (Style::new().bold(), Style::new().dimmed());
    let (a, b) = (printable(&document.a.label), printable(&document.b.label));
    let mut table =
        Table::new([Align::Left, Align::Right, Align::Right, Align::Right, Align::Left, Align::Left]);
    table.across(0, Cell::styled(heading(document), bold));
    table.blank();
    let head = |text: String| Cell::styled(text, dim);
    table.row([
        head(String::new()),
        head(a.clone()),
        head(b.clone()),
        head(format!("{b} / {a}")),
        head("95 % interval".into()),
        head("verdict".into()),
    ]);
    for (title, figures) in by_boundary(&document.figures) {
        table.across(0, Cell::styled(printable(&title), bold));
        for figure in figures {
            row(&mut table, figure);
        }
    }
    table.blank();
    if document.figures.is_empty() {
        table.across(0, Cell::plain("They have no point in common."));
    } else {
        table.across(0, Cell::styled(tally(document), bold));
        table.across(0, Cell::styled(criteria(document), dim));
    }
    for note in &document.notes {
        table.across(0, Cell::plain(printable(note)));
    }
    for side in [&document.a.label, &document.b.label] {
        let only: Vec<&str> =
            document.only.iter().filter(|o| o.side == *side).map(|o| o.title.as_str()).collect();
        if !only.is_empty() {
            let list = printable(&format!("Only in {side}: {}", only.join("; ")));
            table.across(0, Cell::plain(list));
        }
    }
    machine(&mut table, document);
    table.render(width)
}

fn heading(document: &ComparisonDocument) -> String {
    let (a, b) = (&document.a, &document.b);
    let text = if document.pairing == "paired" {
        format!("{} against {}, side by side in run {}: {}", b.label, a.label, a.run, a.title)
    } else {
        let at = |t: jiff::Timestamp| t.strftime("%Y-%m-%d %H:%M UTC").to_string();
        format!(
            "{} ({}, {}) against {} ({}, {}), unpaired",
            b.label,
            b.title,
            at(b.started),
            a.label,
            a.title,
            at(a.started)
        )
    };
    printable(&text)
}

/// The figures of A and of B: their rates where these are compared, else their medians.
pub(crate) fn quoted(figure: &ComparedDocument) -> [String; 2] {
    match &figure.rates {
        Some(rates) => {
            [rates.a, rates.b].map(|span| span.map_or("–".into(), |s| rate(s.estimate, &rates.unit)))
        }
        None => [figure.a, figure.b].map(|e| e.map_or("–".into(), |e| time(e.ns.estimate))),
    }
}

fn row(table: &mut Table, figure: &ComparedDocument) {
    let [a, b] = quoted(figure);
    let (estimate, interval, style) = match &figure.ratio {
        Some(found) => {
            let (estimate, interval) = ratio(&found.b_over_a);
            (estimate, interval, style(found.verdict))
        }
        None => ("–".into(), String::new(), Style::new().dimmed()),
    };
    let mut cells = vec![
        Cell::plain(format!("  {}", printable(&figure.title))),
        Cell::plain(a),
        Cell::plain(b),
        Cell::plain(estimate),
        Cell::plain(interval),
    ];
    let said = verdict_text(figure);
    if figure.ratio.is_some() {
        cells.push(Cell::styled(said, style));
        table.row(cells);
        if let Some(why) = unlike_its_columns(figure) {
            table.across(4, Cell::styled(why, Style::new().dimmed()));
        }
    } else {
        // A reason is a sentence: in a column it would push all others aside.
        cells.push(Cell::plain(""));
        table.row(cells);
        table.across(4, Cell::styled(said, style));
    }
}

fn machine(table: &mut Table, document: &ComparisonDocument) {
    if document.machine_differences.is_empty() {
        return;
    }
    table.blank();
    table.across(0, Cell::styled("The machines differ", Style::new().bold()));
    for d in document.machine_differences.iter().take(DIFFERENCES) {
        let value = |v: &serde_json::Value| match v {
            serde_json::Value::Null => "–".into(),
            serde_json::Value::String(s) => wrap(&printable(s), None).concat(),
            other => printable(&other.to_string()),
        };
        table.across(2, Cell::plain(format!("{}: {} → {}", printable(&d.field), value(&d.a), value(&d.b))));
    }
    let more = document.machine_differences.len().saturating_sub(DIFFERENCES);
    if more > 0 {
        table.across(2, Cell::plain(format!("and {more} more; `--json` has them all")));
    }
}
