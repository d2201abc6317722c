//! A run as text for a terminal: the price list, then what is remarkable.

use anstyle::{AnsiColor, Style};
use tollway_store::RunState;

use crate::columns::{Align, Cell, Table, printable};
use crate::document::{PointDocument, RunDocument, SampleKind};
use crate::history::{KILLED, lasted};
use crate::number::{count, interval, percent, share_of, time};
use crate::price_list::{Group, QUIET_ENOUGH, groups};
use crate::{card, classes, counted, headline, host_against_guest, machine, tenants};

/// Columns of a terminal from which on there is room for bars.
const WITH_BARS: usize = 96;
/// Columns of a terminal from which on there is room for p99 and cycles.
const WITH_ALL: usize = 76;
/// Columns of a terminal from which on there is room for the rates of tenants.
const WITH_TENANTS: usize = 150;
/// The longest bar.
const BAR: usize = 16;

const DIM: Style = Style::new().dimmed();
const BOLD: Style = Style::new().bold();

pub(crate) fn run(document: &RunDocument, width: Option<usize>) -> String {
    let mut out = head(document, width);
    if document.points.iter().any(|point| !document.on_card(point)) || document.points.is_empty() {
        out.push('\n');
        out.push_str(&price_list(document, width));
    }
    let tables = [
        card::terminal::table(document, width),
        host_against_guest::terminal::table(document, width),
        tenants(document, width),
        classes(document, width),
        counts(document, width),
    ];
    for more in tables
        .into_iter()
        .flatten()
        .chain(crate::bill::terminal::all(document, width))
        .chain(crate::sharing::terminal::all(document, width))
    {
        out.push('\n');
        out.push_str(&more);
    }
    if let Some(headlines) = headline::terminal(document, width) {
        out.push('\n');
        out.push_str(&headlines);
    }
    if !document.remarks.is_empty() {
        out.push('\n');
        out.push_str(&remarks(document, width));
    }
    out
}

/// The path whose tolls are the price list of a machine.
const PRICES: &str = "crossings";

