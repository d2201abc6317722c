//! What traces are tested by, against SciPy and statsmodels, by the vectors that `vectors/make_traces.py` recorded.

use serde_json::Value;
use tollway_stats::counts::{gamma_rate, poisson_rate, shares};
use tollway_stats::goodness_of_fit::{distance, kolmogorov_upper_tail};
use tollway_stats::serial::independence;

fn cases(part: &str) -> Vec<Value> {
    let all: Value = serde_json::from_str(include_str!("../vectors/traces.json")).unwrap();
    let cases = all[part].as_array().unwrap().clone();
    assert!(!cases.is_empty());
    cases
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
}

#[track_caller]
fn close(got: f64, want: &Value, tolerance: f64) {
    let want = want.as_f64().unwrap();
    assert!((got - want).abs() <= tolerance * want.abs().max(1e-6), "{got} is not {want}");
}

#[test]
fn kolmogorov_smirnov_and_anderson_darling() {
    for case in cases("distances") {
        let mean = case["mean"].as_f64().unwrap();
        let found = distance(&numbers(&case["x"]), |x| (-(-x / mean).exp_m1(), (-x / mean).exp())).unwrap();
        close(found.kolmogorov_smirnov, &case["ks"], 1e-9);
        close(found.anderson_darling, &case["ad"], 1e-9);
    }
}

#[test]
fn kolmogorovs_limit() {
    for case in cases("limits") {
        close(kolmogorov_upper_tail(case["x"].as_f64().unwrap()), &case["tail"], 1e-9);
    }
}

#[test]
fn ljung_and_box_on_ranks() {
    for case in cases("series") {
        let found = independence(&numbers(&case["x"]), case["lags"].as_u64().unwrap() as usize).unwrap();
        close(found.statistic, &case["q"], 1e-9);
        close(found.p, &case["p"], 1e-8);
    }
}

#[test]
fn exact_rates() {
    for case in cases("rates") {
        let count = case["count"].as_u64().unwrap();
        let poisson = poisson_rate(count, 1.0, 0.95).unwrap();
        close(poisson.lo, &case["poisson"][0], 1e-8);
        close(poisson.hi, &case["poisson"][1], 1e-8);
        if count > 0 {
            let gamma = gamma_rate(count, 1.0, 0.95).unwrap();
            close(gamma.lo, &case["gamma"][0], 1e-8);
            close(gamma.hi, &case["gamma"][1], 1e-8);
        }
    }
}

#[test]
fn shares_at_once() {
    for case in cases("shares") {
        let counts: Vec<u64> = numbers(&case["counts"]).iter().map(|c| *c as u64).collect();
        for (share, ends) in shares(&counts, 0.95).unwrap().iter().zip(case["ends"].as_array().unwrap()) {
            close(share.lo, &ends[0], 1e-8);
            close(share.hi, &ends[1], 1e-8);
        }
    }
}
