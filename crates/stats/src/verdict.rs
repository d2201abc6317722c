//! From comparisons to words: same, better, worse or not separable, over all figures of a report at once.

use serde::{Deserialize, Serialize};

use crate::equivalence::check_margin;
use crate::false_discovery::benjamini_hochberg;
use crate::sample::open_unit;
use crate::{Ratio, StatsError};

/// Which way a figure improves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Costs: time, cycles, bytes copied.
    LowerIsBetter,
    /// Yields: operations per second.
    HigherIsBetter,
}

/// What may be said of b against a.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Shown to lie within the margin, even if a difference within it was found.
    Same,
    /// b differs from a, to the good.
    Better,
    /// b differs from a, to the bad.
    Worse,
    /// Neither a difference nor equivalence could be shown: measure more.
    NotSeparable,
}

/// One figure to judge.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// b / a.
    pub ratio: Ratio,
    /// Which way it improves.
    pub direction: Direction,
}

/// What a verdict has to satisfy.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Criteria {
    /// Ratios between `1 / (1 + margin)` and `1 + margin` count as the same; a share, greater than zero.
    pub margin: f64,
    /// Share of the differences, and of the equivalences, found that may be false, in `(0, 1)`.
    pub false_discovery_rate: f64,
}

impl Default for Criteria {
    /// A margin of 2 %, a false-discovery rate of 5 %.
    fn default() -> Self {
        Self { margin: 0.02, false_discovery_rate: 0.05 }
    }
}

/// The verdict on one figure and what it rests on.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// The word.
    pub verdict: Verdict,
    /// p-value against "no difference".
    pub p_different: f64,
    /// The same, adjusted for all figures judged together.
    pub q_different: f64,
    /// p-value against "outside the margin".
    pub p_same: f64,
    /// The same, adjusted for all figures judged together.
    pub q_same: f64,
}

/// Judges many figures together, in the order given: false discoveries are controlled among the differences
/// and, as a family of their own, among the equivalences. No figure gives no judgement.
///
/// # Errors
/// On a margin that is not positive and a rate outside `(0, 1)`.
pub fn judge_all(comparisons: &[Comparison], criteria: Criteria) -> Result<Vec<Judgement>, StatsError> {
    check_margin(criteria.margin)?;
    let rate = open_unit("false_discovery_rate", criteria.false_discovery_rate)?;
    if comparisons.is_empty() {
        return Ok(Vec::new());
    }
    let p_different: Vec<f64> = comparisons.iter().map(|c| c.ratio.p_different()).collect();
    let p_same = comparisons
        .iter()
        .map(|c| Ok(c.ratio.equivalence(criteria.margin)?.p))
        .collect::<Result<Vec<f64>, StatsError>>()?;
    let q_different = benjamini_hochberg(&p_different)?;
    let q_same = benjamini_hochberg(&p_same)?;
    Ok(comparisons
        .iter()
        .enumerate()
        .map(|(i, comparison)| {
            let verdict = if q_same[i] <= rate {
                Verdict::Same
            } else if q_different[i] <= rate {
                comparison.side()
            } else {
                Verdict::NotSeparable
            };
            Judgement {
                verdict,
                p_different: p_different[i],
                q_different: q_different[i],
                p_same: p_same[i],
                q_same: q_same[i],
            }
        })
        .collect())
}

/// Judges a single figure: [`judge_all`] of one.
///
/// # Errors
/// As [`judge_all`].
pub fn judge(comparison: Comparison, criteria: Criteria) -> Result<Judgement, StatsError> {
    judge_all(&[comparison], criteria).map(|judgements| judgements[0])
}

impl Comparison {
    fn side(&self) -> Verdict {
        let b_is_lower = self.ratio.log.estimate < 0.0;
        if b_is_lower == (self.direction == Direction::LowerIsBetter) {
            Verdict::Better
        } else {
            Verdict::Worse
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Location, Pairing};

    fn comparison(ratio: f64, standard_error: f64, direction: Direction) -> Comparison {
        let log = Location { estimate: ratio.ln(), standard_error, degrees_of_freedom: 9.0, units: 10 };
        Comparison { ratio: Ratio { log, pairing: Pairing::Paired }, direction }
    }

    fn word(ratio: f64, standard_error: f64, direction: Direction) -> Verdict {
        judge(comparison(ratio, standard_error, direction), Criteria::default()).unwrap().verdict
    }

    #[test]
    fn the_four_words() {
        use Direction::{HigherIsBetter, LowerIsBetter};
        assert_eq!(word(1.10, 0.01, LowerIsBetter), Verdict::Worse);
        assert_eq!(word(0.90, 0.01, LowerIsBetter), Verdict::Better);
        assert_eq!(word(1.10, 0.01, HigherIsBetter), Verdict::Better);
        assert_eq!(word(0.90, 0.01, HigherIsBetter), Verdict::Worse);
        assert_eq!(word(1.001, 0.002, LowerIsBetter), Verdict::Same);
        assert_eq!(word(1.05, 0.05, LowerIsBetter), Verdict::NotSeparable);
    }

    #[test]
    fn a_real_difference_within_the_margin_is_still_the_same() {
        let j = judge(comparison(1.005, 0.001, Direction::LowerIsBetter), Criteria::default()).unwrap();
        assert!(j.p_different < 0.01);
        assert_eq!(j.verdict, Verdict::Same);
    }

    #[test]
    fn a_weak_difference_does_not_survive_among_many() {
        let weak = comparison(1.06, 0.024, Direction::LowerIsBetter);
        assert_eq!(judge(weak, Criteria::default()).unwrap().verdict, Verdict::Worse);
        let mut all = vec![comparison(1.03, 0.05, Direction::LowerIsBetter); 20];
        all.push(weak);
        let last = judge_all(&all, Criteria::default()).unwrap()[20];
        assert_eq!(last.verdict, Verdict::NotSeparable);
        assert!(last.q_different > last.p_different);
    }

    #[test]
    fn nothing_to_judge() {
        assert!(judge_all(&[], Criteria::default()).unwrap().is_empty());
        assert!(judge_all(&[], Criteria { margin: 0.0, ..Criteria::default() }).is_err());
    }
}
