//! The work ledger of a bill: what tolls explain of a cost that was measured end to end, added up over everybody. Latency
//! has a ledger of its own (`latency.rs`); the two are never mixed.

use tollway_stats::Interval;

use crate::card::{Family, Given, Kind, Model, Parameter};
use crate::scaling::crossover::deviations;
use crate::{ModelError, Result, Solution, Unit, check};

/// One gate of a path: how often an operation passes it, over all roles, and its toll.
///
/// Give each toll once. Two gates with the same measured toll are not independent, and the interval of their sum would
/// be too small: add up their visits instead.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    /// Its name.
    pub name: String,
    /// Visits of one operation, counted.
    pub visits: f64,
    /// Mean toll of one visit, with its interval.
    pub toll: Interval,
}

/// A bill: the sum of the gates and what they leave unexplained.
#[derive(Clone, Debug, PartialEq)]
pub struct Bill {
    /// Σ visits × toll.
    pub sum: Interval,
    /// What was measured less the sum; below 0 where the tolls come to more.
    pub unexplained: Interval,
    /// `unexplained` as a share of what was measured.
    pub unexplained_share: f64,
    /// Visits × toll of each gate, in their order.
    pub lines: Vec<(String, Interval)>,
}

/// The work ledger: adds visits × tolls up and holds the sum against what was measured.
///
/// Intervals are propagated by MOVER: each end of a sum is the sum of the estimates, plus or minus the root of the sum
/// of squares of the distances to that end. Independent tolls; asymmetric intervals stay asymmetric. Source: Zou and
/// Donner (2008), Construction of confidence limits about effect measures: a general approach.
///
/// # Errors
/// When there is no gate, a number is not usable, intervals differ in confidence, or what was measured is not above 0.
pub fn work(gates: &[Gate], measured: Interval) -> Result<Bill> {
    check::count("gates", gates.len() as u64, 1, 100_000)?;
    check::positive("measured", measured.estimate)?;
    let lines = gates
        .iter()
        .map(|gate| {
            let visits = check::non_negative(&format!("visits of {}", gate.name), gate.visits)?;
            if gate.toll.confidence != measured.confidence {
                return Err(ModelError::parameter(
                    format!("toll of {}", gate.name),
                    "its interval has another confidence than what was measured",
                    "give all intervals at one confidence",
                ));
            }
            Ok((gate.name.clone(), gate.toll.scaled(visits).map_err(|_| too_large())?))
        })
        .collect::<Result<Vec<_>>>()?;
    let sum = added(lines.iter().map(|(_, line)| *line), measured.confidence)?;
    let unexplained = less(measured, sum)?;
    let unexplained_share = unexplained.estimate / measured.estimate;
    Ok(Bill { sum, unexplained, unexplained_share, lines })
}

/// A sum of independent estimates, each with its weight, which may be below 0. Give each estimate once.
///
/// # Errors
/// When intervals differ in confidence or the sum leaves floating point.
pub fn weighted(parts: &[(f64, Interval)]) -> Result<Interval> {
    let confidence = parts.first().map_or(0.95, |(_, part)| part.confidence);
    if parts.iter().any(|(_, part)| part.confidence != confidence) {
        return Err(ModelError::parameter(
            "parts",
            "their intervals differ in confidence",
            "give all intervals at one confidence",
        ));
    }
    let turned = parts.iter().map(|(weight, part)| {
        let [estimate, one, other] = [part.estimate, part.lo, part.hi].map(|end| weight * end);
        Interval { estimate, lo: one.min(other), hi: one.max(other), confidence }
    });
    added(turned, confidence)
}

/// The sum of independent estimates.
pub(super) fn added(parts: impl Iterator<Item = Interval>, confidence: f64) -> Result<Interval> {
    let (mut estimate, mut below, mut above) = (0.0, 0.0_f64, 0.0_f64);
    for part in parts {
        estimate += part.estimate;
        below = below.hypot(part.estimate - part.lo);
        above = above.hypot(part.hi - part.estimate);
    }
    Interval::new(estimate, estimate - below, estimate + above, confidence).map_err(|_| too_large())
}

