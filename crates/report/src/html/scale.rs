//! The logarithmic scale that all charts of a page share: nanoseconds to per cent of the width.

use serde::Serialize;

use crate::document::{Estimate, RunDocument};
use crate::terminal::whole;

/// The shortest time on a scale: anything shorter stands at its left end.
const SHORTEST: f64 = 1e-3;

/// Per cent of the width below which texts of neighbours overlap, where one of them is at an end.
const NARROW: f64 = 11.0;

/// From one power of ten to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scale {
    lo: f64,
    hi: f64,
}

/// A mark on an axis.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Tick {
    /// Per cent from the left.
    pub(crate) x: f64,
    /// `10 µs`.
    pub(crate) label: String,
    /// Whether it stands for a unit (1 ns, 1 µs …): where there is little room, only these have a text.
    pub(crate) unit: bool,
    /// Where its text is anchored, so that it stays inside.
    pub(crate) anchor: &'static str,
    /// How far light goes in that time.
    pub(crate) light: String,
}

impl Scale {
    /// Around all medians and 99th percentiles of a run, and as much of their intervals as is within a decade; `None` without a figure.
    pub(crate) fn of(document: &RunDocument) -> Option<Scale> {
        let ends = |e: &Estimate| {
            let ns = e.ns.estimate;
            [e.ns.lo.max(ns / 10.0), e.ns.hi.min(ns * 10.0), ns]
        };
        let all = || {
            document
                .points
                .iter()
                .flat_map(|p| p.median.iter().chain(&p.p99))
                .flat_map(ends)
                .map(|ns| ns.max(SHORTEST).log10())
        };
        let (lo, hi) = (all().reduce(f64::min)?.floor(), all().reduce(f64::max)?.ceil());
        Some(Scale { lo, hi: hi.max(lo + 1.0) })
    }

    /// Where that time stands, in per cent of the width, with two decimals.
    pub(crate) fn x(self, ns: f64) -> f64 {
        let share = (ns.max(SHORTEST).log10() - self.lo) / (self.hi - self.lo);
        (share.clamp(0.0, 1.0) * 1e4).round() / 100.0
    }

    /// The width of a decade, in per cent.
    pub(crate) fn decade(self) -> f64 {
        100.0 / (self.hi - self.lo)
    }

    /// A mark for each power of ten.
    pub(crate) fn ticks(self) -> Vec<Tick> {
        let (lo, hi) = (self.lo as i32, self.hi as i32);
        // The texts at both ends stand inside: where decades are narrow there is no room for one beside them.
        let is_beside = |log: i32| self.decade() < NARROW && (log == lo + 1 || log == hi - 1);
        (lo..=hi)
            .filter(|log| !is_beside(*log))
            .map(|log| Tick {
                x: self.x(10f64.powi(log)),
                label: whole(f64::from(log)),
                unit: log % 3 == 0,
                anchor: match log {
                    log if log == lo => "start",
                    log if log == hi => "end",
                    _ => "middle",
                },
                light: light(log),
            })
            .collect()
    }
}

/// How far light goes in that power of ten of nanoseconds, to one digit: 0.3 m in a nanosecond.
fn light(log: i32) -> String {
    // From 10^-3 ns, 300 µm, upwards; 3·10^(log - 1) m.
    let power = log - 1;
    let (unit, above) = match power {
        3.. => ("km", 3),
        0..3 => ("m", 0),
        -2..0 => ("cm", -2),
        -3 => ("mm", -3),
        _ => ("µm", -6),
    };
    let value = 3.0 * 10f64.powi(power - above);
    format!("{} {unit}", value.round())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decades_are_spread_evenly() {
        let scale = Scale { lo: 0.0, hi: 4.0 };
        assert_eq!([1.0, 10.0, 1e4, 1e9, 0.0].map(|ns| scale.x(ns)), [0.0, 25.0, 100.0, 100.0, 0.0]);
        let labels: Vec<String> =
            scale.ticks().into_iter().map(|t| format!("{} {}", t.label, t.light)).collect();
        assert_eq!(light(-3), "300 µm");
        let many = Scale { lo: -1.0, hi: 9.0 }.ticks();
        let texts: Vec<&str> = many.iter().map(|tick| tick.label.as_str()).collect();
        assert_eq!(texts, ["0.1 ns", "10 ns", "100 ns", "1 µs", "10 µs", "100 µs", "1 ms", "10 ms", "1 s"]);
        assert_eq!(labels, ["1 ns 30 cm", "10 ns 3 m", "100 ns 30 m", "1 µs 300 m", "10 µs 3 km"]);
    }
}
