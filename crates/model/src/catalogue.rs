//! All models under their names. `tollway model`, MODELS.md, `plan` and the fitter read models only through this.

pub use crate::card::{Family, Given, Kind, Model, Parameter};
use crate::{ModelError, Result};
use crate::{general, interrupt, markovian, network, priority, scaling};

/// Every model, by family and then as its file lists them.
pub fn all() -> Vec<&'static Model> {
    [
        markovian::MODELS,
        general::MODELS,
        priority::MODELS,
        interrupt::MODELS,
        network::MODELS,
        scaling::MODELS,
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The model of that name.
///
/// # Errors
/// When there is none; the name that resembles it most is told.
pub fn find(name: &str) -> Result<&'static Model> {
    let all = all();
    all.iter().copied().find(|model| model.name == name).ok_or_else(|| {
        let shown: String = name.chars().take(64).collect();
        let resemblance = |model: &&Model| strsim::jaro_winkler(model.name, &shown);
        let nearest = all.into_iter().max_by(|a, b| resemblance(a).total_cmp(&resemblance(b)));
        let nearest = nearest.filter(|model| resemblance(model) > 0.7);
        let meant = nearest.map(|model| format!("did you mean {}? ", model.name)).unwrap_or_default();
        ModelError::parameter(
            "model",
            format!("there is none named `{shown}`"),
            format!("{meant}see `tollway model` for all of them"),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_model_solves_its_own_examples() {
        for model in all() {
            let examples = model.parameters.iter().map(|p| (p.name, p.example));
            let given = model.given(examples).unwrap();
            let solution = model.solve(&given).unwrap_or_else(|error| panic!("{}: {error}", model.name));
            assert!(!solution.metrics().is_empty(), "{}", model.name);
            let names: std::collections::BTreeSet<_> = solution.metrics().iter().map(|m| &m.name).collect();
            assert_eq!(names.len(), solution.metrics().len(), "{}: a figure twice", model.name);
        }
    }

    #[test]
    fn names_are_unique() {
        let names: std::collections::BTreeSet<_> = all().iter().map(|m| m.name).collect();
        assert_eq!(names.len(), all().len());
    }

    #[test]
    fn a_parameter_that_is_missing_or_strange_or_twice_is_named() {
        let model = find("mm1").unwrap();
        for (pairs, name) in [
            (vec![("lambda", "1")], "mu: it is missing"),
            (vec![("lambda", "1"), ("mu", "2"), ("nu", "3")], "nu: "),
            (vec![("lambda", "1"), ("lambda", "1"), ("mu", "2")], "lambda: it is given twice"),
        ] {
            let told = model.given(pairs).unwrap_err().to_string();
            assert!(told.starts_with(name), "{told}");
        }
    }
}
