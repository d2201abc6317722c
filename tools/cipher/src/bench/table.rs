//! What was measured, for people and for their other programs: tables, Markdown, CSV.

use std::fmt::Write;

use tollway_cipher::engine::suite::Named;
use tollway_report::columns::{Align, Cell, Table};
use tollway_report::{csv_lines, number};

use super::document::{BenchDocument, Figure, PointSpeed};

/// A table whose rows are ways, and whose columns are sizes.
struct Grid {
    title: String,
    /// How many columns say in words which way it is.
    words: usize,
    head: Vec<String>,
    rows: Vec<Vec<String>>,
}

/// All tables, for a terminal of that many columns.
pub(super) fn text(document: &BenchDocument, requests: bool, width: Option<usize>) -> String {
    let mut out = format!("{}\n", head(document));
    for grid in grids(document, requests) {
        let right = |column: usize| if column < grid.words { Align::Left } else { Align::Right };
        let mut table = Table::new((0..grid.head.len()).map(right).collect::<Vec<_>>());
        for row in std::iter::once(&grid.head).chain(&grid.rows) {
            table.row(row.iter().map(Cell::plain).collect::<Vec<_>>());
        }
        let _ = write!(out, "\n{}\n{}", grid.title, table.render(width));
    }
    for line in notes(document) {
        let _ = writeln!(out, "{line}");
    }
    out
}

/// All tables, for a page of text.
pub(super) fn markdown(document: &BenchDocument, requests: bool) -> String {
    let mut out = format!("{}\n", head(document));
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    for grid in grids(document, requests) {
        let rule = |column: usize| if column < grid.words { "---" } else { "---:" };
        let rules: Vec<String> = (0..grid.head.len()).map(|column| rule(column).into()).collect();
        let rows: String = grid.rows.iter().map(|row| line(row)).collect();
        let _ = write!(out, "\n{}\n\n{}{}{rows}", grid.title, line(&grid.head), line(&rules));
    }
    for line in notes(document) {
        let _ = write!(out, "\n{line}\n");
    }
    out
}

/// A line a point, in base units.
pub(super) fn csv(document: &BenchDocument) -> String {
    let head = "by,driver,waiting,cipher,bytes,in_flight,tasks,rounds,bytes_per_second,low,high,requests_per_second,of_library,of_library_low,\
                of_library_high,latency_p50_seconds,latency_p99_seconds";
    let number = |number: Option<f64>| number.map_or(String::new(), |number| number.to_string());
    let point = |point: &PointSpeed| {
        let Figure { median, interval } = point.bytes_per_second;
        let ratio = point.of_library;
        let ends = ratio.and_then(|ratio| ratio.interval);
        vec![
            point.by.clone(),
            point.driver.clone().unwrap_or_default(),
            point.waiting.clone().unwrap_or_default(),
            point.cipher.clone(),
            point.bytes.to_string(),
            point.in_flight.map_or(String::new(), |n| n.to_string()),
            point.tasks.to_string(),
            point.rounds.to_string(),
            median.to_string(),
            number(interval.map(|ends| ends[0])),
            number(interval.map(|ends| ends[1])),
            point.requests_per_second.median.to_string(),
            number(ratio.map(|ratio| ratio.median)),
            number(ends.map(|ends| ends[0])),
            number(ends.map(|ends| ends[1])),
            number(point.latency_p50),
            number(point.latency_p99),
        ]
    };
    let head = head.split(',').map(String::from).collect();
    csv_lines(std::iter::once(head).chain(document.points.iter().map(point)))
}

fn head(document: &BenchDocument) -> String {
    let cpus: Vec<String> = document.askers.iter().map(u32::to_string).collect();
    let shared = if document.askers.contains(&document.card) { ", the same: they take turns" } else { "" };
    let BenchDocument { runs, seconds, seed, card, .. } = document;
    format!(
        "medians of {runs} rounds of {seconds} s, seed {seed}; who asks is on processor {}, the card on {card}{shared}",
        cpus.join(", ")
    )
}

fn notes(document: &BenchDocument) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    let lacking = document
        .skipped
        .iter()
        .map(|lack| format!("skipped: {}: {} → {}", lack.what, lack.reason, lack.remedy));
    notes.extend(lacking);
    notes.extend(document.failed.iter().map(|failed| format!("failed: {}: {}", failed.point, failed.reason)));
    if let Some(noise) = &document.noise {
        notes.push(format!("the machine was not quiet: {noise}; the rates are lower than they would be"));
    }
    if document.interrupted {
        notes.push("interrupted: these are the figures of what was measured by then".into());
    }
    notes
}