/// A run of several paths in short: of each path the headlines, of the machine what it gives, of crossings all prices.
pub(crate) fn summary(document: &RunDocument, width: Option<usize>) -> String {
    let mut paths: Vec<&str> = document.points.iter().map(|point| point.path.as_str()).collect();
    paths.dedup();
    let priced = RunDocument {
        points: document.points.iter().filter(|point| point.path == PRICES).cloned().collect(),
        ..document.clone()
    };
    if paths.len() < 2 || priced.points.is_empty() {
        return run(document, width);
    }
    let parts = [
        Some(head(document, width)),
        Some(price_list(&priced, width)),
        card::terminal::table(document, width),
        host_against_guest::terminal::table(document, width),
        headline::terminal(document, width),
        (!document.remarks.is_empty()).then(|| remarks(document, width)),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join("\n")
}

pub(crate) fn head(document: &RunDocument, width: Option<usize>) -> String {
    let (run, quality) = (&document.run, &document.quality);
    let state = match run.ended {
        Some(ended) => format!("{} in {}", run.state, lasted(run.started, ended)),
        None => run.state.clone(),
    };
    let mut about = vec![format!("Run {}: {}", run.id, printable(&run.title))];
    about.extend(quality.noisy().map(|noisy| printable(&noisy)));
    about.extend([
        run.started.strftime("%Y-%m-%d %H:%M UTC").to_string(),
        state,
        format!("{} points, {} trials", document.points.len(), quality.trials),
    ]);
    if quality.trials > 0 && quality.noisy().is_none() {
        about.push(format!("{} of them quiet", share_of(quality.quiet, quality.trials)));
    }
    let mut table = Table::new(Vec::new());
    table.across(0, Cell::plain(about.join(" · ")));
    if run.state == RunState::Killed.name() {
        table.across(0, Cell::styled(KILLED, DIM));
    }
    let mut machine = machine::summary(document);
    machine.push(format!("seed {}", run.seed));
    if !machine.is_empty() {
        table.across(0, Cell::styled(printable(&machine.join(" · ")), DIM));
    }
    let unsteady = machine::steadiness(document).map(|(_, findings)| findings).unwrap_or_default();
    if !unsteady.is_empty() {
        let each = unsteady.iter().map(|(what, _)| what.clone()).collect::<Vec<_>>().join(" · ");
        let text = printable(&format!("unsteady before it began: {each}"));
        table.across(0, Cell::styled(text, AnsiColor::Yellow.on_default()));
    }
    table.render(width)
}

fn price_list(document: &RunDocument, width: Option<usize>) -> String {
    let all = width.is_none_or(|w| w >= WITH_ALL);
    let bars = width.is_some_and(|w| w >= WITH_BARS).then(|| Bars::of(document)).flatten();
    let mut table =
        Table::new([Align::Left, Align::Right, Align::Right, Align::Right, Align::Right, Align::Left]);
    let mut heads = vec![Cell::styled("What a crossing costs here", BOLD)];
    for text in ["median", "95 % interval", if all { "p99" } else { "" }, if all { "cycles" } else { "" }] {
        heads.push(Cell::styled(text, DIM));
    }
    heads.push(Cell::styled(bars.map(|b| b.legend()).unwrap_or_default(), DIM));
    table.row(heads);
    let mut marks = Marks::default();
    for group in groups(document) {
        table.across(0, Cell::styled(printable(&group.title), BOLD));
        for point in &group.priced {
            table.row(row(point, all, bars.as_ref(), &mut marks));
        }
        setbacks(&mut table, &group);
    }
    let notes = marks.notes();
    if !notes.is_empty() {
        table.blank();
    }
    for note in notes {
        table.across(0, Cell::styled(note, DIM));
    }
    table.render(width)
}

fn row(point: &PointDocument, all: bool, bars: Option<&Bars>, marks: &mut Marks) -> Vec<Cell> {
    let mut title = format!("  {}", printable(&point.label()));
    if point.noisy() {
        title.push_str(" ~");
        marks.noisy = true;
    }
    if point.state == "pending" {
        title.push_str(" …");
        marks.pending = true;
    }
    let Some(median) = point.median else {
        marks.single |= point.trials == 1;
        let dash = || Cell::styled("–", DIM);
        let rest = if all { dash() } else { Cell::plain("") };
        return vec![Cell::plain(title), dash(), dash(), rest.clone(), rest, Cell::plain("")];
    };
    let p99 = match (point.p99, point.samples) {
        (None, _) => "–".into(),
        (Some(p99), SampleKind::Operations) => time(p99.ns.estimate),
        (Some(p99), SampleKind::Batches) => {
            marks.batches = true;
            format!("ᵇ{}", time(p99.ns.estimate))
        }
    };
    let cell = |text: String| Cell::plain(if all { text } else { String::new() });
    vec![
        Cell::plain(title),
        Cell::styled(time(median.ns.estimate), BOLD),
        Cell::plain(interval(&median.ns)),
        cell(p99),
        cell(count(median.ticks.estimate)),
        bars.map_or(Cell::plain(""), |b| {
            Cell::styled(b.bar(median.ns.estimate), AnsiColor::Cyan.on_default())
        }),
    ]
}

/// What failed and what was skipped: never left out, never zero.
pub(crate) fn setbacks(table: &mut Table, group: &Group<'_>) {
    let red = AnsiColor::Red.on_default();
    for point in &group.failed {
        let error = printable(point.error.as_deref().unwrap_or_default());
        table.across(2, Cell::styled(format!("{}: failed: {error}", printable(&point.label())), red));
    }
    for (missing, points) in &group.skipped {
        let titles: Vec<String> = points.iter().map(|p| p.label()).collect();
        let text = format!(
            "{}: skipped: {}: {} → {}",
            titles.join("; "),
            missing.what,
            missing.reason,
            missing.remedy
        );
        table.across(2, Cell::styled(printable(&text), AnsiColor::Yellow.on_default()));
    }
}

/// The marks that were set, each of which needs a line that explains it.
#[derive(Default)]
struct Marks {
    noisy: bool,
    batches: bool,
    single: bool,
    pending: bool,
}

impl Marks {
    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.noisy {
            notes.push(format!("~ more than {} of its trials were not quiet", percent(1.0 - QUIET_ENOUGH)));
        }
        if self.batches {
            notes.push(
                "ᵇ p99 of samples of several operations each: what one of them may take is not seen".into(),
            );
        }
        if self.pending {
            notes.push("… not all of its trials were run".into());
        }
        if self.single {
            notes.push("– a single trial has no interval, and there is no figure without one".into());
        }
        notes
    }
}

/// What was counted; `None` where there is nothing to tell.
fn counts(document: &RunDocument, width: Option<usize>) -> Option<String> {
    let rows = counted::rows(document);
    if rows.is_empty() {
        return None;
    }
    let mut table = Table::new([Align::Left, Align::Left]);
    table.across(0, Cell::styled(counted::TITLE, BOLD));
    for (title, counts) in rows {
        table.across(2, Cell::plain(title));
        table.across(4, Cell::styled(counts, DIM));
    }
    Some(table.render(width))
}

