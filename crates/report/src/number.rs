//! Numbers as a person reads them: three significant digits, SI units for time.

use crate::document::Span;

/// Significant digits of a figure.
const DIGITS: i32 = 3;

/// The unit and the decimals in which a duration and its interval are written, chosen by the duration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TimeScale {
    unit: &'static str,
    ns_per_unit: f64,
    decimals: usize,
}

impl TimeScale {
    /// The scale for a duration in nanoseconds.
    pub(crate) fn of(ns: f64) -> TimeScale {
        let units = [("ns", 1.0), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)];
        // 999.6 ns has three digits only as 1.00 µs.
        let fits = |&(_, per): &(&str, f64)| rounded(ns.abs() / per) < 1000.0;
        let (unit, ns_per_unit) = units.into_iter().find(fits).unwrap_or(units[3]);
        TimeScale { unit, ns_per_unit, decimals: decimals(ns / ns_per_unit) }
    }

    /// The duration without its unit.
    pub(crate) fn bare(self, ns: f64) -> String {
        fixed(ns / self.ns_per_unit, self.decimals)
    }

    /// The duration with its unit.
    pub(crate) fn full(self, ns: f64) -> String {
        format!("{} {}", self.bare(ns), self.unit)
    }
}

/// A duration in nanoseconds, with its unit: `104 ns`, `8.11 µs`.
pub fn time(ns: f64) -> String {
    TimeScale::of(ns).full(ns)
}

/// Times its estimate, from which on the upper end of an interval says nothing: so wide are those of two blocks that differ.
const FAR: f64 = 100.0;

/// What stands in the place of an interval that says nothing.
pub const NOTHING: &str = "says nothing";

/// Whether an interval of something that is more than 0 is so wide that it says nothing.
pub fn says_nothing(span: &Span) -> bool {
    span.estimate > 0.0 && (!span.hi.is_finite() || span.hi > FAR * span.estimate)
}

/// The interval of a duration in nanoseconds, in the unit and with the decimals of its estimate: `101 – 107`.
pub(crate) fn interval(span: &Span) -> String {
    if says_nothing(span) {
        return NOTHING.into();
    }
    let scale = TimeScale::of(span.estimate);
    format!("{} – {}", scale.bare(span.lo), scale.bare(span.hi))
}

/// A plain number with three significant digits: `2.37`, `218`, `12300`.
pub fn plain(x: f64) -> String {
    fixed(x, decimals(x))
}

/// A count or a number of ticks: `2.37`, `218`, `17.1 k`, `4.20 M`.
pub fn count(x: f64) -> String {
    let units = [("", 1.0), (" k", 1e3), (" M", 1e6), (" G", 1e9), (" T", 1e12)];
    let fits = |&(_, per): &(&str, f64)| rounded(x.abs() / per) < 1000.0;
    let (unit, per) = units.into_iter().find(fits).unwrap_or(units[4]);
    format!("{}{unit}", plain(x / per))
}

/// So many of a unit in a second: `1.42 GB/s`, `126 k IO/s`.
pub fn rate(per_second: f64, unit: &str) -> String {
    let text = count(per_second);
    match text.split_once(' ') {
        Some((digits, prefix)) if is_scaled(unit) => format!("{digits} {prefix}{unit}"),
        _ => format!("{text} {unit}"),
    }
}

/// The interval of a rate, in the unit and with the decimals of its estimate.
pub(crate) fn rate_interval(span: &Span) -> String {
    if says_nothing(span) {
        return NOTHING.into();
    }
    let (_, interval) = rounded_span(&Span { lo: span.lo.max(0.0), ..*span });
    interval.trim_matches(['[', ']']).replace(", ", " – ")
}

/// Whether the unit takes a prefix: bytes and bits do, what is counted does not.
fn is_scaled(unit: &str) -> bool {
    matches!(unit, "B/s" | "bit/s")
}

/// A ratio: `1.002`, `0.93`, `34`; as many decimals as the width of its interval is worth, two at least near 1.
pub fn ratio(span: &Span) -> (String, String) {
    let half = 0.5 * (span.hi - span.lo);
    let decimals = if span.estimate >= 20.0 {
        0
    } else if span.estimate >= 5.0 {
        1
    } else if half > 0.0 && half < 0.02 {
        3
    } else {
        2
    };
    let say = |x: f64| if x >= 1000.0 { fixed(rounded(x), 0) } else { fixed(x, decimals) };
    (say(span.estimate), format!("[{}, {}]", say(span.lo), say(span.hi)))
}

/// A count and its interval, in one unit: `58.7 M`, `[57.9, 59.2]`.
pub(crate) fn rounded_span(span: &Span) -> (String, String) {
    let text = count(span.estimate);
    let (digits, unit) = text.split_once(' ').unwrap_or((&text, ""));
    let per = match unit {
        "k" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        _ => 1.0,
    };
    let decimals = digits.split_once('.').map_or(0, |(_, d)| d.len());
    let interval = [span.lo, span.hi].map(|x| fixed(x / per, decimals));
    (text, format!("[{}, {}]", interval[0], interval[1]))
}

/// The same text with a number and its unit, and the ends of an interval, held together by a no-break space.
pub(crate) fn glued(text: &str) -> String {
    const UNITS: [&str; 14] =
        ["ns", "µs", "ms", "s", "×", "%", "k", "M", "G", "B", "KiB", "MiB", "MB/s", "GHz"];
    let mut out = String::with_capacity(text.len() + 8);
    let mut interval = false;
    for (i, word) in text.split(' ').enumerate() {
        if i > 0 {
            let bare = word.trim_end_matches([',', '.', ';', ':', ')']);
            let unit = UNITS.contains(&bare) && out.ends_with(|c: char| c.is_ascii_digit());
            out.push(if unit || interval { '\u{a0}' } else { ' ' });
        }
        out.push_str(word);
        interval = word.starts_with('[') && word.ends_with(',');
    }
    out
}

