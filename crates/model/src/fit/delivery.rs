//! The model of how completions are told, asked with the rule that was found, and held against the delays seen.

use tollway_stats::Location;

use super::analysis::LEVEL;
use super::coalescing::Coalescing;
use super::figures::observed;
use super::queue::{Judged, asked};
use super::requirement::{Requirement, memoryless};
use super::series::examine;
use super::text::{argument, change, p_value, rate_argument, time};
use super::{Deliveries, Series};
use crate::Solution;

/// What the calculator is asked with where completions come at this rate: the model's name and its parameters; `None`
/// where no rule was found that it knows.
fn question(found: &Coalescing, lambda: f64) -> Option<(&'static str, Vec<(&'static str, String)>)> {
    let lambda = ("lambda", rate_argument(lambda));
    if let Some(cap) = found.cap {
        return Some(("cap", vec![lambda, ("cap", rate_argument(cap))]));
    }
    let mut arguments = vec![lambda];
    arguments.extend(found.count.map(|count| ("count", count.to_string())));
    arguments.extend(found.timer.map(|timer| ("timer", argument(timer.seconds))));
    (arguments.len() > 1).then_some(("coalesce", arguments))
}

/// The model, and what the trace says of it where completions were seen; `rate` are those that come where they were not.
pub(super) fn judge(
    found: &Coalescing,
    deliveries: &Deliveries,
    rate: Option<f64>,
    seed: u64,
) -> Option<Judged> {
    let completions = deliveries.completed.as_ref().map(|completed| {
        let mut ascending = completed.clone();
        ascending.sort_unstable_by(f64::total_cmp);
        let gaps = ascending.windows(2).map(|pair| pair[1] - pair[0]).collect();
        Series { values: gaps, resolution: deliveries.resolution, rounding: 2.0 * deliveries.resolution }
    });
    let completions = completions.and_then(|series| examine(&series, seed));
    let lambda = completions.as_ref().map(|c| 1.0 / c.moments.mean).or(rate)?;
    let (name, arguments) = question(found, lambda)?;
    let (mut judged, solution) = asked(name, &arguments)?;
    let figure = |solution: &Option<Solution>, name: &str| solution.as_ref().and_then(|s| s.get(name));
    judged.predicted_mean = figure(&solution, "delay.mean");
    judged.predicted_p99 = figure(&solution, "delay.p99");
    let (Some(completions), Some(completed)) = (completions, &deliveries.completed) else {
        return Some(judged);
    };
    let mut wants = memoryless("completion", &completions);
    let delays: Vec<f64> = deliveries.told.iter().zip(completed).map(|(told, done)| told - done).collect();
    if let (Some(seen), Some(mean)) = (observed(&delays), judged.predicted_mean) {
        // What the error of the rate does to the prediction.
        let faster = question(found, lambda * (1.0 + completions.moments.mean_error))
            .and_then(|(name, arguments)| figure(&asked(name, &arguments)?.1, "delay.mean"));
        let error = faster.map_or(0.0, |faster| faster - mean);
        let both = seen.mean.standard_error.hypot(error);
        let p = Location { standard_error: both, ..seen.mean }.p_different(mean);
        let off = mean / seen.mean.estimate - 1.0;
        let told = time(seen.mean.estimate);
        let against =
            format!("mean delay {} predicted, {told} seen: {} ({})", time(mean), change(off), p_value(p));
        wants.push(Requirement { p, against });
        judged.mean_off = Some(off).filter(|off| off.is_finite());
        judged.mean_p = Some(p);
        judged.p99_off = judged.predicted_p99.map(|p99| p99 / seen.p99 - 1.0).filter(|off| off.is_finite());
    }
    let least = wants.iter().map(|w| w.p).fold(1.0, f64::min);
    judged.p = (least * wants.len().max(1) as f64).min(1.0);
    judged.q = judged.p;
    judged.rejected = judged.p <= LEVEL;
    if judged.rejected {
        let each = LEVEL / wants.len() as f64;
        judged.reasons = wants.into_iter().filter(|w| w.p <= each).map(|w| w.against).collect();
    }
    Some(judged)
}