/// How long each class took; `None` where there are no classes.
fn classes(document: &RunDocument, width: Option<usize>) -> Option<String> {
    let points = classes::rows(document);
    if points.is_empty() {
        return None;
    }
    let mut table = Table::new([Align::Left, Align::Right, Align::Right, Align::Right, Align::Right]);
    let heads = classes::HEADS.map(|head| Cell::styled(head, DIM));
    table.row([vec![Cell::styled(classes::TITLE, BOLD)], heads.to_vec()].concat());
    for (title, rows) in points {
        table.across(2, Cell::plain(title));
        for classes::ClassRow { name, cells } in rows {
            let cells = cells.map(Cell::plain);
            table.row([vec![Cell::plain(format!("    {name}"))], cells.to_vec()].concat());
        }
    }
    Some(table.render(width))
}

/// What each tenant got; `None` where there is nothing to tell.
fn tenants(document: &RunDocument, width: Option<usize>) -> Option<String> {
    let rows = tenants::rows(document);
    if rows.is_empty() {
        return None;
    }
    let mut table = Table::new([
        Align::Left,
        Align::Left,
        Align::Right,
        Align::Right,
        Align::Right,
        Align::Right,
        Align::Left,
    ]);
    // Where there is little room, a tenant's rate is left to the other forms.
    let all = width.is_none_or(|w| w >= WITH_TENANTS);
    let cells = |texts: [String; 7], first: Style, rest: Style| -> Vec<Cell> {
        let told = texts.into_iter().enumerate().map(|(i, text)| match i {
            0 => Cell::styled(text, first),
            4 | 5 if !all => Cell::plain(""),
            3 if width.is_some_and(|w| w < WITH_ALL) => Cell::plain(""),
            _ => Cell::styled(text, rest),
        });
        told.collect()
    };
    table.row(cells(tenants::HEADS.map(String::from), BOLD, DIM));
    for row in rows {
        let title = format!("  {}", row.title);
        let texts = [title, row.tenants, row.share, row.own, row.rate, row.total, row.fairness];
        table.row(cells(texts, Style::new(), Style::new()));
    }
    table.blank();
    table.across(0, Cell::styled(tenants::LEGEND, DIM));
    Some(table.render(width))
}

fn remarks(document: &RunDocument, width: Option<usize>) -> String {
    let mut table = Table::new(Vec::new());
    table.across(0, Cell::styled("What is remarkable here", BOLD));
    for (i, remark) in document.remarks.iter().enumerate() {
        table.across(0, Cell::plain(format!("{}. {}", i + 1, printable(&remark.text))));
    }
    table.render(width)
}

/// Bars on a logarithmic scale that all figures share.
#[derive(Clone, Copy)]
struct Bars {
    lo: f64,
    hi: f64,
}

impl Bars {
    /// Whole decades around all medians; `None` without a median.
    fn of(document: &RunDocument) -> Option<Bars> {
        let logs =
            || document.points.iter().filter_map(|p| p.median).map(|m| m.ns.estimate.max(1e-3).log10());
        let (lo, hi) = (logs().reduce(f64::min)?.floor(), logs().reduce(f64::max)?.ceil());
        Some(Bars { lo, hi: hi.max(lo + 1.0) })
    }

    fn legend(&self) -> String {
        format!("{} … {}, log", whole(self.lo), whole(self.hi))
    }

    fn bar(&self, ns: f64) -> String {
        let share = ((ns.max(1e-3).log10() - self.lo) / (self.hi - self.lo)).clamp(0.0, 1.0);
        let eighths = ((share * (BAR * 8) as f64).round() as usize).max(1);
        let mut bar = "█".repeat(eighths / 8);
        bar.extend(['▏', '▎', '▍', '▌', '▋', '▊', '▉'].get((eighths % 8).wrapping_sub(1)));
        bar
    }
}

/// A power of ten nanoseconds: `10 µs`.
pub(crate) fn whole(log: f64) -> String {
    let units = [("ns", 0), ("µs", 3), ("ms", 6), ("s", 9)];
    let log = log.round() as i32;
    let (unit, above) = units.into_iter().rev().find(|(_, at)| *at <= log).unwrap_or(units[0]);
    format!("{} {unit}", 10f64.powi(log - above))
}
