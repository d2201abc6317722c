//! How the time of a run is divided among the presets that it plays.
//!
//! Presets of several paths that are measured together each have a share of it, in proportion to the budgets that they name. A part of it is
//! kept for headlines, which are tried until they are known exactly enough. Where a preset names no budget nothing is divided: who asks for
//! presets of their own says nothing of how they are to be weighed.

use tollway_core::Preset;

/// Share of its time that a preset with headlines keeps for trials of these alone.
const FOR_HEADLINES: f64 = 0.15;

/// Seconds for each preset, or for all together.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Division {
    seconds: Vec<f64>,
}

impl Division {
    /// Of so many seconds.
    pub(crate) fn of(within: f64, presets: &[Preset]) -> Division {
        let budgets: Option<Vec<f64>> = presets.iter().map(|preset| preset.preset.budget_s).collect();
        let seconds = match budgets {
            Some(budgets) if presets.len() > 1 => {
                let all: f64 = budgets.iter().sum();
                budgets.iter().map(|budget| within * budget / all).collect()
            }
            _ => vec![within],
        };
        Division { seconds }
    }

    /// How many parts there are.
    pub(crate) fn parts(&self) -> usize {
        self.seconds.len()
    }

    /// The part that a preset belongs to.
    pub(crate) fn part(&self, preset: usize) -> usize {
        preset.min(self.seconds.len() - 1)
    }

    /// The seconds of a part.
    pub(crate) fn seconds(&self, part: usize) -> f64 {
        self.seconds[part]
    }

    /// Those of them that are for what all of its points have.
    pub(crate) fn for_all(&self, part: usize, has_headlines: bool) -> f64 {
        self.seconds[part] * if has_headlines { 1.0 - FOR_HEADLINES } else { 1.0 }
    }
}

/// Seconds that these presets may take together; `None` where one of them names no budget.
pub fn budget(presets: &[Preset]) -> Option<f64> {
    presets.iter().map(|preset| preset.preset.budget_s).sum()
}

#[cfg(test)]
mod tests {
    use tollway_core::PresetHead;

    use super::*;

    fn presets(budgets: &[Option<f64>]) -> Vec<Preset> {
        let head = |budget_s: &Option<f64>| PresetHead { budget_s: *budget_s, ..PresetHead::default() };
        budgets.iter().map(|b| Preset { preset: head(b), ..Preset::default() }).collect()
    }

    #[test]
    fn any_time_is_divided_as_the_budgets_are() {
        let named = presets(&[Some(30.0), Some(10.0)]);
        let divided = Division::of(20.0, &named);
        assert_eq!((divided.parts(), divided.seconds(0), divided.seconds(1)), (2, 15.0, 5.0));
        assert_eq!((divided.part(0), divided.part(1)), (0, 1));
        assert!(divided.for_all(0, true) < 15.0 && divided.for_all(0, false) == 15.0);
        assert_eq!(budget(&named), Some(40.0));
    }

    #[test]
    fn who_names_no_budget_shares_with_all() {
        for some in [&[Some(30.0), None][..], &[Some(7.0)], &[None]] {
            let divided = Division::of(20.0, &presets(some));
            assert_eq!((divided.parts(), divided.part(1), divided.seconds(0)), (1, 0, 20.0));
        }
        assert_eq!(budget(&presets(&[Some(30.0), None])), None);
    }
}
