//! The proof of a comparison: A against A must find nothing, A against a planted slowdown must find it.

use anstyle::Style;
use serde::Serialize;

use super::Comparison;
use crate::columns::{Cell, Table, printable};
use crate::document::{ComparedDocument, RatioDocument, VerdictDocument};
use crate::number::{percent, share_of};

/// A figure resolves a change of 10 % where half its interval is at most this share of the ratio.
const RESOLVING: f64 = 0.03;

/// Share of figures that have to resolve a change of 10 %.
const RESOLVED: f64 = 0.80;

/// Share of figures that may change in A/A, where nothing differs.
const FALSE: f64 = 0.05;

/// Share of planted slowdowns, of figures that resolve, that have to be found.
const FOUND: f64 = 0.95;

/// What two comparisons prove about the program's judgement on this machine.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Proof {
    /// The slowdown that was planted, as a share: 0.1 is 10 %.
    pub planted: f64,
    /// Figures of the A/A comparison that have a ratio.
    pub figures: u64,
    /// Figures of it whose interval is narrow enough (half of it at most 3 %) to resolve a change of 10 %.
    pub resolving: u64,
    /// Figures of it that are called better or worse, though nothing differs.
    pub false_changes: Vec<String>,
    /// Figures of it that are called the same.
    pub same: u64,
    /// Figures that resolve and were compared with the planted slowdown.
    pub tried: u64,
    /// Those of them that are called worse.
    pub found: u64,
    /// Those of them that are not.
    pub missed: Vec<String>,
}

impl Proof {
    /// What follows from A/A, where nothing differs, and from A/B, where every operation of B was slowed by `planted`.
    ///
    /// Whether a figure resolves is read off A/A alone, so that the slowdown does not select what it is tried on.
    pub fn of(same: &Comparison, slowed: &Comparison, planted: f64) -> Proof {
        let ratios = |c: &Comparison| -> Vec<(ComparedDocument, RatioDocument)> {
            c.document.figures.iter().filter_map(|f| Some((f.clone(), f.ratio?))).collect()
        };
        let (same, slowed) = (ratios(same), ratios(slowed));
        let is = |r: &RatioDocument, v: VerdictDocument| r.verdict == v;
        let changed = |r: &RatioDocument| is(r, VerdictDocument::Better) || is(r, VerdictDocument::Worse);
        let resolving: Vec<&ComparedDocument> =
            same.iter().filter(|(_, r)| resolves(r)).map(|(f, _)| f).collect();
        let tried: Vec<&(ComparedDocument, RatioDocument)> =
            slowed.iter().filter(|(f, _)| resolving.iter().any(|r| is_same_point(r, f))).collect();
        let missed: Vec<String> = tried
            .iter()
            .filter(|(_, r)| !is(r, VerdictDocument::Worse))
            .map(|(f, _)| f.title.clone())
            .collect();
        Proof {
            planted,
            figures: same.len() as u64,
            resolving: resolving.len() as u64,
            false_changes: same.iter().filter(|(_, r)| changed(r)).map(|(f, _)| f.title.clone()).collect(),
            same: same.iter().filter(|(_, r)| is(r, VerdictDocument::Same)).count() as u64,
            tried: tried.len() as u64,
            found: (tried.len() - missed.len()) as u64,
            missed,
        }
    }

    /// Whether it proves what it should: at least 80 % of the figures resolve a change of 10 %, at most 5 % of them
    /// changed falsely, and at least 95 % of the planted slowdowns were found.
    pub fn holds(&self) -> bool {
        let share = |n: u64, of: u64| n as f64 / of as f64;
        self.figures > 0
            && self.tried > 0
            && share(self.resolving, self.figures) >= RESOLVED
            && share(self.false_changes.len() as u64, self.figures) <= FALSE
            && share(self.found, self.tried) >= FOUND
    }

    /// The proof for a terminal of `width` columns; `None` where the output is no terminal.
    pub fn terminal(&self, width: Option<usize>) -> String {
        let mut table = Table::new(Vec::new());
        let bold = Style::new().bold();
        let planted = percent(self.planted);
        table.across(0, Cell::styled("Can a comparison be trusted here?", bold));
        let mut say = |text: String| table.across(2, Cell::plain(printable(&text)));
        say(format!(
            "A against A: {} of {} figures changed, though nothing did{}; {} are called the same.",
            self.false_changes.len(),
            self.figures,
            listed(&self.false_changes),
            self.same
        ));
        say(format!(
            "{} of {} figures ({}) resolve a change of 10 % (half the interval at most {}).",
            self.resolving,
            self.figures,
            share_of(self.resolving, self.figures),
            percent(RESOLVING)
        ));
        say(format!(
            "A against A slowed by {planted}: found in {} of {} that resolve ({}){}.",
            self.found,
            self.tried,
            share_of(self.found, self.tried),
            if self.missed.is_empty() { String::new() } else { format!("; missed{}", listed(&self.missed)) }
        ));
        table.render(width)
    }
}

fn listed(titles: &[String]) -> String {
    if titles.is_empty() { String::new() } else { format!(" ({})", titles.join("; ")) }
}

fn resolves(ratio: &RatioDocument) -> bool {
    let span = ratio.b_over_a;
    0.5 * (span.hi - span.lo) <= RESOLVING * span.estimate
}

fn is_same_point(a: &ComparedDocument, b: &ComparedDocument) -> bool {
    a.path == b.path && a.variant == b.variant && a.params == b.params && a.toll == b.toll
}
