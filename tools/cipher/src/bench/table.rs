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
        grids.extend(by_size(&sized, requests).into_iter().map(|(grid, _)| grid));
    }
    if !keyed.is_empty() {
        grids.push(of_keys(&keyed));
    }
    grids
}

/// Rates, their parts of the library's and latencies of operations with keys, beside each other.
fn of_keys(points: &[&PointSpeed]) -> Grid {
    let (columns, words) = columns(points);
    // Each has one size, and nothing in the columns of the others.
    let value =
        |row: &[String]| row[columns.len()..].iter().find(|cell| *cell != "–").cloned().unwrap_or("–".into());
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut head: Vec<String> = columns.iter().copied().map(String::from).collect();
    for (grid, name) in by_size(points, true) {
        head.push(name.into());
        rows.resize(grid.rows.len(), Vec::new());
        for (row, more) in rows.iter_mut().zip(&grid.rows) {
            if row.is_empty() {
                row.extend_from_slice(&more[..columns.len()]);
            }
            row.push(value(more));
        }
    }
    let title = format!("operations with keys; {OF_LIBRARY}");
    Grid { title, words, head, rows }
}

/// What a part of the library's rate is made of: not of the two rates that the table above has, each a median
/// of its own.
const OF_LIBRARY: &str =
    "of the library's rate, each round's part of that of the same round: the median and its 95 % interval";

/// A figure with the ends of its interval, where it has one.
fn with_ends(of: Figure, say: impl Fn(f64) -> String) -> String {
    let ends = of.interval.map(|[lo, hi]| format!(" [{}, {}]", say(lo), say(hi)));
    format!("{}{}", say(of.median), ends.unwrap_or_default())
}

/// A grid of rates, one of their parts of the library's where it was measured too, and one of latencies, each
/// with its name as a column.
fn by_size(points: &[&PointSpeed], requests: bool) -> Vec<(Grid, &'static str)> {
    let rate = |point: &PointSpeed| match requests {
        true => with_ends(point.requests_per_second, number::count),
        false => with_ends(point.bytes_per_second, |rate| number::plain(rate / 1e9)),
    };
    let compared = |point: &PointSpeed| point.of_library.filter(|_| point.by != "library");
    let part = |point: &PointSpeed| {
        compared(point).map_or("–".into(), |ratio| with_ends(ratio, |ratio| format!("{ratio:.2}")))
    };
    let latency = |point: &PointSpeed| {
        let time = |seconds: Option<f64>| seconds.map_or("–".into(), |seconds| number::time(seconds * 1e9));
        format!("{} / {}", time(point.latency_p50), time(point.latency_p99))
    };
    let unit = if requests { "requests a second" } else { "GB/s" };
    let mut grids = vec![(grid(points, unit.into(), rate), "a second")];
    if points.iter().any(|point| compared(point).is_some()) {
        grids.push((grid(points, OF_LIBRARY.into(), part), "of the library's"));
    }
    grids.push((grid(points, "a request's latency, p50 / p99".into(), latency), "p50 / p99"));
    grids
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

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(median: f64, interval: Option<[f64; 2]>) -> Figure {
        Figure { median, interval }
    }

    fn point(by: &str, rate: Figure, of_library: Option<Figure>) -> PointSpeed {
        PointSpeed {
            by: by.into(),
            driver: None,
            waiting: None,
            cipher: "aes-128-cbc".into(),
            bytes: 1024,
            in_flight: None,
            tasks: 1,
            rounds: 9,
            requests_per_second: rate,
            bytes_per_second: rate,
            of_library,
            latency_p50: Some(1e-6),
            latency_p99: None,
        }
    }

    /// A column that had 1.00 for the library and 2.00 beside it said "(0.98)" in brackets, and nothing of
    /// how sure either was.
    #[test]
    fn a_part_of_the_library_s_rate_has_its_interval_and_says_of_what_it_is() {
        let ends = |lo, hi| Some([lo, hi]);
        let library = point("library", figure(1e9, ends(0.5e9, 2.1e9)), Some(figure(1.0, ends(1.0, 1.0))));
        let copies = point("copies", figure(2e9, ends(0.9e9, 2.2e9)), Some(figure(0.98, ends(0.95, 1.01))));
        let grids = by_size(&[&library, &copies], false);
        let rows: Vec<Vec<String>> = grids.iter().map(|(grid, _)| grid.rows[1].clone()).collect();
        assert_eq!(rows[0], ["aes-128-cbc", "copies", "2.00 [0.900, 2.20]"]);
        assert_eq!(rows[1], ["aes-128-cbc", "copies", "0.98 [0.95, 1.01]"]);
        assert!(grids[1].0.title.contains("of the same round"), "{}", grids[1].0.title);
        assert_eq!(grids[1].0.rows[0].last().unwrap(), "–", "the library is no part of itself");
        // Few rounds have no interval, and without the library there is nothing to be a part of.
        let few = point("copies", figure(2e9, None), None);
        let grids = by_size(&[&few], false);
        assert_eq!((grids.len(), grids[0].0.rows[0].last().unwrap().as_str()), (2, "2.00"));
    }
}
