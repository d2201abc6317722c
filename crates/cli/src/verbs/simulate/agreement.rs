//! Whether a simulation agrees with an exact answer: many figures at once, so false discoveries are controlled.
//!
//! For each figure the hypothesis is that the true value is within 0.5 % of the exact one (quantiles are read from bins
//! of 0.4 %). Its p-value is Student's, with the standard error that the figure's interval stands for and one degree of
//! freedom less than there are replications: careful where the interval rests on more batches. Benjamini and Hochberg's
//! procedure then picks those that differ, at a rate of 0.1 %: one sound simulation in a thousand is accused. What is too
//! rare to have been seen often is not judged; where a time is drawn whose long values were too rare, nothing is.
//!
//! A run that happened to miss the longest queues has a mean too low and, for the same reason, an interval too narrow: the
//! standard error of a loaded queue's mean grows as the square of the mean (Whitt 1989, Management Science 35:1341,
//! "Planning queueing simulations"). Under the hypothesis it is therefore larger than the run's own, by the square of how
//! much larger the exact value is.

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

/// A mean response known no better than this says nothing: its interval is as wide as that of 1600 independent ones.
const TOO_WIDE: f64 = 0.05;

/// Standard errors that the share of those who wait must be away from a quantile's, for the quantile to be judged.
const EDGE: f64 = 6.0;

/// The figure that tells how many wait.
const PROBABILITY: &str = "wait.probability";

/// The figure that tells how long a simulation was.
const RESPONSE: &str = "response.mean";

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

/// Judges figures, all of one simulation, each with its exact value where there is one. `None` where there is none and
/// the interval may be trusted.
pub fn judge(outcome: &Outcome, figures: &[(&Estimate, Option<f64>)]) -> Vec<Option<Judgement>> {
    let response = figures.iter().find(|(estimate, _)| estimate.name == RESPONSE);
    let exact_response = response.and_then(|(_, exact)| *exact);
    let nothing = why_not(outcome, exact_response).is_some();
    let independent = independent(outcome, exact_response);
    // Waits are carried by those who wait: as many as are to be expected, where that is known.
    let waiting = |prefix: &str| {
        let is_it = |e: &Estimate| e.name.strip_suffix(PROBABILITY) == Some(prefix);
        figures.iter().find(|(estimate, _)| is_it(estimate)).and_then(|(e, exact)| Some((e.count, (*exact)?)))
    };
    let seen = |estimate: &Estimate, exact: f64| {
        let count = match carried_by_waits(&estimate.name).and_then(waiting) {
            // Where nobody ever waits, each customer tells so.
            Some((customers, probability)) if probability > 0.0 => customers * probability,
            _ => estimate.count,
        };
        let at_the_edge = waiting("").is_some_and(|(customers, probability)| {
            estimate.name.starts_with("wait.p")
                && at_the_edge(estimate, probability, customers.min(independent))
        });
        !nothing
            && !hangs(outcome, &estimate.name)
            && !at_the_edge
            && seen_often(estimate, exact, independent.min(count))
    };
    let tests: Vec<Option<(Interval, f64)>> = figures
        .iter()
        .map(|(estimate, exact)| {
            let (interval, exact) = (estimate.interval?, (*exact)?);
            let p_value = || p_value(&interval, estimate.unit, exact, outcome.replications);
            seen(estimate, exact).then(|| (interval, p_value()))
        })
        .collect();
    let p_values: Vec<f64> = tests.iter().flatten().map(|(_, p)| *p).collect();
    let mut differ = discoveries(&p_values, RATE).unwrap_or_default().into_iter();
    let judged = tests.iter().zip(figures).map(|(test, (estimate, exact))| match (test, exact) {
        (Some((interval, _)), Some(exact)) => Some(match differ.next() {
            Some(true) => Judgement::Differs,
            _ if interval.contains(*exact) || same(interval.estimate, *exact) => Judgement::Within,
            _ => Judgement::Beside,
        }),
        (_, None) if estimate.interval.is_none() || seen(estimate, estimate.value) => None,
        _ => Some(Judgement::NotJudged),
    });
    judged.collect()
}

