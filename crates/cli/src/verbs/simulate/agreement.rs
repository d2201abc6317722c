//! Whether a simulation agrees with an exact answer: many figures at once, so false discoveries are controlled.
//!
//! For each figure the hypothesis is that the true value is within 0.5 % of the exact one (quantiles are read from bins
//! of 0.4 %). Its p-value is Student's, with the standard error that the figure's interval stands for and one degree of
//! freedom less than there are replications: careful where the interval rests on more batches. Benjamini and Hochberg's
//! procedure then picks those that differ, at a rate of 0.1 %: one sound simulation in a thousand is accused. What is too
//! rare to have been seen often is not judged; where a time is drawn whose long values were too rare, nothing is.

use tollway_model::Unit;
use tollway_sim::{Estimate, Outcome, Scarce};
use tollway_stats::{Interval, Location, discoveries};

use crate::figure;

/// What counts as the same, as a share of the exact value.
const MARGIN: f64 = 0.005;

/// Share of accusations that may be false.
const RATE: f64 = 0.001;

/// Independent events that must be expected before a share or a quantile is judged.
const RARE: f64 = 100.0;

/// A mean response known no better than this says nothing.
const TOO_WIDE: f64 = 0.1;

/// How a figure compares with the exact one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// Its interval has the exact value.
    Within,
    /// Its interval has not, which chance or the margin explains.
    Beside,
    /// Neither chance nor the margin explains it.
    Differs,
    /// Too little was seen.
    NotJudged,
}

/// Judges figures that have an exact value, all of one simulation.
pub fn judge(outcome: &Outcome, figures: &[(&Estimate, f64)]) -> Vec<Judgement> {
    let nothing = why_not(outcome).is_some();
    let independent = independent(outcome);
    let tests: Vec<Option<(Interval, f64)>> = figures
        .iter()
        .map(|(estimate, exact)| {
            let interval = estimate.interval.filter(|_| !nothing)?;
            let seen = seen_often(estimate, *exact, independent);
            seen.then(|| (interval, p_value(&interval, *exact, outcome.replications)))
        })
        .collect();
    let p_values: Vec<f64> = tests.iter().flatten().map(|(_, p)| *p).collect();
    let mut differ = discoveries(&p_values, RATE).unwrap_or_default().into_iter();
    let judged = tests.iter().zip(figures).map(|(test, (_, exact))| match test {
        None => Judgement::NotJudged,
        Some((interval, _)) => match differ.next() {
            Some(true) => Judgement::Differs,
            _ if interval.contains(*exact) || same(interval.estimate, *exact) => Judgement::Within,
            _ => Judgement::Beside,
        },
    });
    judged.collect()
}

/// Why nothing of this simulation is held against what is exact, if nothing is.
pub fn why_not(outcome: &Outcome) -> Option<String> {
    let count = |n: f64| figure::text(n.round(), Unit::Count);
    if let Some(scarce) = outcome.scarcest.as_ref().filter(|scarce| scarce.expected() < RARE) {
        let Scarce { place, probability, draws } = scarce;
        let drawn = count(*draws);
        return Some(format!(
            "{place}: long times have a probability of {probability:.1e}, {drawn} were drawn"
        ));
    }
    let width = response_width(outcome).filter(|width| *width > TOO_WIDE)?;
    Some(format!("the mean response is known to ±{:.0} % only", 100.0 * width))
}

fn response_width(outcome: &Outcome) -> Option<f64> {
    outcome.get("response.mean")?.interval.as_ref()?.relative_half_width()
}

/// How many customers independent of each other would tell the mean response as well, were their responses exponential:
/// in a long queue neighbours wait for the same reason.
fn independent(outcome: &Outcome) -> f64 {
    let customers = outcome.customers as f64;
    response_width(outcome).map_or(customers, |width| (2.0 / width).powi(2).min(customers))
}

/// Whether only rounding is between them.
fn same(value: f64, exact: f64) -> bool {
    (value - exact).abs() <= 1e-9 * exact.abs()
}

/// The p-value of "the true value is within the margin of the exact one".
fn p_value(interval: &Interval, exact: f64, replications: u32) -> f64 {
    let distance = (interval.estimate - exact).abs();
    let degrees_of_freedom = f64::from(replications.max(4) - 1);
    // A quantile of Student's t is the half-width of an interval whose standard error is 1.
    let unit = Location { estimate: 0.0, standard_error: 1.0, degrees_of_freedom, units: 1000 };
    let quantile = unit.interval(interval.confidence).map_or(1.0, |interval| interval.hi);
    // The lower end may have been cut off at zero.
    let standard_error = (interval.hi - interval.estimate).max(interval.estimate - interval.lo) / quantile;
    let location = Location { estimate: distance, standard_error, ..unit };
    (2.0 * location.p_greater(MARGIN * exact.abs())).min(1.0)
}

