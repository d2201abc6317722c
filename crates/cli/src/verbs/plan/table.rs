//! A plan as text: one case at length, several as a table.

use anstyle::Style;
use tollway_model::Unit;
use tollway_report::columns::{Align, Cell, Table, printable};

use super::document::{CaseDocument, KeptDocument, PlanDocument};
use crate::figure;

const DIM: Style = Style::new().dimmed();
const BOLD: Style = Style::new().bold();

/// Elasticities that are shown, the largest; smaller ones than this are not.
const MOST_ELASTICITIES: usize = 6;
const LEAST_ELASTICITY: f64 = 0.005;

/// For a terminal of that many columns, or unwrapped.
pub fn text(document: &PlanDocument, width: Option<usize>) -> String {
    match &document.cases[..] {
        [case] => one(document, case, width),
        cases => several(document, cases, width),
    }
}

/// One case: the value, what binds, the figures there, what moves it.
fn one(document: &PlanDocument, case: &CaseDocument, width: Option<usize>) -> String {
    let mut head = Table::new(Vec::new());
    let given = case.parameters.iter().map(|(name, text)| format!("{name} {text}"));
    let title: Vec<String> = [case.title.clone()].into_iter().chain(given).collect();
    head.across(0, Cell::styled(printable(&title.join(" · ")), BOLD));
    let (Some(value), keep) = (case.value, document.keep.join(", ")) else {
        head.across(0, Cell::plain(printable(case.problem.as_deref().unwrap_or_default())));
        return head.render(width);
    };
    let value = figure::text(value, document.of);
    let answer = format!("{} {} to keep {keep}: {value}", document.goal, document.vary);
    head.across(0, Cell::plain(printable(&answer)));
    head.across(2, Cell::plain(printable(&format!("binds  {}", case.binds.join(", ")))));
    head.across(2, Cell::plain(printable(&format!("kept   {}", intervals(document, case)))));
    let mut figures = Table::new([Align::Left, Align::Right]);
    figures.row([Cell::styled("there", DIM), Cell::plain("")]);
    for metric in &case.metrics {
        let value = figure::text(metric.value, metric.unit);
        figures.row([Cell::plain(format!("  {}", printable(&metric.name))), Cell::plain(value)]);
    }
    head.render(width) + &figures.render(width) + &elasticities(document, case, width)
}

/// Several cases: a line each, the best marked, and below what a line cannot say.
fn several(document: &PlanDocument, cases: &[CaseDocument], width: Option<usize>) -> String {
    let shown =
        document.columns.iter().filter(|name| cases.iter().any(|case| case.figures.contains_key(*name)));
    let shown: Vec<&String> = shown.collect();
    let mut head = Table::new(Vec::new());
    if !document.title.is_empty() {
        head.across(0, Cell::styled(printable(&document.title), BOLD));
    }
    head.across(0, Cell::plain(printable(&format!("keep {}", document.keep.join(", ")))));
    let mut aligns = vec![Align::Right; shown.len() + 3];
    aligns[0] = Align::Left;
    aligns[shown.len() + 2] = Align::Left;
    let mut table = Table::new(aligns);
    let heads = [String::from("case"), format!("{} {}", document.goal, document.vary)];
    let heads = heads.into_iter().chain(shown.iter().map(ToString::to_string)).chain([String::new()]);
    table.row(heads.map(|text| Cell::styled(printable(&text), DIM)).collect::<Vec<_>>());
    for case in cases {
        let at_least = match (case.outcome.as_str(), document.goal.as_str()) {
            ("always-kept", "largest") => "≥ ",
            ("always-kept", _) => "≤ ",
            _ => "",
        };
        let value = case.value.map(|value| format!("{at_least}{}", figure::text(value, document.of)));
        let value = value.unwrap_or_else(|| "–".into());
        let figures = shown.iter().map(|name| {
            let metric = case.metrics.iter().find(|metric| metric.name == name.as_str());
            Cell::plain(metric.map_or_else(|| "–".into(), |metric| figure::text(metric.value, metric.unit)))
        });
        let is_best = document.best.as_ref() == Some(&case.name);
        let mark = match (is_best, case.outcome.as_str()) {
            (true, _) => "← best",
            (false, "never-kept") => "cannot keep it",
            _ => "",
        };
        let row = [Cell::plain(printable(&case.name)), Cell::plain(value)].into_iter().chain(figures);
        table.row(row.chain([Cell::styled(mark, BOLD)]).collect::<Vec<_>>());
    }
    let mut notes = Table::new(Vec::new());
    for case in cases {
        if let Some(note) = note(document, case) {
            notes.across(0, Cell::plain(printable(&format!("{}: {note}", case.name))));
        }
    }
    let best = cases.iter().find(|case| document.best.as_ref() == Some(&case.name));
    let moves = best.map(|case| elasticities(document, case, width)).unwrap_or_default();
    head.render(width) + &table.render(width) + &notes.render(width) + &moves
}