/// Why nothing of this simulation is held against what is exact, if nothing is; the exact mean response, where there is
/// one, tells more about how well it is known.
pub fn why_not(outcome: &Outcome, exact_response: Option<f64>) -> Option<String> {
    if outcome.transient > outcome.warm_up {
        let (transient, warm_up) = (outcome.transient, outcome.warm_up);
        return Some(format!(
            "the first {transient} customers should be left out, and {warm_up} were; {}",
            needed(outcome, transient as f64 / warm_up.max(1) as f64)
        ));
    }
    if let Some(scarce) = outcome.scarcest.as_ref().filter(|scarce| scarce.expected() < RARE) {
        return Some(too_few(outcome, scarce));
    }
    let width = response_width(outcome, exact_response).filter(|width| *width > TOO_WIDE)?;
    let needed = needed(outcome, (width / TOO_WIDE).powi(2));
    Some(format!("the mean response is known to ±{:.0} % only; {needed}", 100.0 * width))
}

/// Those of which too few came, each with how the names of the figures begin that hang on it, and why.
pub fn short(outcome: &Outcome) -> Vec<(&[String], String)> {
    let few = outcome.scarce.iter().filter(|scarce| scarce.expected() < RARE);
    few.map(|scarce| (&scarce.figures[..], too_few(outcome, scarce))).collect()
}

/// Whether a figure hangs on something of which too few came.
fn hangs(outcome: &Outcome, name: &str) -> bool {
    let mut few = outcome.scarce.iter().filter(|scarce| scarce.expected() < RARE);
    few.any(|scarce| scarce.figures.iter().any(|begin| name.starts_with(begin)))
}

/// What was seen too seldom, and how many customers it takes.
fn too_few(outcome: &Outcome, scarce: &Scarce) -> String {
    let Scarce { place, probability, draws, .. } = scarce;
    let drawn = figure::text(draws.round(), Unit::Count);
    let needed = needed(outcome, RARE / scarce.expected());
    if *probability > 0.5 {
        return format!("{place}: only {drawn} came; {needed}");
    }
    format!("{place}: long times have a probability of {probability:.1e}, {drawn} were drawn; {needed}")
}

/// In every replication, if in the whole so many times more are needed.
fn needed(outcome: &Outcome, times: f64) -> String {
    match times * outcome.customers as f64 / f64::from(outcome.replications) {
        customers if customers < 1e15 => format!("give it --customers {}", rounded_up(customers)),
        _ => "no simulation is long enough".into(),
    }
}

/// A number of two digits, the next larger one, as --customers takes it.
fn rounded_up(customers: f64) -> String {
    let digit = 10_f64.powf(customers.log10().floor() - 1.0).max(1.0);
    // The factor is for rounding.
    format!("{:.0}", (customers / digit * (1.0 - 1e-9)).ceil() * digit)
}

/// What comes before the name of a figure that only those who wait make.
fn carried_by_waits(name: &str) -> Option<&str> {
    ["wait.mean", "queue.mean"].into_iter().find_map(|suffix| name.strip_suffix(suffix))
}

/// Whether chance decides if a quantile of the waits is zero: nearly so many do not wait as have less than it.
fn at_the_edge(estimate: &Estimate, probability: f64, customers: f64) -> bool {
    let Some(share) = beyond(&estimate.name) else { return false };
    let is_chance = probability > 0.0 && probability < 1.0;
    is_chance && (probability - share).abs() * customers < EDGE * (customers * share).sqrt()
}

/// The share of what is larger than the quantile of that name.
fn beyond(name: &str) -> Option<f64> {
    let (_, digits) = name.rsplit_once(".p")?;
    format!("0.{digits}").parse().ok().map(|share: f64| 1.0 - share)
}

