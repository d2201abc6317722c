//! What was found, for people.

use std::fmt::Write;

use tollway_report::columns::{Align, Cell, Table, fold};

use super::document::{Limit, SourceSpeed, SpeedDocument, ThreadsSpeed};

/// An interval of fewer runs says nothing.
const ENOUGH: u32 = 5;

/// Everything, for a terminal of so many columns; `None` where it goes elsewhere.
pub fn of(document: &SpeedDocument, width: Option<usize>) -> String {
    use Align::{Left, Right};
    let mut table = Table::new([Left, Right, Right, Left, Right, Right, Right]);
    let heads = ["source", "threads", "rate", "95 % interval", "draws/s", "failed", "processors"];
    table.row(heads.map(Cell::plain));
    for source in &document.sources {
        for speed in &source.threads {
            table.row(row(&source.source, speed, document.runs).map(Cell::plain));
        }
        table.across(2, Cell::plain(words(source)));
    }
    let mut text = table.render(width);
    let _ = writeln!(
        text,
        "draws: instructions of rdrand and rdseed, system calls of getrandom, reads of a path; failed ones too"
    );
    for reason in &document.skipped {
        let _ = writeln!(text, "skipped: {reason}");
    }
    width.map_or(text.clone(), |columns| fold(&text, columns))
}

fn row(source: &str, speed: &ThreadsSpeed, runs: u32) -> [String; 7] {
    let rate = speed.bytes_per_second;
    let interval =
        if runs < ENOUGH { "–".into() } else { format!("[{}, {}]", bytes(rate.lo), bytes(rate.hi)) };
    [
        source.into(),
        speed.threads.to_string(),
        bytes(rate.value),
        interval,
        count(speed.draws_per_second),
        share(speed.failure_share),
        format!("{:.2}", speed.processors),
    ]
}

/// What limits it, in a sentence.
fn words(source: &SourceSpeed) -> String {
    let (one, all) = (bytes(source.thread_cap), bytes(source.shared_cap));
    match source.limit {
        Limit::Thread => format!("each thread has a cap of its own, {one}; together they had {all}"),
        Limit::Shared => {
            format!(
                "shared: {all} is all there is, however many draw, also from other machines on this processor"
            )
        }
        Limit::Both => format!("a thread has at most {one}, all together {all}"),
        Limit::Unknown if source.threads.len() == 1 => {
            format!("one thread has {one}; what several share needs --threads 2 or more")
        }
        Limit::Unknown => format!("one thread has {one}, all {all}; the intervals leave open what limits it"),
    }
}

/// A rate in decimal units.
fn bytes(per_second: f64) -> String {
    let (value, unit) = match per_second {
        r if r >= 1e9 => (r / 1e9, "GB/s"),
        r if r >= 1e6 => (r / 1e6, "MB/s"),
        r if r >= 1e3 => (r / 1e3, "kB/s"),
        r => (r, "B/s"),
    };
    format!("{} {unit}", digits(value))
}

fn count(value: f64) -> String {
    match value {
        v if v >= 1e6 => format!("{} M", digits(v / 1e6)),
        v if v >= 1e3 => format!("{} k", digits(v / 1e3)),
        v => digits(v),
    }
}

/// Three significant digits.
fn digits(value: f64) -> String {
    match value {
        v if v >= 100.0 => format!("{v:.0}"),
        v if v >= 10.0 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}

fn share(of_one: f64) -> String {
    if of_one == 0.0 { "none".into() } else { format!("{:.2} %", 100.0 * of_one) }
}

#[cfg(test)]
mod tests {
    use super::super::document::Span;
    use super::*;

    #[test]
    fn few_runs_have_no_interval() {
        let speed = ThreadsSpeed {
            threads: 1,
            bytes_per_second: Span { value: 2e6, lo: 0.0, hi: 3e6 },
            draws_per_second: 1e3,
            failures: 0,
            failure_share: 0.0,
            processors: 1.0,
        };
        assert_eq!(row("rdrand", &speed, 4)[2..4], ["2.00 MB/s", "–"]);
        assert_eq!(row("rdrand", &speed, 5)[2..4], ["2.00 MB/s", "[0.00 B/s, 3.00 MB/s]"]);
    }
}