/// Tables by size, and one of operations with keys, whose size is no choice; each where there is something in it.
fn grids(document: &BenchDocument, requests: bool) -> Vec<Grid> {
    let is_keyed = |point: &&PointSpeed| Named::find_keyed(&point.cipher).is_some();
    let (keyed, sized): (Vec<_>, Vec<_>) = document.points.iter().partition(is_keyed);
    let mut grids = Vec::new();
    if !sized.is_empty() {
        grids.extend(by_size(&sized, requests));
    }
    if !keyed.is_empty() {
        grids.push(of_keys(&keyed));
    }
    grids
}

/// Rates and latencies of operations with keys, beside each other.
fn of_keys(points: &[&PointSpeed]) -> Grid {
    let [rates, latencies] = by_size(points, true).map(|grid| grid.rows);
    let (columns, words) = columns(points);
    // Each has one size, and nothing in the columns of the others.
    let value =
        |row: &[String]| row[columns.len()..].iter().find(|cell| *cell != "–").cloned().unwrap_or("–".into());
    let rows = rates.iter().zip(&latencies).map(|(rate, latency)| {
        rate[..columns.len()].iter().cloned().chain([value(rate), value(latency)]).collect()
    });
    let head = columns.iter().copied().chain(["a second", "p50 / p99"]).map(String::from).collect();
    let title = "operations with keys, and in brackets as a part of the library's".into();
    Grid { title, words, head, rows: rows.collect() }
}

fn by_size(points: &[&PointSpeed], requests: bool) -> [Grid; 2] {
    let rate = |point: &PointSpeed| {
        let rate = match requests {
            true => number::count(point.requests_per_second.median),
            false => number::plain(point.bytes_per_second.median / 1e9),
        };
        match point.of_library {
            Some(ratio) if point.by != "library" => format!("{rate} ({:.2})", ratio.median),
            _ => rate,
        }
    };
    let latency = |point: &PointSpeed| {
        let time = |seconds: Option<f64>| seconds.map_or("–".into(), |seconds| number::time(seconds * 1e9));
        format!("{} / {}", time(point.latency_p50), time(point.latency_p99))
    };
    let unit = if requests { "requests a second" } else { "GB/s" };
    [
        grid(points, format!("{unit}, and in brackets as a part of the library's"), rate),
        grid(points, "a request's latency, p50 / p99".into(), latency),
    ]
}

/// What tells the ways of these points apart, and how many of these columns are words.
fn columns(points: &[&PointSpeed]) -> (Vec<&'static str>, usize) {
    let several = |differ: &dyn Fn(&PointSpeed, &PointSpeed) -> bool| {
        points.iter().zip(points.iter().skip(1)).any(|(one, next)| differ(one, next))
    };
    let ways =
        several(&|one, next| one.waiting.is_some() && next.waiting.is_some() && one.waiting != next.waiting);
    let mut named = vec!["cipher", "by"];
    named.extend(ways.then_some("waiting"));
    let words = named.len();
    named.extend(several(&|one, next| one.tasks != next.tasks).then_some("tasks"));
    named.extend(points.iter().any(|point| point.in_flight.is_some()).then_some("in flight"));
    (named, words)
}

fn grid(points: &[&PointSpeed], title: String, cell: impl Fn(&PointSpeed) -> String) -> Grid {
    let mut sizes: Vec<usize> = points.iter().map(|point| point.bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let (named, words) = columns(points);
    let [ways, tasks, flights] = ["waiting", "tasks", "in flight"].map(|column| named.contains(&column));
    let way = |point: &PointSpeed| {
        let driver = point.driver.as_ref().map_or(String::new(), |driver| format!(": {driver}"));
        let mut way = vec![point.cipher.clone(), format!("{}{driver}", point.by)];
        way.extend(ways.then(|| point.waiting.clone().unwrap_or_default()));
        way.extend(tasks.then(|| point.tasks.to_string()));
        way.extend(flights.then(|| point.in_flight.map_or(String::new(), |n| n.to_string())));
        way
    };
    let size = |bytes: &usize| match bytes {
        b if b % (1 << 20) == 0 => format!("{} MiB", b >> 20),
        b if b % (1 << 10) == 0 => format!("{} KiB", b >> 10),
        b => format!("{b} B"),
    };
    let head = named.iter().copied().map(String::from).chain(sizes.iter().map(size)).collect();
    let mut rows: Vec<Vec<String>> = Vec::new();
    for point in points {
        let way = way(point);
        let at = rows.iter().position(|row| row.starts_with(&way)).unwrap_or_else(|| {
            rows.push(way.into_iter().chain(sizes.iter().map(|_| "–".into())).collect());
            rows.len() - 1
        });
        let column = sizes.iter().position(|size| *size == point.bytes).unwrap_or_default();
        rows[at][named.len() + column] = cell(point);
    }
    Grid { title, words, head, rows }
}