/// Half the width of the mean response's interval, as a share of it.
fn response_width(outcome: &Outcome, exact: Option<f64>) -> Option<f64> {
    let interval = outcome.get(RESPONSE)?.interval.as_ref()?;
    let missed = exact.map_or(1.0, |exact| missed(interval.estimate, exact));
    Some(interval.relative_half_width()? * missed)
}

/// How much larger a mean is than what was seen of it, if it is larger.
fn missed(value: f64, exact: f64) -> f64 {
    if value > 0.0 { (exact / value).max(1.0) } else { 1.0 }
}

/// How many customers independent of each other would tell the mean response as well, were their responses exponential:
/// in a long queue neighbours wait for the same reason.
fn independent(outcome: &Outcome, exact_response: Option<f64>) -> f64 {
    let customers = outcome.customers as f64;
    response_width(outcome, exact_response).map_or(customers, |width| (2.0 / width).powi(2).min(customers))
}

/// Whether only rounding is between them.
fn same(value: f64, exact: f64) -> bool {
    (value - exact).abs() <= 1e-9 * exact.abs()
}

/// The p-value of "the true value is within the margin of the exact one".
fn p_value(interval: &Interval, unit: Unit, exact: f64, replications: u32) -> f64 {
    let distance = (interval.estimate - exact).abs();
    let in_queues = matches!(unit, Unit::Seconds | Unit::Count);
    let degrees_of_freedom = f64::from(replications.max(4) - 1);
    // A quantile of Student's t is the half-width of an interval whose standard error is 1.
    let one = Location { estimate: 0.0, standard_error: 1.0, degrees_of_freedom, units: 1000 };
    let quantile = one.interval(interval.confidence).map_or(1.0, |interval| interval.hi);
    // The lower end may have been cut off at zero.
    let standard_error = (interval.hi - interval.estimate).max(interval.estimate - interval.lo) / quantile;
    let larger = if in_queues { missed(interval.estimate, exact).powi(2) } else { 1.0 };
    let location = Location { estimate: distance, standard_error: larger * standard_error, ..one };
    (2.0 * location.p_greater(MARGIN * exact.abs())).min(1.0)
}

