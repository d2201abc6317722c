//! Figures with their intervals, from ticks of a run's clock to what a person and a program read.

use tollway_report::document::Span;
use tollway_report::number;
use tollway_stats::Interval;
use tollway_store::Outcome;

/// An interval times a factor.
pub(crate) fn span(of: &Interval, factor: f64) -> Span {
    Span { estimate: of.estimate * factor, lo: of.lo * factor, hi: of.hi * factor }
}

/// How often a second what takes so many nanoseconds happens.
pub(crate) fn a_second(ns: &Span) -> Span {
    let rate = |ns: f64| if ns > 0.0 { 1e9 / ns } else { 0.0 };
    Span { estimate: rate(ns.estimate), lo: rate(ns.hi), hi: rate(ns.lo) }
}

/// The ends of a time in nanoseconds: `[1.20 µs, 1.31 µs]`; a word where they say nothing.
pub(crate) fn ends(ns: &Span) -> String {
    if number::says_nothing(ns) {
        return number::NOTHING.into();
    }
    format!("[{}, {}]", number::time(ns.lo), number::time(ns.hi))
}

/// How far something that was foretold is off, and a mark if the prediction missed it: `+3.1 % ✗`.
pub(crate) fn off(foretold: f64, measured: f64, outcome: Option<&str>) -> String {
    let mark = if outcome == Some(MISSED) { " ✗" } else { "" };
    format!("{} %{mark}", number::signed(100.0 * (foretold / measured - 1.0), 1))
}

/// What became of a prediction, as documents have it.
pub(crate) fn outcome(of: Outcome) -> &'static str {
    match of {
        Outcome::Holds => "holds",
        Outcome::Missed => MISSED,
        Outcome::SaysNothing => "says-nothing",
    }
}

const MISSED: &str = "missed";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_has_its_ends_the_other_way_round() {
        let rate = a_second(&Span { estimate: 1000.0, lo: 500.0, hi: 2000.0 });
        assert_eq!((rate.lo, rate.estimate, rate.hi), (5e5, 1e6, 2e6));
        assert_eq!(a_second(&Span { estimate: 0.0, lo: 0.0, hi: 1.0 }).hi, 0.0);
        assert_eq!(ends(&Span { estimate: 1200.0, lo: 1100.0, hi: 1300.0 }), "[1.10 µs, 1.30 µs]");
        assert_eq!(ends(&Span { estimate: 6.3e3, lo: 6.8e-8, hi: 5.9e20 }), "says nothing");
        assert_eq!(off(110.0, 100.0, Some("holds")), "+10.0 %");
        assert_eq!(off(99.0, 100.0, Some(outcome(Outcome::Missed))), "-1.0 % ✗");
    }
}
