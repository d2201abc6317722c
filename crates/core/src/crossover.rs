//! The metric of a claim that says from which value of something on one variant is cheaper than another.

use serde::{Deserialize, Serialize};

use crate::{Error, Path, Quantity, Result, Value};

/// Two quantities while something varies for both: which is cheap to begin, and which to go on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Crossover {
    /// The quantity that comes to be the smaller, but for one axis.
    pub of: Quantity,
    /// The one that it comes below; it stays as it is where its variant does not have the axis.
    pub below: Quantity,
    /// That axis.
    pub axis: String,
    /// Its values: positive, each above the one before it.
    pub values: Vec<Value>,
    /// What each value is as a number, and both quantities there; known once the claim is
    /// [complete](crate::Claim::complete).
    #[serde(skip)]
    pub each: Vec<(f64, Quantity, Quantity)>,
}

impl Crossover {
    pub(crate) fn complete(&mut self, path: &Path) -> Result<()> {
        let refused = |reason: String, remedy: &str| {
            let place = format!("crossover over `{}`", self.axis);
            Err(Error::Input { place, reason, remedy: remedy.into() })
        };
        let both = path.variant(&self.below.variant)?.axes().iter().any(|axis| axis.name == self.axis);
        let mut each: Vec<(f64, Quantity, Quantity)> = Vec::new();
        for value in &self.values {
            let x = match value {
                Value::Int(n) => *n as f64,
                Value::Real(x) => *x,
                Value::Text(word) => {
                    return refused(format!("`{word}` is no number"), "name an axis of numbers");
                }
            };
            if x <= each.last().map_or(0.0, |(before, ..)| *before) {
                return refused(
                    format!("{x} does not follow what is before it"),
                    "name positive values that grow",
                );
            }
            let (mut of, mut below) = (self.of.clone(), self.below.clone());
            of.at.set(&self.axis, value.clone());
            of.complete(path)?;
            if both {
                below.at.set(&self.axis, value.clone());
            }
            below.complete(path)?;
            each.push((x, of, below));
        }
        if each.len() < 2 {
            return refused(format!("{} values have no step between them", each.len()), "name two or more");
        }
        self.each = each;
        Ok(())
    }

    /// The values that are so many steps beside that one at the most, from the first to the last; `None` where it is none of
    /// them. Whether a crossover beyond the last value is near it nobody knows.
    pub(crate) fn beside(&self, value: f64, steps: usize) -> Option<[f64; 2]> {
        let at = self.each.iter().position(|(x, ..)| *x == value)?;
        let last = at.saturating_add(steps).min(self.each.len() - 1);
        Some([self.each[at.saturating_sub(steps)].0, self.each[last].0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Actor, Axis, Claim, Domain, Metric, Params, Plan, Provenance, Relation, Variant};

    /// A variant that is only asked for its axes.
    struct Axed(&'static str, bool);

    impl Variant for Axed {
        fn name(&self) -> &str {
            self.0
        }

        fn about(&self) -> &str {
            "has an axis, or none"
        }

        fn axes(&self) -> Vec<Axis> {
            let (name, domain) = ("concurrency", Domain::Whole(1, 256));
            let axis = Axis { name, about: "requests at a time", domain, default: Value::Int(1) };
            if self.1 { vec![axis] } else { Vec::new() }
        }

        fn plan(&self, _: &Params) -> Result<Plan> {
            Err(Error::Wrong("it is not run".into()))
        }

        fn actor(&self, _: &str, _: &Params) -> Result<Box<dyn Actor>> {
            Err(Error::Wrong("it is not run".into()))
        }
    }

    fn path() -> Path {
        Path {
            name: "requests",
            question: "Which?",
            variants: vec![Box::new(Axed("many", true)), Box::new(Axed("one", false))],
            presets: &[("quick", "")],
            claims: "",
        }
    }

    fn crossover(values: &[u64], relation: Relation) -> Claim {
        let of = |variant: &str| Quantity { variant: variant.into(), ..Quantity::default() };
        Claim {
            id: "overtakes".into(),
            says: String::new(),
            source: String::new(),
            provenance: Provenance::Quoted,
            published: String::new(),
            expected: String::new(),
            preset: "quick".into(),
            metric: Metric::Crossover(Crossover {
                of: of("many"),
                below: of("one"),
                axis: "concurrency".into(),
                values: values.iter().map(|n| Value::Int(*n)).collect(),
                each: Vec::new(),
            }),
            relation: Some(relation),
        }
    }

    #[test]
    fn a_crossover_has_both_quantities_at_each_value_and_near_is_in_its_steps() {
        let near = |value, steps| {
            let claim = crossover(&[1, 2, 4, 8], Relation::Near { value, steps }).complete(&path()).unwrap();
            let points: Vec<String> = claim.quantities().iter().map(|q| q.point.to_string()).collect();
            assert_eq!(
                points,
                ["concurrency=1", "", "concurrency=2", "", "concurrency=4", "", "concurrency=8", ""]
            );
            claim.relation.unwrap().range()
        };
        assert_eq!(near(2.0, 1), (1.0, 4.0));
        assert_eq!(near(1.0, 1), (1.0, 2.0));
        assert_eq!(near(8.0, 1), (4.0, 8.0));
        assert_eq!(near(4.0, 0), (4.0, 4.0));
        assert_eq!(near(2.0, usize::MAX), (1.0, 8.0));
    }

    #[test]
    fn crossovers_that_are_none_are_refused_with_place_and_remedy() {
        let refused = |claim: Claim, says: &str| match claim.complete(&path()) {
            Err(Error::Input { place, reason, remedy }) => {
                assert!(place.contains("requests.overtakes") && !remedy.is_empty(), "{place}");
                assert!(reason.contains(says), "{reason}");
            }
            other => panic!("{other:?}"),
        };
        refused(crossover(&[1, 2], Relation::Near { value: 3.0, steps: 1 }), "3 is no value");
        refused(crossover(&[2, 1], Relation::AtMost(2.0)), "1 does not follow");
        refused(crossover(&[0, 1], Relation::AtMost(2.0)), "0 does not follow");
        refused(crossover(&[1], Relation::AtMost(2.0)), "no step between");
        refused(crossover(&[1, 512], Relation::AtMost(2.0)), "`512`");
        let mut ratio = crossover(&[1, 2], Relation::Near { value: 1.0, steps: 1 });
        ratio.metric = Metric::Value(Quantity { variant: "one".into(), ..Quantity::default() });
        refused(ratio, "no value of a crossover");
    }
}
