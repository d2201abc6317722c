//! A comparison as one page: each row with its ratio on a scale from half to twice, and what else there is to say as tables.

use minijinja::value;
use serde::Serialize;

use super::PageTable;
use crate::Result;
use crate::columns::printable;
use crate::compare::words::{criteria, quoted, tally, unlike_its_columns, verdict_text};
use crate::document::{ComparedDocument, ComparisonDocument, VerdictDocument};
use crate::number::ratio;

#[derive(Serialize)]
struct Page<'a> {
    title: String,
    run: i64,
    facts: Vec<String>,
    a: String,
    b: String,
    lead: Vec<String>,
    rows: Vec<Row>,
    notes: Vec<String>,
    tables: &'a [PageTable],
}

#[derive(Serialize)]
struct Row {
    title: String,
    a: String,
    b: String,
    ratio: String,
    interval: String,
    said: String,
    /// How the verdict is marked: a class of the style.
    mark: &'static str,
    /// Where the interval begins and how wide it is, and where the ratio is, in per cent of the scale; none without a ratio.
    strip: Option<(f64, f64, f64)>,
}

impl Row {
    fn of(figure: &ComparedDocument) -> Row {
        let [a, b] = quoted(figure);
        let found = figure.ratio.as_ref();
        let x = |share: f64| {
            let x = 0.5 + 0.5 * share.log2();
            if x.is_finite() { (x.clamp(0.0, 1.0) * 1e4).round() / 100.0 } else { 50.0 }
        };
        let (ratio, interval) =
            found.map(|found| ratio(&found.b_over_a)).unwrap_or(("–".into(), String::new()));
        Row {
            title: printable(&figure.title),
            a,
            b,
            ratio,
            interval,
            said: match found {
                Some(found) => found.verdict.word().into(),
                None => verdict_text(figure),
            },
            mark: match found.map(|found| found.verdict) {
                Some(VerdictDocument::Better) => "good",
                Some(VerdictDocument::Worse) => "bad",
                Some(VerdictDocument::NotSeparable) => "warn",
                Some(VerdictDocument::Same) | None => "",
            },
            strip: found.map(|found| {
                let (lo, hi) = (x(found.b_over_a.lo), x(found.b_over_a.hi));
                (lo, ((hi - lo) * 100.0).round() / 100.0, x(found.b_over_a.estimate))
            }),
        }
    }
}

/// A comparison as a page that needs no other file: under this title, with these sentences before the rows and these tables behind.
///
/// # Errors
/// None that a stored comparison can bring about.
pub fn comparison_page(
    document: &ComparisonDocument,
    title: &str,
    lead: &[String],
    tables: &[PageTable],
) -> Result<String> {
    let tables: Vec<PageTable> = tables.iter().map(PageTable::printable).collect();
    let mut notes = vec![tally(document), criteria(document)];
    let unlike = |figure: &ComparedDocument| {
        unlike_its_columns(figure).map(|why| format!("{}: {why}.", printable(&figure.title)))
    };
    notes.extend(document.figures.iter().filter_map(unlike));
    notes.extend(document.notes.iter().map(|note| printable(note)));
    let page = Page {
        title: printable(title),
        run: document.b.run,
        facts: vec![
            document.b.started.strftime("%-d %B %Y, %H:%M UTC").to_string(),
            format!("{} rows", document.figures.len()),
            printable(&document.b.machine),
        ],
        a: printable(&document.a.label),
        b: printable(&document.b.label),
        lead: lead.iter().map(|text| printable(text)).collect(),
        rows: document.figures.iter().map(Row::of).collect(),
        notes,
        tables: &tables,
    };
    Ok(super::environment()?.get_template("comparison.html")?.render(value::Serde(page))?)
}
