//! Rules about how far the figures can be trusted.

use super::{Facts, Said};
use crate::document::OutcomeDocument;
use crate::number::{interval, percent, share_of, time};
use crate::price_list::QUIET_ENOUGH;

/// How many predictions held, and the one that was furthest off.
pub(super) fn predictions(facts: &Facts<'_>) -> Option<Said> {
    let graded: Vec<_> = facts
        .document
        .points
        .iter()
        // Curves say themselves how far off they are.
        .filter(|p| !p.on_a_curve())
        .filter_map(|p| {
            let prediction = p.prediction.as_ref()?;
            Some((p, prediction, prediction.grade?, prediction.measured?))
        })
        .collect();
    let with = |wanted| graded.iter().filter(|(_, _, grade, _)| grade.outcome == wanted).count();
    let (held, silent) = (with(OutcomeDocument::Holds), with(OutcomeDocument::SaysNothing));
    let off = |ratio: Option<f64>| ratio.map_or(f64::INFINITY, |r| r.ln().abs());
    let (point, prediction, grade, measured) =
        graded.iter().max_by(|(_, _, a, _), (_, _, b, _)| off(a.ratio).total_cmp(&off(b.ratio)))?;
    let count = match (held, graded.len()) {
        (_, 1) if silent == 1 => "The prediction says nothing, as an interval is too wide".into(),
        (1, 1) => "The prediction holds".into(),
        (0, 1) => "The prediction does not hold".into(),
        (held, all) if held == all => format!("All {all} predictions hold"),
        (held, all) if silent > 0 => {
            format!("{held} of {all} predictions hold, {silent} say nothing, as intervals are too wide")
        }
        (held, all) => format!("{held} of {all} predictions hold"),
    };
    let by = grade.ratio.map(|r| format!(", {} off", percent((r - 1.0).abs()))).unwrap_or_default();
    let furthest = if graded.len() > 1 { "; furthest off is" } else { ":" };
    let text = format!(
        "{count}{furthest} {}, predicted {} [{}], measured {}{by}.",
        point.title,
        time(prediction.ns.estimate),
        interval(&prediction.ns),
        time(measured.ns.estimate)
    );
    Some(Said::new(text, 1.0))
}

/// A machine that was not quiet, why, and what to do about it.
pub(super) fn noise(facts: &Facts<'_>) -> Option<Said> {
    let quality = &facts.document.quality;
    let share = quality.quiet_share().filter(|share| *share < QUIET_ENOUGH)?;
    let mut text = if share == 0.0 {
        format!("None of {} trials was quiet", quality.trials)
    } else {
        format!("Only {} of {} trials were quiet", share_of(quality.quiet, quality.trials), quality.trials)
    };
    if let Some(most) = quality.noise.first() {
        text += &format!("; most often: {} ({} trials)", most.reason, most.trials);
        text += &format!(" → {}", remedy(&most.reason));
    }
    Some(Said::new(text + ".", 1.0))
}

/// What to do about a reason.
fn remedy(reason: &str) -> &'static str {
    let has = |word| reason.contains(word);
    if has("stolen") || has("steal") {
        "neighbours on the host take the time: run again at a quieter hour, or on a host of one's own"
    } else if has("throttled by heat") {
        "processors were too hot: let them cool, and look after their fans"
    } else if has("throttled") {
        "raise cpu.max of the control group (cpu.cfs_quota_us in version 1; docker run --cpus, a unit's CPUQuota=), or run outside it"
    } else if has("frequency") {
        "fix the frequency where that can be done (governor performance, boost off), else run again: `tollway doctor` says more"
    } else if has("late") {
        "processors were busy when the windows opened: stop what else runs here"
    } else if has("foreign") {
        "other programs run here: stop them, or keep processors free of them (isolcpus)"
    } else if has("gaps") {
        "interrupts or the hypervisor take the core away: keep a processor free (isolcpus, nohz_full)"
    } else if has("coarse") || has("unknown") {
        "the windows are too short for the counters: make them longer"
    } else {
        "run again when the machine is quiet"
    }
}
