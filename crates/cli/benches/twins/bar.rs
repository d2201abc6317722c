//! Bars, verdicts and the table that shows them.

use std::fmt;

use tollway_core::Error;
use tollway_stats::Interval;

/// What a figure has to keep to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bar {
    /// A ratio of one, give or take this share (as a factor in both directions).
    Agrees(f64),
    /// A ratio that is farther from one than this share: what was planted has to be found.
    Differs(f64),
    /// This count.
    Exactly(u64),
    /// No more than this.
    AtMost(f64, &'static str),
    /// No less than this.
    AtLeast(f64, &'static str),
}

/// Whether it does.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Verdict {
    /// The whole interval keeps to it.
    Holds,
    /// The whole interval lies beyond it.
    Fails,
    /// The interval is too wide to tell.
    #[default]
    NotSeparable,
    /// The machine cannot do it: reason → remedy.
    Skipped(String),
    /// It went wrong.
    Broken(String),
}

impl Bar {
    /// Holds a figure's interval against the bar.
    pub fn judge(self, measured: &Interval) -> Verdict {
        let (least, most) = match self {
            Bar::Differs(share) => {
                return match Bar::Agrees(share).judge(measured) {
                    Verdict::Holds => Verdict::Fails,
                    Verdict::Fails => Verdict::Holds,
                    other => other,
                };
            }
            Bar::Agrees(share) => (1.0 / (1.0 + share), 1.0 + share),
            Bar::Exactly(count) => (count as f64, count as f64),
            Bar::AtMost(most, _) => (f64::NEG_INFINITY, most),
            Bar::AtLeast(least, _) => (least, f64::INFINITY),
        };
        if measured.lo >= least && measured.hi <= most {
            Verdict::Holds
        } else if measured.lo > most || measured.hi < least {
            Verdict::Fails
        } else {
            Verdict::NotSeparable
        }
    }
}

impl fmt::Display for Bar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bar::Agrees(share) => write!(f, "within {:.0} %", share * 100.0),
            Bar::Differs(share) => write!(f, "off by more than {:.0} %", share * 100.0),
            Bar::Exactly(count) => write!(f, "exactly {count}"),
            Bar::AtMost(most, unit) => write!(f, "≤ {most} {unit}"),
            Bar::AtLeast(least, unit) => write!(f, "≥ {least} {unit}"),
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Holds => f.write_str("holds"),
            Verdict::Fails => f.write_str("FAILS"),
            Verdict::NotSeparable => f.write_str("not separable"),
            Verdict::Skipped(why) => write!(f, "skipped: {why}"),
            Verdict::Broken(why) => write!(f, "BROKEN: {why}"),
        }
    }
}

impl Verdict {
    /// Of what could not be measured: skipped where the machine lacks something, broken otherwise.
    pub fn without_figure(error: &anyhow::Error) -> Verdict {
        match error.downcast_ref::<Error>() {
            Some(Error::Missing(missing)) => Verdict::Skipped(missing.to_string()),
            _ => Verdict::Broken(format!("{error:#}")),
        }
    }
}

/// One line of the table.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// The figure's name.
    pub name: String,
    /// Ours, with its unit where it is not ticks.
    pub ours: String,
    /// The twin's.
    pub twin: String,
    /// What is held against the bar, with its interval.
    pub measured: String,
    /// The bar.
    pub bar: String,
    /// The outcome.
    pub verdict: Verdict,
}

/// A count of ticks with as many decimals as it deserves.
pub fn number(ticks: f64) -> String {
    match ticks {
        t if t < 10.0 => format!("{t:.2}"),
        t if t < 1000.0 => format!("{t:.1}"),
        t => format!("{t:.0}"),
    }
}

/// Prints the table on standard output.
pub fn print(rows: &[Row]) {
    let head = ["figure", "ours", "twin", "ours/twin, or ours [95 %]", "bar", "verdict"].map(String::from);
    let mut lines = vec![head];
    lines.extend(rows.iter().map(|r| {
        let Row { name, ours, twin, measured, bar, verdict } = r.clone();
        [name, ours, twin, measured, bar, verdict.to_string()]
    }));
    let mut widths = [0; 6];
    for line in &lines {
        for (width, cell) in widths.iter_mut().zip(line) {
            *width = (*width).max(cell.chars().count());
        }
    }
    for [name, ours, twin, measured, bar, verdict] in &lines {
        let [a, b, c, d, e, _] = widths;
        println!("{name:a$}  {ours:>b$}  {twin:>c$}  {measured:d$}  {bar:e$}  {verdict}");
    }
}