/// The difference of two independent estimates.
pub(super) fn less(measured: Interval, sum: Interval) -> Result<Interval> {
    let estimate = measured.estimate - sum.estimate;
    let below = (measured.estimate - measured.lo).hypot(sum.hi - sum.estimate);
    let above = (measured.hi - measured.estimate).hypot(sum.estimate - sum.lo);
    Interval::new(estimate, estimate - below, estimate + above, measured.confidence).map_err(|_| too_large())
}

/// An estimate with a standard error, given as the parameter `name`, as an interval that reaches so many standard errors.
pub(super) fn with_error(
    name: &str,
    estimate: f64,
    error: f64,
    deviations: f64,
    confidence: f64,
) -> Result<Interval> {
    let half = deviations * check::non_negative(name, error)?;
    Interval::new(estimate, estimate - half, estimate + half, confidence).map_err(|_| too_large())
}

pub(super) fn too_large() -> ModelError {
    ModelError::Numerical { method: "bill", reason: "the sum leaves floating point".into() }
}

/// In the catalogue.
pub(crate) const MODEL: Model = Model {
    name: "bill",
    title: "bill",
    family: Family::Scaling,
    summary: "visits × tolls added up, and what they leave unexplained of a measured cost",
    formula: "sum Σvᵢtᵢ; unexplained m − Σvᵢtᵢ; ends of intervals: estimate ± √(Σ(distance to that end)²)",
    assumptions: "the work ledger: everybody's work adds up (latency has its own, `latency`); tolls are means, each measured on its own and independent of the others (a toll that is paid at several gates stands in one row); visits are counted",
    source: "Zou and Donner (2008), Construction of confidence limits about effect measures: a general approach (MOVER)",
    holds: "arithmetic; the interval is as good as those that go into it",
    parameters: &[
        Parameter {
            name: "gates",
            kind: Kind::Numbers,
            means: "visits, toll and, where known, the toll's standard error of each gate, `visits,toll,error;…`",
            default: None,
            example: "1,120,2;2,350,6;4,90,1",
        },
        Parameter {
            name: "measured",
            kind: Kind::Number,
            means: "cost of one operation end to end, measured on its own, in the unit of the tolls",
            default: None,
            example: "1250",
        },
        Parameter {
            name: "error",
            kind: Kind::Number,
            means: "standard error of what was measured",
            default: Some("0"),
            example: "10",
        },
        Parameter {
            name: "confidence",
            kind: Kind::Number,
            means: "confidence of the intervals",
            default: Some("0.95"),
            example: "0.95",
        },
    ],
    solve,
};

