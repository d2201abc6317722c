//! The pilot: each point is run once before anything is timed. It must verify; it finds the batch size, which is then
//! frozen for the run, and how many steps of delay a planted slowdown takes.

use tollway_core::{Error, Result, TrialSpec};
use tollway_load::PlantCost;

use crate::crew::{Crew, Job, Outcome};
use crate::guests::Guests;

/// Length of a pilot's window, in milliseconds.
const WINDOW_MS: f64 = 2.0;

/// Length of a pilot's warm-up, in milliseconds: a generator of random numbers is drained, caches are warm.
const WARMUP_MS: f64 = 2.0;

/// How long a pilot of such trials lasts, warm-up included, in seconds.
pub(crate) fn seconds(spec: &TrialSpec) -> f64 {
    (spec.window_ms.min(WINDOW_MS) + WARMUP_MS) / 1e3
}

/// Plays a pilot; `job.batch` and the lengths in `job.spec` are the pilot's own.
pub(crate) fn play(crew: &mut Crew<'_>, job: &Job<'_>, guests: &mut Guests) -> Result<Outcome> {
    let spec =
        TrialSpec { window_ms: job.spec.window_ms.min(WINDOW_MS), warmup_ms: WARMUP_MS, ..job.spec.clone() };
    crew.play(&Job { spec: &spec, batch: 0, planted: 0, ..*job }, guests)
}

/// Plays a pilot once more with that batch and so many steps planted.
pub(crate) fn slowed(
    crew: &mut Crew<'_>,
    job: &Job<'_>,
    (batch, planted): (u32, u32),
    guests: &mut Guests,
) -> Result<Outcome> {
    let spec =
        TrialSpec { window_ms: job.spec.window_ms.min(WINDOW_MS), warmup_ms: WARMUP_MS, ..job.spec.clone() };
    crew.play(&Job { spec: &spec, batch, planted, ..*job }, guests)
}

/// The slowdown by which it is tried whether a point has what is planted: so much that no noise passes for
/// it.
pub(crate) const TRIED: f64 = 4.0;

/// The quantile of samples that must have it: all have it where it is planted, and those that lost the processor to somebody else
/// pass for such.
pub(crate) const LOW: f64 = 0.1;

/// Samples that are enough for that quantile. Where there are fewer it is measured again, and the least counts.
pub(crate) const ENOUGH: u64 = 16;

/// How often it is measured at most.
pub(crate) const LOOKS: u32 = 4;

/// Share of it that must be there.
const THERE: f64 = 0.5;

/// A planted slowdown may be off what was said by this share of it: a delay has whole steps.
const OFF: f64 = 0.1;

/// Steps of delay that make a sample of `ticks` slower by the share `planted`. The delay is planted once a
/// sample, not once an operation.
///
/// # Errors
/// Where no number of steps takes about so long: the delay would be longer than what was asked for, or none.
pub(crate) fn steps(planted: f64, ticks: f64, cost: &PlantCost) -> Result<u32> {
    if planted <= 0.0 {
        return Ok(0);
    }
    let PlantCost { fixed, per_step } = *cost;
    let wanted = planted * ticks;
    let steps = ((wanted - fixed) / per_step).round().max(1.0);
    if (fixed + steps * per_step - wanted).abs() <= OFF * wanted {
        return Ok(steps as u32);
    }
    let least = (fixed + per_step) / ticks.max(1.0) * 100.0;
    Err(Error::Input {
        place: format!("plant:{}%", planted * 100.0),
        reason: format!(
            "that is {wanted:.0} ticks of a sample of {ticks:.0}, and the least delay that can be planted takes {:.0}",
            fixed + per_step
        ),
        remedy: format!("plant {:.0}% or more, or leave this row out (--only)", 2.0 * least.ceil().max(1.0)),
    })
}

/// Refuses a point whose samples of `ticks` took `slowed` with the slowdown that is [tried](TRIED): its
/// variant plants nothing.
///
/// # Errors
/// As that.
pub(crate) fn is_planted(ticks: f64, slowed: f64) -> Result<()> {
    if slowed >= ticks * (1.0 + THERE * TRIED) {
        return Ok(());
    }
    Err(Error::Input {
        place: "plant".into(),
        reason: format!(
            "this row does not take what is planted: with {:.0} % its samples took {slowed:.0} ticks, and {ticks:.0} without",
            TRIED * 100.0
        ),
        remedy: "leave it out (--only), or compare what can be set: env:, set:, axis:".into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `plant:1%` of a short sample once planted one step at least, whatever that took: three per cent, or
    /// thirty.
    #[test]
    fn what_is_planted_is_what_was_said_or_it_is_refused() {
        let cost = PlantCost { fixed: 30.0, per_step: 2.5 };
        let planted = |steps: u32| cost.fixed + f64::from(steps) * cost.per_step;
        for (share, ticks) in [(0.01, 5_400.0), (0.01, 20_000.0), (0.1, 5_400.0), (4.0, 100.0), (0.5, 1e9)] {
            let found = planted(steps(share, ticks, &cost).unwrap());
            assert!((found / (share * ticks) - 1.0).abs() <= OFF, "{share} of {ticks}: {found}");
        }
        for (share, ticks) in [(0.01, 100.0), (0.01, 2_600.0), (0.1, 250.0), (0.5, 0.0)] {
            let refused = steps(share, ticks, &cost).unwrap_err().to_string();
            assert!(refused.contains(&format!("plant:{}%", share * 100.0)), "{refused}");
            assert!(refused.contains("--only"), "{refused}");
        }
        assert_eq!(steps(0.0, 100.0, &cost).unwrap(), 0);
        assert!(is_planted(100.0, 480.0).is_ok());
        assert!(is_planted(100.0, 150.0).unwrap_err().to_string().contains("leave it out"));
    }
}