/// What the line of a case does not say: why there is no value, where else the levels are not kept, another reason than
/// a single level.
fn note(document: &PlanDocument, case: &CaseDocument) -> Option<String> {
    match case.outcome.as_str() {
        "never-kept" => return case.problem.clone(),
        "always-kept" => {
            return Some("kept to the end of the range; look further with --from or --to".into());
        }
        _ => {}
    }
    let mut said = Vec::new();
    if document.keep.len() > 1 || case.binds != document.keep {
        said.push(format!("{} binds", case.binds.join(", ")));
    }
    let ends_elsewhere = |kept: &KeptDocument| match document.goal.as_str() {
        "largest" => !kept.from_end_of_range,
        _ => !kept.to_end_of_range,
    };
    if case.kept.len() > 1 || case.kept.iter().any(ends_elsewhere) {
        said.push(format!("kept {}", intervals(document, case)));
    }
    (!said.is_empty()).then(|| said.join("; "))
}

/// Where the levels are kept.
fn intervals(document: &PlanDocument, case: &CaseDocument) -> String {
    let say = |value| figure::text(value, document.of);
    let several = case.kept.len() > 1;
    let each: Vec<String> = case
        .kept
        .iter()
        .map(|kept| match (kept.from_end_of_range, kept.to_end_of_range) {
            (true, true) => "everywhere".into(),
            (true, false) => format!("up to {}", say(kept.to)),
            (false, true) => format!("from {}", say(kept.from)),
            (false, false) => format!("from {} to {}", say(kept.from), say(kept.to)),
        })
        .collect();
    each.join(", and ") + if several { " (it is not monotone)" } else { "" }
}

/// What moves the value, and what the value moves.
fn elasticities(document: &PlanDocument, case: &CaseDocument, width: Option<usize>) -> String {
    let mut strongest: Vec<(&String, f64)> = case.value_elasticities.iter().map(|(of, e)| (of, *e)).collect();
    strongest.retain(|(_, elasticity)| elasticity.abs() >= LEAST_ELASTICITY);
    strongest.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
    strongest.truncate(MOST_ELASTICITIES);
    let mut table = Table::new([Align::Left, Align::Right]);
    let of = if document.cases.len() > 1 { format!(" of {}", case.name) } else { String::new() };
    if !strongest.is_empty() {
        let head = format!("1 % more of … moves {}{of} by", document.vary);
        table.row([Cell::styled(printable(&head), DIM), Cell::plain("")]);
    }
    for (of, elasticity) in strongest {
        table.row([Cell::plain(format!("  {}", printable(of))), Cell::plain(per_cent(elasticity))]);
    }
    if !case.figure_elasticities.is_empty() {
        let head = format!("1 % more {} moves … by", document.vary);
        table.row([Cell::styled(printable(&head), DIM), Cell::plain("")]);
    }
    for (of, elasticity) in &case.figure_elasticities {
        table.row([Cell::plain(format!("  {}", printable(of))), Cell::plain(per_cent(*elasticity))]);
    }
    table.render(width)
}

/// An elasticity with its sign.
fn per_cent(elasticity: f64) -> String {
    let sign = if elasticity < 0.0 { "" } else { "+" };
    let text = figure::text(elasticity, Unit::Ratio);
    format!("{sign}{text} %")
}
