//! A named experiment, as data.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Params, Value};

/// One value or a list of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum OneOrMany {
    /// Each of these in turn.
    Many(Vec<Value>),
    /// Always this.
    One(Value),
}

impl OneOrMany {
    fn values(&self) -> &[Value] {
        match self {
            OneOrMany::One(value) => std::slice::from_ref(value),
            OneOrMany::Many(values) => values,
        }
    }
}

/// What a preset is called and what it is for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PresetHead {
    /// Its name.
    pub name: String,
    /// The path it measures.
    pub path: String,
    /// One line: what it shows.
    #[serde(default)]
    pub about: String,
    /// Seconds that it may take where presets of several paths are measured together; of another time in all it has the same share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_s: Option<f64>,
}

/// A set of points: every combination of its axes. The axis `variant` names the variants.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Case(pub BTreeMap<String, OneOrMany>);

impl Case {
    /// Whether it names this point: each of its axes, and the variant, has one of the values that it says.
    pub fn names(&self, variant: &str, params: &Params) -> bool {
        self.0.iter().all(|(axis, said)| match axis.as_str() {
            "variant" => said.values().iter().any(|value| value.to_string() == variant),
            axis => params.get(axis).is_some_and(|value| said.values().contains(value)),
        })
    }
}

/// How each point is tried.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrialSpec {
    /// Length of the recorded window, in milliseconds.
    pub window_ms: f64,
    /// Length of the unrecorded warm-up before it, in milliseconds.
    pub warmup_ms: f64,
    /// Blocks, each with processes of its own.
    pub runs: u32,
    /// Trials of each point in a block.
    pub repeats: u32,
}

impl Default for TrialSpec {
    fn default() -> Self {
        TrialSpec { window_ms: 10.0, warmup_ms: 1.0, runs: 8, repeats: 2 }
    }
}

/// A named experiment: which points, and how they are tried.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preset {
    /// Its name and path.
    pub preset: PresetHead,
    /// Axes common to all cases.
    #[serde(default)]
    pub axes: Case,
    /// Sets of points; without any there is one, made of the common axes alone.
    #[serde(default)]
    pub case: Vec<Case>,
    /// Those of its points that tell most: they are tried until their intervals are narrow, as long as there is time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headline: Vec<Case>,
    /// How each point is tried.
    #[serde(default)]
    pub trial: TrialSpec,
}

/// How narrow the interval of a headline is to be: half of its width as a share of the figure, on a scale of ratios.
pub const NARROW: f64 = 0.05;

impl Preset {
    /// Every point, as a variant's name and what the preset says of its axes, in the order of the file.
    ///
    /// A point that names no variant has an empty name; the caller refuses it with its own list of variants.
    pub fn points(&self) -> Vec<(String, Params)> {
        let lone = [Case::default()];
        let cases = if self.case.is_empty() { &lone[..] } else { &self.case[..] };
        let mut points = Vec::new();
        for case in cases {
            let mut axes: BTreeMap<&str, &[Value]> = BTreeMap::new();
            for (name, values) in self.axes.0.iter().chain(&case.0) {
                axes.insert(name, values.values());
            }
            let mut combinations = vec![Params::new()];
            for (name, values) in axes {
                combinations = combinations
                    .iter()
                    .flat_map(|p| values.iter().map(move |v| p.clone().with(name, v.clone())))
                    .collect();
            }
            for params in combinations {
                let variant = params.get("variant").map(Value::to_string).unwrap_or_default();
                points.push((variant, params.without("variant")));
            }
        }
        points
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn preset(axes: &[(&str, &[u64])], cases: &[&[(&str, &[u64])]]) -> Preset {
        let case = |axes: &[(&str, &[u64])]| {
            Case(
                axes.iter()
                    .map(|(n, v)| {
                        (n.to_string(), OneOrMany::Many(v.iter().map(|x| Value::Int(*x)).collect()))
                    })
                    .collect(),
            )
        };
        Preset {
            preset: PresetHead { name: "p".into(), path: "q".into(), ..PresetHead::default() },
            axes: case(axes),
            case: cases.iter().map(|c| case(c)).collect(),
            ..Preset::default()
        }
    }

    #[test]
    fn axes_multiply_and_cases_add_up() {
        assert_eq!(preset(&[("a", &[1, 2]), ("b", &[1, 2, 3])], &[]).points().len(), 6);
        assert_eq!(preset(&[("a", &[1, 2])], &[&[("b", &[1])], &[("b", &[1, 2])]]).points().len(), 6);
    }

    #[test]
    fn a_case_overrides_the_common_axes() {
        let points = preset(&[("a", &[1, 2])], &[&[("a", &[7])]]).points();
        assert_eq!(points, vec![(String::new(), Params::new().with("a", 7))]);
    }

    #[test]
    fn a_case_names_the_points_that_have_all_that_it_says() {
        let case: Case = toml_like(&[("variant", &["a", "b"]), ("size", &["64"])]);
        let point = |size: &str| Params::new().with("size", Value::Text(size.into())).with("depth", 1);
        assert!(case.names("a", &point("64")) && case.names("b", &point("64")));
        assert!(!case.names("c", &point("64")) && !case.names("a", &point("65")));
        assert!(!case.names("a", &Params::new()), "it lacks an axis");
    }

    fn toml_like(axes: &[(&str, &[&str])]) -> Case {
        let values = |v: &&[&str]| OneOrMany::Many(v.iter().map(|x| Value::Text((*x).into())).collect());
        Case(axes.iter().map(|(n, v)| ((*n).to_string(), values(v))).collect())
    }
}
