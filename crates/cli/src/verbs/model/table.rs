//! The answer as text: figures of one point line by line, a sweep as a table with bars, CSV, Markdown.

use anstyle::Style;
use tollway_report::columns::{Align, Cell, Table};

use super::document::{FigureName, ModelDocument, PointDocument};
use crate::figure;

/// Figures of a sweep that are shown where none is named; as many as there are of these, in this order.
const FIRST: [&str; 5] = ["utilization", "number.mean", "wait.mean", "response.mean", "response.p99"];

/// Figures shown where a model gives none of those.
const COLUMNS: usize = 5;

/// The longest bar, in characters.
const BAR: usize = 24;

const DIM: Style = Style::new().dimmed();
const BOLD: Style = Style::new().bold();

/// For a terminal of that many columns, or unwrapped.
pub fn text(document: &ModelDocument, width: Option<usize>) -> String {
    let fixed: Vec<String> =
        document.parameters.iter().map(|(name, text)| format!("{name} {text}")).collect();
    let mut head = Table::new(Vec::new());
    head.across(0, Cell::styled([vec![document.title.clone()], fixed].concat().join(" · "), BOLD));
    let body = if document.sweep.is_empty() { one(document) } else { sweep(document) };
    head.render(width) + &body.render(width)
}

/// One point: a line for each figure.
fn one(document: &ModelDocument) -> Table {
    let mut table = Table::new([Align::Left, Align::Right]);
    for point in &document.points {
        for figure in &document.figures {
            table.row([Cell::plain(format!("  {}", figure.name)), Cell::plain(value(point, figure))]);
        }
    }
    table
}

/// Several points: a line each, with a bar of the first figure that is a time, or of the first.
fn sweep(document: &ModelDocument) -> Table {
    let figures = columns(document);
    let drawn = figures.iter().find(|f| f.name == "response.mean").or(figures.last()).copied();
    let mut aligns = vec![Align::Right; document.sweep.len() + figures.len()];
    aligns.push(Align::Left);
    let mut table = Table::new(aligns);
    let heads = document.sweep.iter().map(String::as_str).chain(figures.iter().map(|f| f.name.as_str()));
    let legend = drawn.map(|figure| format!("bar: {}", figure.name)).unwrap_or_default();
    table.row(heads.chain([legend.as_str()]).map(|text| Cell::styled(text, DIM)).collect::<Vec<_>>());
    let top = drawn.map_or(0.0, |figure| {
        document.points.iter().filter_map(|p| p.figures.get(&figure.name)).copied().fold(0.0, f64::max)
    });
    for point in &document.points {
        let at = document.sweep.iter().map(|name| Cell::plain(at(point, name)));
        let values = figures.iter().map(|figure| Cell::plain(value(point, figure)));
        let last = match (&point.problem, point.load) {
            (Some(_), Some(load)) => {
                format!("no steady state: load {}", figure::text(load, tollway_model::Unit::Ratio))
            }
            (Some(problem), None) => problem.clone(),
            (None, _) => {
                drawn.and_then(|f| point.figures.get(&f.name)).map_or_else(String::new, |x| bar(x / top))
            }
        };
        table.row(at.chain(values).chain([Cell::plain(last)]).collect::<Vec<_>>());
    }
    table
}

/// The figures that a table has room for, or those that were asked for.
fn columns(document: &ModelDocument) -> Vec<&FigureName> {
    if document.figures.len() <= COLUMNS {
        return document.figures.iter().collect();
    }
    let known: Vec<&FigureName> =
        FIRST.iter().filter_map(|name| document.figures.iter().find(|figure| figure.name == *name)).collect();
    if known.is_empty() { document.figures.iter().take(COLUMNS).collect() } else { known }
}

fn at(point: &PointDocument, name: &str) -> String {
    point.at.get(name).map(ToString::to_string).unwrap_or_default()
}

fn value(point: &PointDocument, figure: &FigureName) -> String {
    point.figures.get(&figure.name).map_or_else(|| "–".into(), |value| figure::text(*value, figure.of))
}

/// A bar of that share of the longest, to an eighth of a character.
fn bar(share: f64) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (share.clamp(0.0, 1.0) * (BAR * 8) as f64).round() as usize;
    "█".repeat(eighths / 8) + EIGHTHS[eighths % 8]
}

/// A line for each point, base units, empty where there is no figure.
pub fn csv(document: &ModelDocument) -> String {
    let names = document.sweep.iter().chain(document.figures.iter().map(|figure| &figure.name));
    let mut lines = vec![names.cloned().chain(["problem".into()]).collect::<Vec<String>>()];
    for point in &document.points {
        let place = document.sweep.iter().map(|name| at(point, name));
        let figures = document.figures.iter();
        let values = figures.map(|f| point.figures.get(&f.name).map(f64::to_string).unwrap_or_default());
        lines.push(place.chain(values).chain([point.problem.clone().unwrap_or_default()]).collect());
    }
    tollway_report::csv_lines(lines)
}

/// A table for a page of text.
pub fn markdown(document: &ModelDocument) -> String {
    let fixed: Vec<String> =
        document.parameters.iter().map(|(name, text)| format!("`{name}={text}`")).collect();
    let mut out = format!("{}: {}\n\n", document.title, fixed.join(", "));
    if document.sweep.is_empty() {
        out += "| figure | value |\n|---|---:|\n";
        for (point, figure) in
            document.points.iter().flat_map(|p| document.figures.iter().map(move |f| (p, f)))
        {
            out += &format!("| {} | {} |\n", figure.name, value(point, figure));
        }
        return out;
    }
    let names = document.sweep.iter().chain(document.figures.iter().map(|figure| &figure.name));
    let names: Vec<&str> = names.map(String::as_str).collect();
    out += &format!("| {} | |\n|{}---|\n", names.join(" | "), "---:|".repeat(names.len()));
    for point in &document.points {
        let place = document.sweep.iter().map(|name| at(point, name));
        let cells: Vec<String> =
            place.chain(document.figures.iter().map(|figure| value(point, figure))).collect();
        out += &format!(
            "| {} | {} |\n",
            cells.join(" | "),
            point.problem.as_deref().unwrap_or("").replace('|', "\\|")
        );
    }
    out
}