/// Whether what the figure counts happened often enough.
fn seen_often(estimate: &Estimate, exact: f64, customers: f64) -> bool {
    let share: f64 = match beyond(&estimate.name) {
        Some(share) => share,
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
        Estimate { name: name.into(), value, interval, unit, count: 80_000.0 }
    }

    fn outcome(estimates: Vec<Estimate>) -> Outcome {
        Outcome {
            estimates,
            engine: Engine::Events,
            seed: 1,
            replications: 8,
            warm_up: 0,
            transient: 0,
            customers: 80_000,
            events: 160_000,
            stopped_by: StoppedBy::Customers,
            scarcest: None,
            scarce: Vec::new(),
            invariants: Vec::new(),
        }
    }

    fn one(name: &'static str, value: f64, half: f64, unit: Unit, exact: f64) -> Judgement {
        let outcome = outcome(vec![figure(name, value, half, unit)]);
        judged(&outcome, 0, exact)
    }

    fn judged(outcome: &Outcome, nth: usize, exact: f64) -> Judgement {
        judge(outcome, &[(&outcome.estimates[nth], Some(exact))])[0].unwrap()
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
            assert_eq!(judged(&outcome, 1, 4.6), judgement);
            // Where nothing exact is known, the interval is not to be trusted all the same.
            let alone = judge(&outcome, &[(&outcome.estimates[1], None)])[0];
            assert_eq!(alone, (judgement == Judgement::NotJudged).then_some(judgement));
        }
    }

    #[test]
    fn who_missed_the_longest_queues_knows_less_than_he_thinks() {
        // Six standard errors below, and seven degrees of freedom: but the standard error is too small by (1/0.8)².
        let half = 0.2 / 6.0 * 2.365;
        assert_eq!(one("wait.mean", 0.8, half, Unit::Seconds, 1.0), Judgement::Beside);
        assert_eq!(one("wait.mean", 1.2, half, Unit::Seconds, 1.0), Judgement::Differs);
        assert_eq!(one("throughput", 0.8, half, Unit::PerSecond, 1.0), Judgement::Differs);
        let short = outcome(vec![figure("response.mean", 1.0, 0.045, Unit::Seconds)]);
        assert_eq!((why_not(&short, None), why_not(&short, Some(0.8))), (None, None));
        assert!(why_not(&short, Some(1.25)).unwrap().contains("±6 %"));
    }

    #[test]
    fn rounding_is_no_difference() {
        assert_eq!(one("batch.mean", 4.0, 0.0, Unit::Count, 4.0 - 4e-16), Judgement::Within);
    }

    #[test]
    fn nothing_is_judged_where_what_makes_it_was_not_seen() {
        let mut outcome = outcome(vec![figure("wait.mean", 1.0, 0.001, Unit::Seconds)]);
        let mut of_draws = |draws| {
            let place = "station s: service".into();
            outcome.scarcest = Some(Scarce { place, probability: 1e-6, draws, figures: Vec::new() });
            let told = why_not(&outcome, None).unwrap_or_default();
            assert_eq!(told.contains("give it --customers 10000000"), draws < 1e8, "{told}");
            judged(&outcome, 0, 2.0)
        };
        assert_eq!([of_draws(1e5), of_draws(1e9)], [Judgement::NotJudged, Judgement::Differs]);
    }

    #[test]
    fn a_rare_class_silences_its_own_figures_only() {
        let names = ["class.rare.wait.mean", "wait.mean"];
        let mut outcome = outcome(names.map(|name| figure(name, 1.0, 0.001, Unit::Seconds)).to_vec());
        let place = "source r: interarrival".into();
        let figures = vec!["class.rare.".into()];
        outcome.scarce.push(Scarce { place, probability: 1.0, draws: 30.0, figures });
        assert_eq!([0, 1].map(|nth| judged(&outcome, nth, 2.0)), [Judgement::NotJudged, Judgement::Differs]);
        let told = short(&outcome);
        assert_eq!(told[0].1, "source r: interarrival: only 30 came; give it --customers 34000");
        outcome.scarce[0].draws = 100.0;
        assert_eq!((judged(&outcome, 0, 2.0), short(&outcome).len()), (Judgement::Differs, 0));
    }

    #[test]
    fn what_only_a_few_make_is_judged_when_they_are_enough() {
        for (probability, judgement) in [(1e-3, Judgement::NotJudged), (2e-3, Judgement::Differs)] {
            for name in ["wait.mean", "queue.mean"] {
                let waits = figure(PROBABILITY, 0.0, 0.0, Unit::Share);
                let outcome = outcome(vec![figure(name, 0.0, 0.0, Unit::Seconds), waits]);
                let [one, share] = [0, 1].map(|i| &outcome.estimates[i]);
                assert_eq!(
                    judge(&outcome, &[(one, Some(1e-9)), (share, Some(probability))])[0],
                    Some(judgement)
                );
            }
        }
        // Without a probability, those who were seen count.
        let mut outcome = outcome(vec![figure("class.a.wait.mean", 1.0, 0.0, Unit::Seconds)]);
        assert_eq!(judged(&outcome, 0, 2.0), Judgement::Differs);
        outcome.estimates[0].count = 99.0;
        assert_eq!(judged(&outcome, 0, 2.0), Judgement::NotJudged);
    }

    #[test]
    fn that_nobody_ever_waits_is_no_rarity() {
        for name in ["wait.mean", "wait.p99", "queue.mean"] {
            for (waited, judgement) in [(0.0, Judgement::Within), (1.0, Judgement::Differs)] {
                let waits = figure(PROBABILITY, 0.0, 0.0, Unit::Share);
                let outcome = outcome(vec![figure(name, waited, 0.0, Unit::Seconds), waits]);
                let [one, share] = [0, 1].map(|i| &outcome.estimates[i]);
                let judged = judge(&outcome, &[(one, Some(0.0)), (share, Some(0.0))]);
                assert_eq!(judged, [Some(judgement), Some(Judgement::Within)], "{name}");
            }
        }
    }

    #[test]
    fn a_quantile_that_chance_makes_zero_is_not_judged() {
        let of = |probability| {
            let waits = figure(PROBABILITY, probability, 0.001, Unit::Share);
            let outcome = outcome(vec![figure("wait.p99", 0.0, 0.0, Unit::Seconds), waits]);
            let [one, share] = [0, 1].map(|i| &outcome.estimates[i]);
            judge(&outcome, &[(one, Some(1e-9)), (share, Some(probability))])[0]
        };
        assert_eq!([0.0101, 0.02].map(of), [Some(Judgement::NotJudged), Some(Judgement::Differs)]);
    }

    #[test]
    fn a_run_that_ought_to_leave_out_more_than_it_has_is_not_judged() {
        let mut outcome = outcome(vec![figure("wait.mean", 1.0, 0.001, Unit::Seconds)]);
        outcome.warm_up = 10_000;
        outcome.transient = 25_000;
        assert_eq!(judged(&outcome, 0, 2.0), Judgement::NotJudged);
        assert!(why_not(&outcome, None).unwrap().ends_with("give it --customers 25000"));
    }

    #[test]
    fn the_customers_that_are_needed_have_two_digits() {
        for (customers, says) in
            [(10_000_000.0, "10000000"), (1234.0, "1300"), (3.2, "4"), (1e9 + 0.5, "1000000000")]
        {
            assert_eq!(rounded_up(customers), says);
        }
    }

    #[test]
    fn one_strange_figure_of_many_is_chance() {
        // Four standard errors off, of seven degrees of freedom: one in 200.
        let odd = 1.0 + 4.0 * 0.02 / 2.365;
        let estimates: Vec<Estimate> = (0..20)
            .map(|i| figure("wait.mean", if i == 0 { odd } else { 1.0 }, 0.02, Unit::Seconds))
            .collect();
        let outcome = outcome(estimates);
        let figures: Vec<_> = outcome.estimates.iter().map(|estimate| (estimate, Some(1.0))).collect();
        assert!(judge(&outcome, &figures).iter().all(|judgement| *judgement != Some(Judgement::Differs)));
    }

    /// Figures that differ when what is simulated is held against the formula of the system it should be.
    fn accused(simulated: &str, right: &str, seed: u64) -> usize {
        let spec = |service: &str| {
            let text = format!(
                "[[source]]\nname = 's'\ninterarrival = 'exponential(100us)'\n[[station]]\nname = 'd'\n\
                 service = '{service}'\n"
            );
            tollway_model::spec::Spec::from_toml(&text).unwrap()
        };
        let options = tollway_sim::Options { seed, ..tollway_sim::Options::default() };
        let outcome = tollway_sim::simulate(&spec(simulated), &options).unwrap();
        let exact = spec(right).formula().unwrap().solution.unwrap();
        let figures: Vec<_> = outcome.estimates.iter().map(|e| (e, exact.get(&e.name))).collect();
        judge(&outcome, &figures).iter().filter(|judged| **judged == Some(Judgement::Differs)).count()
    }

    /// What keeps sound simulations from being accused must not let wrong ones go: a simulator that serves 3 % too fast or
    /// too slowly, or with another variance, is accused at the usual length, and the right one is not.
    #[test]
    fn a_wrong_simulation_is_caught_at_the_usual_length() {
        let right = "exponential(80us)";
        for seed in 1..=3 {
            assert_eq!(accused(right, right, seed), 0, "{seed}");
            for wrong in ["exponential(82.4us)", "exponential(77.6us)", "erlang(2, 80us)", "gamma(0.8, 80us)"]
            {
                assert!(accused(wrong, right, seed) >= 2, "{wrong} {seed}");
            }
        }
    }
}