/// A share as a percentage: `0.02 %`, `2.1 %`, `95 %`.
pub fn percent(share: f64) -> String {
    let per_cent = share * 100.0;
    let decimals = match per_cent.abs() {
        x if x >= 9.95 || (x * 10.0).round() % 10.0 == 0.0 && x >= 0.1 || x == 0.0 => 0,
        x if x >= 0.1 => 1,
        _ => 2,
    };
    format!("{} %", fixed(per_cent, decimals))
}

/// A percentage that says "all" only of all and "none" only of none: 99.9 % of trials are not 100 %.
pub(crate) fn share_of(part: u64, whole: u64) -> String {
    let share = part as f64 / whole.max(1) as f64;
    match percent(share) {
        text if part < whole && text == "100 %" => "over 99 %".into(),
        text => text,
    }
}

/// How many decimals show three significant digits.
fn decimals(x: f64) -> usize {
    let x = rounded(x.abs());
    if x == 0.0 || !x.is_finite() {
        return 0;
    }
    let above_point = x.log10().floor() as i32 + 1;
    usize::try_from(DIGITS - above_point).unwrap_or(0).min(9)
}

/// Rounded to three significant digits.
fn rounded(x: f64) -> f64 {
    if x == 0.0 || !x.is_finite() {
        return x;
    }
    let scale = 10f64.powi(DIGITS - 1 - x.abs().log10().floor() as i32);
    (x * scale).round() / scale
}

fn fixed(x: f64, decimals: usize) -> String {
    unsigned_zero(format!("{x:.decimals$}")).replacen('-', "−", 1)
}

/// The digits of a number without a sign where all of them are zero: what rounds to nothing is neither more
/// nor less.
pub fn unsigned_zero(digits: String) -> String {
    match digits.strip_prefix(['-', '+']) {
        Some(bare) if bare.chars().all(|c| c == '0' || c == '.') => bare.into(),
        _ => digits,
    }
}

/// A difference with its sign, to this many decimals: `+2.1`, `-0.3`, `0.0`.
pub fn signed(x: f64, decimals: usize) -> String {
    unsigned_zero(format!("{x:+.decimals$}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_has_no_sign_however_it_came_about() {
        assert_eq!(time(-0.0), "0 ns");
        assert_eq!(
            [2.06, -0.3, -0.04, 0.04, -0.0].map(|x| signed(x, 1)),
            ["+2.1", "-0.3", "0.0", "0.0", "0.0"]
        );
        assert_eq!(signed(-0.4, 0), "0");
    }

    #[test]
    fn three_digits_and_the_unit_that_fits() {
        let cases = [
            (0.0, "0 ns"),
            (0.0123, "0.0123 ns"),
            (0.9523, "0.952 ns"),
            (2.374, "2.37 ns"),
            (104.4, "104 ns"),
            (999.4, "999 ns"),
            (999.6, "1.00 µs"),
            (8114.0, "8.11 µs"),
            (16_949.0, "16.9 µs"),
            (999_960.0, "1.00 ms"),
            (4.2e9, "4.20 s"),
            (7.2e12, "7200 s"),
        ];
        for (ns, text) in cases {
            assert_eq!(time(ns), text);
        }
    }

    #[test]
    fn an_interval_shares_its_estimates_unit() {
        assert_eq!(interval(&Span { estimate: 1040.0, lo: 981.0, hi: 1072.0 }), "0.98 – 1.07");
        assert_eq!(interval(&Span { estimate: 104.0, lo: -3.0, hi: 107.2 }), "−3 – 107");
        // Two blocks, of 200 and 200000 ns.
        assert_eq!(interval(&Span { estimate: 6.3e3, lo: 6.8e-8, hi: 5.9e20 }), "says nothing");
        assert_eq!(interval(&Span { estimate: 6.3e3, lo: 1.0, hi: f64::INFINITY }), "says nothing");
        assert_eq!(interval(&Span { estimate: 100.0, lo: 0.0, hi: 9999.0 }), "0 – 9999");
    }

    #[test]
    fn counts_ratios_and_shares() {
        assert_eq!(
            [count(2.0), count(218.4), count(16_949.0), count(999_999.0)],
            ["2.00", "218", "16.9 k", "1.00 M"]
        );
        let ratio = |estimate, lo, hi| ratio(&Span { estimate, lo, hi });
        assert_eq!(ratio(1.002, 0.996, 1.009), ("1.002".into(), "[0.996, 1.009]".into()));
        assert_eq!(ratio(0.93, 0.90, 0.97).1, "[0.90, 0.97]");
        assert_eq!(ratio(34.2, 30.0, 38.0).0, "34");
        assert_eq!(
            [percent(0.95), percent(0.021), percent(0.0002), percent(0.02), percent(0.0)],
            ["95 %", "2.1 %", "0.02 %", "2 %", "0 %"]
        );
        assert_eq!(glued("4 [3.9, 4.1] so"), "4 [3.9,\u{a0}4.1] so");
        assert_eq!(glued("costs 28.8 ns, or 4 s more"), "costs 28.8\u{a0}ns, or 4\u{a0}s more");
        assert_eq!(ratio(8769.0, 6265.0, 11_583.0), ("8770".into(), "[6270, 11600]".into()));
        let total = Span { estimate: 58_712_345.0, lo: 57.94e6, hi: 59.2e6 };
        assert_eq!(rounded_span(&total), ("58.7 M".into(), "[57.9, 59.2]".into()));
        assert_eq!([share_of(999, 1000), share_of(10, 10)], ["over 99 %", "100 %"]);
    }
}
