//! A fixed cost shared by a batch: what each pays, and how large a batch is large enough.

use crate::card::{Family, Given, Kind, Model, Parameter};
use crate::{ModelError, Result, Solution, Unit, check};

/// The largest batch that is taken.
const LARGEST_BATCH: u64 = 1_000_000_000_000_000;

/// A crossing that costs `fixed` once and `each` for every item that it carries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Amortisation {
    fixed: f64,
    each: f64,
}

impl Amortisation {
    /// Seconds, or any unit that both share.
    ///
    /// # Errors
    /// When a cost is not usable, or both are 0.
    pub fn new(fixed: f64, each: f64) -> Result<Self> {
        check::non_negative("fixed", fixed)?;
        check::non_negative("each", each)?;
        if fixed + each == 0.0 {
            return Err(ModelError::parameter("fixed", "nothing costs anything", "give a cost above 0"));
        }
        Ok(Self { fixed, each })
    }

    /// What each item costs in a batch of this many: F/b + e.
    pub fn each(&self, batch: u64) -> f64 {
        self.fixed / batch as f64 + self.each
    }

    /// How much cheaper that is than one by one: (F + e)/(F/b + e).
    pub fn speedup(&self, batch: u64) -> f64 {
        (self.fixed + self.each) / self.each(batch)
    }

    /// The smallest batch in which an item costs at most this share more than in an endless one: F/(share·e), rounded
    /// up. `None` when items are free by themselves: a larger batch is always better by as much.
    ///
    /// # Errors
    /// When the share is not usable.
    pub fn batch_within(&self, share: f64) -> Result<Option<f64>> {
        let batch = self.fixed / (check::positive("share", share)? * self.each);
        if !batch.is_finite() {
            return Ok(None);
        }
        let nearest = batch.round().max(1.0);
        let whole = (batch - nearest).abs() <= 4.0 * f64::EPSILON * batch;
        Ok(Some(if whole { nearest } else { batch.ceil().max(1.0) }))
    }
}

/// In the catalogue.
pub(crate) const MODEL: Model = Model {
    name: "amortisation",
    title: "amortisation by batch",
    family: Family::Scaling,
    summary: "a fixed cost is shared by the items of a batch",
    formula: "each F/b + e; speedup (F + e)/(F/b + e); within 5 % of e from b = ⌈F/(0.05e)⌉",
    assumptions: "a batch costs F + e·b; waiting for a batch to fill is not counted (see coalesce)",
    source: "arithmetic; the shape of it: Amdahl (1967), Validity of the single processor approach to achieving large scale computing capabilities",
    holds: "exact for a cost that is linear in the batch",
    parameters: &[
        Parameter {
            name: "fixed",
            kind: Kind::Time,
            means: "cost of a batch, whatever is in it",
            default: None,
            example: "2us",
        },
        Parameter {
            name: "each",
            kind: Kind::Time,
            means: "cost of each item",
            default: None,
            example: "100ns",
        },
        Parameter {
            name: "batch",
            kind: Kind::Count,
            means: "items in a batch",
            default: None,
            example: "32",
        },
    ],
    solve,
};

fn solve(given: &Given) -> Result<Solution> {
    let model = Amortisation::new(given.time("fixed")?, given.time("each")?)?;
    let batch = given.count("batch", 1, LARGEST_BATCH)?;
    let solution = Solution::new().with("each.total", model.each(batch), Unit::Seconds).with(
        "speedup",
        model.speedup(batch),
        Unit::Ratio,
    );
    Ok(match model.batch_within(0.05)? {
        Some(enough) => solution.with("batch.enough", enough, Unit::Count),
        None => solution,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_shares_the_fixed_cost() {
        let model = Amortisation::new(8.0, 2.0).unwrap();
        assert_eq!((model.each(1), model.each(4), model.speedup(4)), (10.0, 4.0, 2.5));
        assert_eq!(model.speedup(1), 1.0);
    }

    #[test]
    fn enough_is_the_smallest_that_is() {
        for (fixed, each) in [(8.0, 2.0), (2e-6, 1e-7), (1.0, 3.0), (0.0, 1.0), (1e-9, 7e-3)] {
            let model = Amortisation::new(fixed, each).unwrap();
            let enough = model.batch_within(0.05).unwrap().unwrap() as u64;
            assert!(model.each(enough) <= 1.05 * each * (1.0 + 1e-15), "{fixed} {each}");
            assert!(enough == 1 || model.each(enough - 1) > 1.05 * each, "{fixed} {each}");
        }
        assert_eq!(Amortisation::new(1.0, 0.0).unwrap().batch_within(0.05).unwrap(), None);
        assert!(Amortisation::new(0.0, 0.0).is_err());
    }
}
