//! Fits and p-values against SciPy, by the vectors that `tests/vectors/make_families.py` recorded.

use serde_json::Value;

use super::Family;
use super::goodness::fit;
use crate::Distribution;

fn cases(part: &str) -> Vec<Value> {
    let all: Value = serde_json::from_str(include_str!("../../tests/vectors/families.json")).unwrap();
    let cases = all[part].as_array().unwrap().clone();
    assert!(!cases.is_empty());
    cases
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
}

fn named(name: &str) -> Family {
    Family::ALL.into_iter().find(|family| family.name() == name).unwrap()
}

#[test]
fn maximum_likelihood() {
    for case in cases("fits") {
        let x = numbers(&case["x"]);
        for (name, want) in case["families"].as_object().unwrap() {
            let found = fit(named(name), &x, 0.0, 0.0, 1).unwrap();
            let parameters = match found.distribution {
                Distribution::Gamma { shape, mean } | Distribution::Weibull { shape, mean } => {
                    vec![shape, mean]
                }
                Distribution::Lognormal { mean, scv } => vec![mean, scv],
                Distribution::Exponential { mean } => vec![mean],
                ref other => panic!("{other}"),
            };
            // SciPy stops its search for a shape when it has five digits.
            for (got, want) in parameters.iter().zip(numbers(&want["parameters"])) {
                assert!((got / want - 1.0).abs() < 1e-4, "{name}: {got} is not {want}");
            }
            let (likelihood, want_likelihood) =
                (found.log_likelihood.unwrap(), want["log_likelihood"].as_f64().unwrap());
            // No less likely than SciPy's, and hardly more.
            assert!(
                (-1e-9..1e-4).contains(&(likelihood - want_likelihood)),
                "{name}: {likelihood} {want_likelihood}"
            );
            assert!((found.ks - want["ks"].as_f64().unwrap()).abs() < 1e-4, "{name}");
        }
    }
}

/// Both p-values are of draws: ours of 20 as far as the trace or 999 in all, which has a standard error of a quarter of
/// p, or of √(p/1000). Five of them are allowed.
#[test]
fn p_values_of_fitted_families() {
    for case in cases("p_values") {
        let name = case["family"].as_str().unwrap();
        let found = fit(named(name), &numbers(&case["x"]), 0.0, 0.0, 1).unwrap();
        for (got, key) in [(found.ks_p, "ks"), (found.ad_p, "ad")] {
            let want = case[key].as_f64().unwrap();
            let error = (0.25 * want * (1.0 - want).sqrt()).max((want / 1000.0).sqrt());
            eprintln!("{name} {key}: {got}, SciPy {want}");
            assert!((got - want).abs() < 5.0 * error, "{name} {key}: {got} is not {want}");
        }
    }
}