/// Whether what the figure counts happened often enough.
fn seen_often(estimate: &Estimate, exact: f64, customers: f64) -> bool {
    let quantile: Option<f64> =
        estimate.name.rsplit_once(".p").and_then(|(_, digits)| format!("0.{digits}").parse().ok());
    let share: f64 = match quantile {
        Some(share) => 1.0 - share,
        None if estimate.unit == Unit::Share => exact.min(1.0 - exact),
        None => 1.0,
    };
    // Of a share that is none or all, nothing else may be seen.
    share <= 0.0 || customers * share >= RARE
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollway_sim::{Engine, StoppedBy};

    fn figure(name: &'static str, value: f64, half: f64, unit: Unit) -> Estimate {
        let interval = Interval::new(value, value - half, value + half, 0.95).ok();
        Estimate { name: name.into(), value, interval, unit }
    }

    fn outcome(estimates: Vec<Estimate>) -> Outcome {
        Outcome {
            estimates,
            engine: Engine::Events,
            seed: 1,
            replications: 8,
            warm_up: 0,
            customers: 80_000,
            events: 160_000,
            stopped_by: StoppedBy::Customers,
            scarcest: None,
            invariants: Vec::new(),
        }
    }

    fn one(name: &'static str, value: f64, half: f64, unit: Unit, exact: f64) -> Judgement {
        let outcome = outcome(vec![figure(name, value, half, unit)]);
        judge(&outcome, &[(&outcome.estimates[0], exact)])[0]
    }

    #[test]
    fn chance_and_the_margin_explain_or_do_not() {
        let mean = |value, half| one("wait.mean", value, half, Unit::Seconds, 1.0);
        assert_eq!(mean(1.01, 0.02), Judgement::Within);
        assert_eq!(mean(1.03, 0.02), Judgement::Beside);
        assert_eq!(mean(1.2, 0.02), Judgement::Differs);
        // Within the margin, however narrow the interval; beyond it, an interval without width differs.
        assert_eq!(mean(1.004, 1e-6), Judgement::Beside);
        assert_eq!(mean(1.006, 0.0), Judgement::Differs);
        assert_eq!(mean(1.0, 0.0), Judgement::Within);
    }

    #[test]
    fn what_was_hardly_seen_is_not_judged() {
        assert_eq!(one("loss", 0.0, 0.0, Unit::Share, 1e-6), Judgement::NotJudged);
        assert_eq!(one("loss", 0.0, 0.0, Unit::Share, 0.01), Judgement::Differs);
        assert_eq!(one("wait.p999", 2.0, 0.1, Unit::Seconds, 1.0), Judgement::NotJudged);
        assert_eq!(one("wait.p99", 2.0, 0.1, Unit::Seconds, 1.0), Judgement::Differs);
        assert_eq!(one("response.mean", 2.0, 0.5, Unit::Seconds, 1.0), Judgement::NotJudged);
    }

    #[test]
    fn in_long_queues_customers_count_for_less() {
        // Known to 1 %, as by 40,000 independent ones of the 80,000; to 4 %, as by 2500.
        for (half, judgement) in [(0.01, Judgement::Differs), (0.04, Judgement::NotJudged)] {
            let response = figure("response.mean", 1.0, half, Unit::Seconds);
            let outcome = outcome(vec![response, figure("response.p99", 9.0, 0.1, Unit::Seconds)]);
            assert_eq!(judge(&outcome, &[(&outcome.estimates[1], 4.6)]), [judgement]);
        }
    }

    #[test]
    fn rounding_is_no_difference() {
        assert_eq!(one("batch.mean", 4.0, 0.0, Unit::Count, 4.0 - 4e-16), Judgement::Within);
    }

    #[test]
    fn nothing_is_judged_where_what_makes_it_was_not_seen() {
        let mut outcome = outcome(vec![figure("wait.mean", 1.0, 0.001, Unit::Seconds)]);
        let mut judged = |draws| {
            let place = "station s: service".into();
            outcome.scarcest = Some(Scarce { place, probability: 1e-6, draws });
            judge(&outcome, &[(&outcome.estimates[0], 2.0)])[0]
        };
        assert_eq!([judged(1e5), judged(1e9)], [Judgement::NotJudged, Judgement::Differs]);
    }

    #[test]
    fn one_strange_figure_of_many_is_chance() {
        // Four standard errors off, of seven degrees of freedom: one in 200.
        let odd = 1.0 + 4.0 * 0.02 / 2.365;
        let estimates: Vec<Estimate> = (0..20)
            .map(|i| figure("wait.mean", if i == 0 { odd } else { 1.0 }, 0.02, Unit::Seconds))
            .collect();
        let outcome = outcome(estimates);
        let figures: Vec<_> = outcome.estimates.iter().map(|estimate| (estimate, 1.0)).collect();
        assert!(judge(&outcome, &figures).iter().all(|judgement| *judgement != Judgement::Differs));
    }
}
