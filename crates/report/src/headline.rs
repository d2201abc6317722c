//! The headlines of a run: the few points that tell most of each path, how narrow their intervals are, and why where they are not narrow.

use anstyle::{AnsiColor, Style};
use tollway_core::NARROW;
use tollway_store::PointRecord;

use crate::columns::{Align, Cell, Table, printable};
use crate::document::{HeadlineDocument, PointDocument, RunDocument, Span};
use crate::markdown::escaped;
use crate::number::{interval, percent, rate, rate_interval, time};

/// The title.
pub(crate) const TITLE: &str = "In short";

/// The widest interval that is said as "± 30 %": one that is wider is mostly lopsided too, and its ends are
/// said.
const PLUS_MINUS_MAX: f64 = 0.30;

/// What the columns are called.
pub(crate) const HEADS: [&str; 2] = ["figure", "95 % interval"];

/// A row in words.
pub(crate) struct Row {
    /// The point.
    pub(crate) id: i64,
    /// Its path.
    pub(crate) path: String,
    /// Its title.
    pub(crate) title: String,
    /// In the order of [`HEADS`].
    pub(crate) cells: [String; 2],
    /// Why the interval is wider than a headline's is to be; `None` where it is not.
    pub(crate) wide: Option<String>,
}

/// How well a headline is known; `None` of a point that is none.
pub(crate) fn of(record: &PointRecord, point: &PointDocument) -> Option<HeadlineDocument> {
    if !record.point.spec.headline {
        return None;
    }
    let half_width = figure(point).map(|(span, _)| half_width(&span));
    let wide = half_width.is_some_and(|half| half.is_nan() || half > NARROW).then(|| why(record, point));
    Some(HeadlineDocument { half_width, wide })
}

/// The figure of a headline, in its unit; `None` where it has none.
fn figure(point: &PointDocument) -> Option<(Span, Option<&str>)> {
    match (point.rates.first(), point.median) {
        (Some(first), _) => Some((first.per_second, Some(&first.unit))),
        (None, Some(median)) => Some((median.ns, None)),
        (None, None) => None,
    }
}

/// Half of the width of an interval as a share of its figure, on a scale of ratios; infinite where an end of it is nothing.
fn half_width(span: &Span) -> f64 {
    if span.lo > 0.0 { 0.5 * (span.hi / span.lo).ln() } else { f64::INFINITY }
}

/// The interval of a headline in words: its half where both ends are about as far from the figure, else its
/// ends.
fn interval_words(span: &Span, unit: Option<&str>) -> String {
    let half = half_width(span);
    match unit {
        _ if half <= PLUS_MINUS_MAX => format!("± {}", percent(half)),
        Some(_) => rate_interval(span),
        None => interval(span),
    }
}

/// Why the figure of a point is not known better.
fn why(record: &PointRecord, point: &PointDocument) -> String {
    let noisy: Vec<&str> = record.measured.iter().filter_map(|trial| trial.noise.as_deref()).collect();
    let blocks = format!("time was up after {} blocks", point.blocks);
    match noisy.first() {
        Some(first) if point.noisy() => {
            format!("noise in {} of {} trials ({first}); {blocks}", noisy.len(), record.measured.len())
        }
        _ => format!("its blocks differ; {blocks}"),
    }
}

/// The headlines in words, path by path as they were planned.
pub(crate) fn rows(document: &RunDocument) -> Vec<Row> {
    let side = document.run.sides.first();
    let of_side = document.points.iter().filter(|point| point.side.as_ref() == side);
    of_side.filter_map(row).collect()
}

fn row(point: &PointDocument) -> Option<Row> {
    let headline = point.headline.as_ref()?;
    let (span, unit) = figure(point)?;
    let said = unit.map_or_else(|| time(span.estimate), |unit| rate(span.estimate, unit));
    Some(Row {
        id: point.id,
        path: point.path.clone(),
        title: printable(&point.title),
        cells: [said, interval_words(&span, unit)],
        wide: headline.wide.as_deref().map(printable),
    })
}

/// For a terminal; `None` without headlines.
pub(crate) fn terminal(document: &RunDocument, width: Option<usize>) -> Option<String> {
    let rows = rows(document);
    if rows.is_empty() {
        return None;
    }
    let (bold, dim) = (Style::new().bold(), Style::new().dimmed());
    let yellow = AnsiColor::Yellow.on_default();
    let mut table = Table::new([Align::Left, Align::Left, Align::Right, Align::Right]);
    let heads = HEADS.map(|head| Cell::styled(head, dim));
    table.row([vec![Cell::styled(TITLE, bold), Cell::plain("")], heads.to_vec()].concat());
    let noisy = document.quality.noisy();
    let mut is_wide = false;
    let mut path = String::new();
    for row in rows {
        let first = if row.path == path { String::new() } else { row.path.clone() };
        path = row.path;
        let mark = if row.wide.is_some() { " !" } else { "" };
        let [figure, interval] = row.cells;
        table.row(vec![
            Cell::plain(format!("  {first}")),
            Cell::plain(row.title),
            Cell::styled(figure, bold),
            Cell::styled(interval + mark, if row.wide.is_some() { yellow } else { Style::new() }),
        ]);
        is_wide |= row.wide.is_some();
        if let Some(why) = row.wide.filter(|_| noisy.is_none()) {
            table.across(4, Cell::styled(format!("! {why}"), dim));
        }
    }
    if is_wide && noisy.is_some() {
        table.across(2, Cell::styled("! known less well than it is to be: the machine was noisy", dim));
    }
    Some(table.render(width))
}

/// As Markdown; empty without headlines.
pub(crate) fn markdown(document: &RunDocument) -> String {
    let rows = rows(document);
    if rows.is_empty() {
        return String::new();
    }
    let noisy = document.quality.noisy();
    let mut out =
        format!("\n## {TITLE}\n\n| path | row | {} | |\n|---|---|--:|--:|---|\n", HEADS.join(" | "));
    for Row { path, title, cells: [figure, interval], wide, .. } in rows {
        let why = match (wide, &noisy) {
            (Some(_), Some(_)) => "!".into(),
            (Some(why), None) => escaped(&why),
            (None, _) => String::new(),
        };
        out += &format!("| {} | {} | {figure} | {interval} | {why} |\n", escaped(&path), escaped(&title));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A vector's peak once had "± 237 %", which is no distance from anything: half of a logarithm's width.
    #[test]
    fn beyond_thirty_percent_the_ends_of_the_interval_are_said() {
        let span = |lo: f64, hi: f64| Span { estimate: 100.0, lo, hi };
        assert_eq!(interval_words(&span(97.0, 103.0), None), "± 3 %");
        assert_eq!(interval_words(&span(75.0, 135.0), None), "± 29 %");
        assert_eq!(interval_words(&span(70.0, 140.0), None), "70 – 140");
        assert_eq!(interval_words(&span(0.0, 140.0), None), "0 – 140");
        let rate = Span { estimate: 2.1e12, lo: 0.3e12, hi: 9.4e12 };
        assert_eq!(interval_words(&rate, Some("op/s")), "0.30 – 9.40");
        assert_eq!(interval_words(&span(1.0, 1e9), None), crate::number::NOTHING);
    }
}
