//! Whether processors ran as fast in a trial as in the others of its run.
//!
//! Measured actors say how long a step took on their processor just before their warm-up and just after their window
//! ([`tollway_host::cpu::pace`]). The middle of both is held against the median of all earlier trials on that processor,
//! the check before the run included. A point whose work itself slows its processor (wide vectors) or lets it idle
//! differs from the others in every trial; so one that is as fast as its own earlier trials were is not noisy for it.

use std::collections::BTreeMap;

use tollway_host::steadiness::{MOVES, Steadiness};
use tollway_tenant::protocol::Paced;

/// Earlier trials of a point from which on it is known how fast processors run at it.
const ENOUGH: usize = 2;

/// What is known of all trials so far.
#[derive(Default)]
pub(crate) struct Paces {
    /// Ticks of a step, by processor.
    all: BTreeMap<u32, Vec<f64>>,
    /// The same by point and processor.
    own: BTreeMap<(usize, u32), Vec<f64>>,
}

impl Paces {
    /// Begins with what the check before the run has found.
    pub(crate) fn since(steadiness: Option<&Steadiness>) -> Paces {
        let all = steadiness
            .iter()
            .flat_map(|found| &found.pace)
            .map(|pace| (pace.cpu, vec![pace.ticks_per_step]))
            .collect();
        Paces { all, own: BTreeMap::new() }
    }

    /// Takes note of a trial of that point; says how far its processors' frequency was off, where that is too far.
    pub(crate) fn after_trial<'p>(
        &mut self,
        point: usize,
        actors: impl Iterator<Item = &'p Paced>,
    ) -> Option<String> {
        let mut furthest: Option<f64> = None;
        for paced in actors {
            let now = paced.middle();
            let (all, own) =
                (self.all.entry(paced.cpu).or_default(), self.own.entry((point, paced.cpu)).or_default());
            // Steps that take longer are a lower frequency.
            let off = |earlier: &[f64]| median(earlier).map(|usual| usual / now - 1.0);
            let from_own = if own.len() < ENOUGH { f64::INFINITY } else { off(own).unwrap_or(f64::INFINITY) };
            if let Some(off) = off(all).filter(|off| off.abs() > MOVES && from_own.abs() > MOVES)
                && furthest.is_none_or(|before: f64| off.abs() > before.abs())
            {
                furthest = Some(off);
            }
            all.push(now);
            own.push(now);
        }
        furthest.map(|off| {
            let side = if off < 0.0 { "below" } else { "above" };
            format!("{:.1} % {side} the run's median frequency", off.abs() * 100.0)
        })
    }
}

fn median(of: &[f64]) -> Option<f64> {
    let mut sorted = of.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = sorted.len().checked_sub(1)? / 2;
    Some(0.5 * (sorted[at] + sorted[sorted.len() / 2]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(cpu: u32, ticks: f64) -> Paced {
        Paced { cpu, before: Some(ticks), after: ticks }
    }

    #[test]
    fn a_trial_on_a_slower_processor_is_noisy_and_says_by_how_much() {
        let mut paces = Paces::default();
        let mut tell = |point, paced: Paced| paces.after_trial(point, [&paced].into_iter());
        for point in 0..4 {
            assert_eq!(tell(point, at(0, 2.0 + 0.01 * point as f64)), None);
        }
        assert_eq!(tell(0, at(0, 2.5)).unwrap(), "19.4 % below the run's median frequency");
        assert_eq!(tell(1, at(0, 1.8)).unwrap(), "12.2 % above the run's median frequency");
        // Nothing is known of another processor yet.
        assert_eq!(tell(0, at(1, 9.0)), None);
        assert_eq!(tell(0, at(0, 2.02)), None);
    }

    #[test]
    fn a_point_that_slows_its_processor_itself_is_as_fast_as_it_was() {
        let mut paces = Paces::default();
        for round in 0..5 {
            assert_eq!(paces.after_trial(0, [&at(0, 2.0)].into_iter()), None);
            assert_eq!(paces.after_trial(2, [&at(0, 2.0)].into_iter()), None);
            let wide = paces.after_trial(1, [&at(0, 2.6)].into_iter());
            assert_eq!(wide.is_some(), round < ENOUGH, "{round}");
        }
    }

    #[test]
    fn half_way_between_before_and_after_counts() {
        let paced = Paced { cpu: 0, before: Some(2.0), after: 2.4 };
        assert!((paced.middle() - 2.2).abs() < 1e-12);
        assert!((Paced { before: None, ..paced }.middle() - 2.4).abs() < 1e-12);
    }
}