fn solve(given: &Given) -> Result<Solution> {
    let confidence = given.number("confidence")?;
    let deviations = deviations(confidence, None)?;
    let interval = |name: &str, estimate, error| with_error(name, estimate, error, deviations, confidence);
    let gates = given.rows("gates")?.into_iter().enumerate().map(|(i, row)| {
        let (visits, toll, error) = match row[..] {
            [visits, toll] => (visits, toll, 0.0),
            [visits, toll, error] => (visits, toll, error),
            _ => {
                return Err(ModelError::parameter(
                    "gates",
                    format!("a row has {} numbers", row.len()),
                    "write visits,toll or visits,toll,error for each gate",
                ));
            }
        };
        Ok(Gate { name: format!("gate {}", i + 1), visits, toll: interval("gates: error", toll, error)? })
    });
    let gates = gates.collect::<Result<Vec<_>>>()?;
    let measured = check::positive("measured", given.number("measured")?)?;
    let measured = interval("error", measured, given.number("error")?)?;
    let bill = work(&gates, measured).map_err(|error| error.within("gates"))?;
    Ok(Solution::new()
        .with("sum", bill.sum.estimate, Unit::AsGiven)
        .with("sum.low", bill.sum.lo, Unit::AsGiven)
        .with("sum.high", bill.sum.hi, Unit::AsGiven)
        .with("unexplained", bill.unexplained.estimate, Unit::AsGiven)
        .with("unexplained.low", bill.unexplained.lo, Unit::AsGiven)
        .with("unexplained.high", bill.unexplained.hi, Unit::AsGiven)
        .with("unexplained.share", bill.unexplained_share, Unit::Ratio))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn about(estimate: f64, below: f64, above: f64) -> Interval {
        Interval::new(estimate, estimate - below, estimate + above, 0.95).unwrap()
    }

    fn gate(name: &str, visits: f64, toll: Interval) -> Gate {
        Gate { name: name.into(), visits, toll }
    }

    #[test]
    fn work_adds_up_and_the_rest_is_unexplained() {
        // Distances below: 3 × 1, 2 × 2; above: 3 × 4, 2 × 2.5.
        let gates = [gate("exit", 3.0, about(100.0, 1.0, 4.0)), gate("copy", 2.0, about(50.0, 2.0, 2.5))];
        let bill = work(&gates, about(450.0, 12.0, 5.0)).unwrap();
        assert_eq!((bill.sum.estimate, bill.sum.lo, bill.sum.hi), (400.0, 395.0, 413.0));
        // 50 below by √(12² + 13²), above by √(5² + 5²).
        assert_eq!(bill.unexplained.estimate, 50.0);
        assert!((bill.unexplained.lo - (50.0 - 313_f64.sqrt())).abs() < 1e-12);
        assert!((bill.unexplained.hi - (50.0 + 50_f64.sqrt())).abs() < 1e-12);
        assert_eq!(bill.unexplained_share, 50.0 / 450.0);
        assert_eq!(bill.lines[1].1.estimate, 100.0);
    }

    #[test]
    fn a_planted_cost_that_no_gate_owns_is_unexplained() {
        let gates = [gate("exit", 3.0, about(100.0, 1.0, 1.0))];
        let (without, with) = (about(301.0, 3.0, 3.0), about(301.0 + 80.0, 3.0, 3.0));
        assert!(work(&gates, without).unwrap().unexplained.contains(0.0));
        let told = work(&gates, with).unwrap().unexplained;
        assert!(told.contains(80.0) && !told.contains(0.0));
    }

    #[test]
    fn the_sum_covers_as_often_as_it_says() {
        // 20000 bills of three normal tolls: 95 % within four standard errors of the share, 0.62 points.
        let mut state = 9_u64;
        let mut uniform = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
        };
        let mut seen = |mean: f64, error: f64| {
            let normal = (-2.0 * uniform().ln()).sqrt() * (std::f64::consts::TAU * uniform()).cos();
            about(mean + error * normal, 1.959_964 * error, 1.959_964 * error)
        };
        let runs = 20_000;
        let covered = (0..runs)
            .filter(|_| {
                let gates = [
                    gate("a", 1.0, seen(100.0, 5.0)),
                    gate("b", 4.0, seen(30.0, 2.0)),
                    gate("c", 2.5, seen(10.0, 1.0)),
                ];
                work(&gates, seen(300.0, 6.0)).unwrap().unexplained.contains(55.0)
            })
            .count();
        assert!((covered as f64 / f64::from(runs) - 0.95).abs() < 0.0062, "{covered}");
    }

    #[test]
    fn a_weight_below_zero_turns_its_interval() {
        // 3 × 100 − 2 × 50: below by √(3² + (2 × 2.5)²), above by √(12² + (2 × 2)²).
        let sum = weighted(&[(3.0, about(100.0, 1.0, 4.0)), (-2.0, about(50.0, 2.0, 2.5))]).unwrap();
        assert_eq!(sum.estimate, 200.0);
        assert!((sum.lo - (200.0 - 34_f64.sqrt())).abs() < 1e-12, "{sum:?}");
        assert!((sum.hi - (200.0 + 160_f64.sqrt())).abs() < 1e-12, "{sum:?}");
    }

    #[test]
    fn intervals_of_different_confidence_do_not_mix() {
        let other = Interval::new(1.0, 0.9, 1.1, 0.9).unwrap();
        assert!(work(&[gate("exit", 1.0, other)], about(2.0, 0.1, 0.1)).is_err());
        assert!(work(&[], about(2.0, 0.1, 0.1)).is_err());
        assert!(work(&[gate("exit", -1.0, about(1.0, 0.1, 0.1))], about(2.0, 0.1, 0.1)).is_err());
    }
}
