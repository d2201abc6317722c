//! What was foretold and what came, for a terminal.

use std::fmt::Write;

use tollway_report::columns::{Align, Cell, Table};
use tollway_report::number;

use super::document::{FittedDocument, OutcomeDocument, PredictDocument, Span, TakenDocument};

/// Nanoseconds as a person reads them.
pub fn time(ns: f64) -> String {
    match ns {
        ns if ns < 1e6 => format!("{} µs", digits(ns / 1e3)),
        ns if ns < 1e9 => format!("{} ms", digits(ns / 1e6)),
        ns => format!("{} s", digits(ns / 1e9)),
    }
}

/// Three digits.
pub fn digits(value: f64) -> String {
    match value.abs() {
        value_ if value_ >= 99.95 => format!("{value:.0}"),
        value_ if value_ >= 9.995 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// Requests a second.
pub fn rate(rate: f64) -> String {
    match rate {
        rate if rate < 1e3 => format!("{rate:.0}/s"),
        rate if rate < 1e6 => format!("{} k/s", digits(rate / 1e3)),
        rate => format!("{} M/s", digits(rate / 1e6)),
    }
}

/// A figure with its ends.
pub fn ends(Span { estimate, lo, hi }: Span) -> String {
    let unit = if estimate < 1e6 { 1e3 } else { 1e6 };
    format!("{} [{}, {}]", time(estimate), digits(lo / unit), digits(hi / unit))
}

fn off(foretold: f64, measured: f64) -> String {
    number::signed(100.0 * (foretold / measured - 1.0), 1) + " %"
}

fn marked(outcome: OutcomeDocument, off: String) -> String {
    match outcome {
        OutcomeDocument::Holds => off,
        OutcomeDocument::Missed => format!("{off} ✗"),
        OutcomeDocument::SaysNothing => format!("{off} ?"),
    }
}

/// How many of each there are.
fn counted(outcomes: impl Iterator<Item = OutcomeDocument>) -> String {
    let outcomes: Vec<OutcomeDocument> = outcomes.collect();
    let of = |which| outcomes.iter().filter(|outcome| **outcome == which).count();
    format!(
        "of {} figures {} hold, {} were missed, {} say nothing",
        outcomes.len(),
        of(OutcomeDocument::Holds),
        of(OutcomeDocument::Missed),
        of(OutcomeDocument::SaysNothing)
    )
}

fn taken(of: &TakenDocument) -> String {
    format!("{:.2} % ({:.2} % in pieces of 100 µs and more)", 100.0 * of.share, 100.0 * of.long_share)
}

/// What the model was fitted to.
pub fn fitted(cipher: &str, size: usize, of: &FittedDocument) -> String {
    let mut out = format!(
        "{cipher}, {size} bytes. Fitted to light loads of `busy`: a service of {}, {} longer after a sleep ({} with what the \
         machine takes), wake-ups {} times as long as alone, {} µs besides\n",
        time(of.service_ns),
        time(of.cold_ns),
        time(of.occupied_ns),
        digits(of.wakes),
        digits(of.rest_ns / 1e3),
    );
    for light in &of.light {
        let _ = writeln!(
            out,
            "  {:>9}  median response {}, fitted model {} %",
            rate(light.rate),
            time(light.median_ns),
            number::signed(100.0 * light.off, 1)
        );
    }
    out
}

impl PredictDocument {
    /// For a terminal of that many columns.
    pub fn to_text(&self, width: Option<usize>) -> String {
        let mut out = fitted(&self.cipher, self.size, &self.fitted);
        let mut table = Table::new([&[Align::Left; 1][..], &[Align::Right; 14][..]].concat());
        let head = [
            "way",
            "load",
            "rate",
            "requests",
            "mean response",
            "foretold",
            "off",
            "M/G/1",
            "M/M/1",
            "p",
            "p99",
            "foretold",
            "off",
            "queue",
            "foretold",
        ];
        table.row(head.map(Cell::plain).to_vec());
        for of in &self.predicted {
            let mean = marked(of.mean_outcome, off(of.mean_foretold_ns, of.mean_ns.estimate));
            let p99 = marked(of.p99_outcome, off(of.p99_foretold_ns, of.p99_ns.estimate));
            let p =
                of.mm1_p.map_or("–".into(), |p| if p < 1e-3 { "< 0.001".into() } else { format!("{p:.3}") });
            let row = [
                of.way.clone(),
                of.load.map_or("loop".into(), |load| format!("{load:.2}")),
                if of.rate > 0.0 { rate(of.rate) } else { "–".into() },
                of.requests.to_string(),
                ends(of.mean_ns),
                time(of.mean_foretold_ns),
                mean,
                of.mg1_setup_mean_ns.map_or("–".into(), time),
                of.mm1_mean_ns.map_or("–".into(), time),
                p,
                ends(of.p99_ns),
                time(of.p99_foretold_ns),
                p99,
                digits(of.queue),
                digits(of.queue_foretold),
            ];
            table.row(row.map(Cell::plain).to_vec());
        }
        let _ = write!(out, "\n{}", table.render(width));
        let frozen = self.predicted.iter().flat_map(|of| [of.mean_outcome, of.p99_outcome]);
        let rejected = self.predicted.iter().filter(|of| of.mm1_rejected).count();
        let _ = writeln!(
            out,
            "{} (a mean within 10 % or in the interval, p99 within 20 % or there; ✗ missed, ? the interval is too wide). M/M/1 is \
             rejected at {rejected} of {} (5 %)",
            counted(frozen),
            self.predicted.len()
        );
        if let Some(remark) = self.predicted.iter().find_map(|of| of.remark.as_ref()) {
            let _ = writeln!(out, "Known before: {remark}");
        }
        if self.predicted.iter().all(|of| of.shows_nothing()) {
            out.push_str("Nothing is shown: take more --requests, or a machine that fewer others use\n");
        }
        out.push_str(&self.meanwhile(width));
        let runs: Vec<String> = self.runs.iter().map(i64::to_string).collect();
        let _ = writeln!(out, "runs {} of the store", runs.join(", "));
        out
    }

    /// What the machine took, and what that makes of the same model.
    fn meanwhile(&self, width: Option<usize>) -> String {
        let mut out = format!(
            "\nThe machine took {} of a core between the light loads, and {} between the blocks of what was foretold. With the \
             latter, reckoned afterwards, the same model has\n",
            taken(&self.fitted.taken),
            taken(&self.meanwhile)
        );
        let mut table = Table::new([&[Align::Left; 1][..], &[Align::Right; 6][..]].concat());
        table.row(["way", "load", "counted", "mean", "off", "p99", "off"].map(Cell::plain).to_vec());
        for of in &self.predicted {
            let mean = marked(of.mean_meanwhile_outcome, off(of.mean_meanwhile_ns, of.mean_ns.estimate));
            let p99 = marked(of.p99_meanwhile_outcome, off(of.p99_meanwhile_ns, of.p99_ns.estimate));
            let row = [
                of.way.clone(),
                of.load.map_or("loop".into(), |load| format!("{load:.2}")),
                format!("{:.2}", of.load_measured),
                time(of.mean_meanwhile_ns),
                mean,
                time(of.p99_meanwhile_ns),
                p99,
            ];
            table.row(row.map(Cell::plain).to_vec());
        }
        let then = self.predicted.iter().flat_map(|of| [of.mean_meanwhile_outcome, of.p99_meanwhile_outcome]);
        let _ = writeln!(out, "{}{}", table.render(width), counted(then));
        out
    }
}
