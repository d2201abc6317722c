//! The formulas against SciPy, by the vectors that `vectors/make_vectors.py` recorded.

use serde_json::Value;
use tollway_stats::{
    Location, StatsError, benjamini_hochberg, bootstrap, equivalence, mann_whitney, signed_rank, spearman,
    summary, t_interval,
};

fn cases(json: &str) -> Vec<Value> {
    let document: Value = serde_json::from_str(json).expect("the vectors are JSON");
    let cases = document["cases"].as_array().expect("a list of cases").clone();
    assert!(!cases.is_empty());
    cases
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().expect("a list").iter().map(|v| v.as_f64().expect("a number")).collect()
}

#[track_caller]
fn close(got: f64, want: &Value) {
    let want = want.as_f64().expect("a number");
    assert!((got - want).abs() <= 1e-9 * want.abs().max(1e-3), "{got} is not {want}");
}

#[test]
fn summaries() {
    for case in cases(include_str!("../vectors/summary.json")) {
        let x = numbers(&case["x"]);
        close(summary::mean(&x).unwrap(), &case["mean"]);
        if x.len() > 1 {
            close(summary::variance(&x).unwrap(), &case["variance"]);
        }
        close(summary::mad(&x).unwrap(), &case["mad"]);
        close(summary::scaled_mad(&x).unwrap(), &case["scaled_mad"]);
        close(summary::trimmed_mean(&x, 0.2).unwrap(), &case["trimmed"]);
        let quantiles = summary::quantiles(&x, &numbers(&case["probabilities"])).unwrap();
        for (got, want) in quantiles.iter().zip(case["quantiles"].as_array().unwrap()) {
            close(*got, want);
        }
    }
}

#[test]
fn students_t() {
    for case in cases(include_str!("../vectors/t_interval.json")) {
        let x = numbers(&case["x"]);
        let i = t_interval(&x, case["confidence"].as_f64().unwrap()).unwrap();
        close(i.lo, &case["lo"]);
        close(i.hi, &case["hi"]);
        close(Location::student(&x).unwrap().p_different(0.0), &case["p"]);
    }
}

#[test]
fn the_parts_of_the_trimmed_t() {
    for case in cases(include_str!("../vectors/trimmed_t.json")) {
        let l = Location::trimmed(&numbers(&case["x"])).unwrap();
        close(l.estimate, &case["estimate"]);
        let scale = l.standard_error / case["uncalibrated_se"].as_f64().unwrap();
        assert!((1.0..1.1).contains(&scale), "{scale}");
    }
}

#[test]
fn mann_and_whitney() {
    let mut exact = 0;
    for case in cases(include_str!("../vectors/mann_whitney.json")) {
        let t = mann_whitney(&numbers(&case["a"]), &numbers(&case["b"])).unwrap();
        assert_eq!(t.exact, case["exact"].as_bool().unwrap());
        exact += u32::from(t.exact);
        close(t.u, &case["u"]);
        close(t.p, &case["p"]);
    }
    assert!(exact >= 5);
}

#[test]
fn wilcoxon() {
    for case in cases(include_str!("../vectors/wilcoxon.json")) {
        let t = signed_rank(&numbers(&case["d"])).unwrap();
        assert_eq!(t.exact, case["exact"].as_bool().unwrap());
        close(t.w_plus, &case["w_plus"]);
        close(t.p, &case["p"]);
        close(t.centre, &case["centre"]);
    }
}

#[test]
fn spearmans_rho() {
    for case in cases(include_str!("../vectors/spearman.json")) {
        let s = spearman(&numbers(&case["x"]), &numbers(&case["y"])).unwrap();
        close(s.rho, &case["rho"]);
        close(s.p, &case["p"]);
    }
}

#[test]
fn benjamini_and_hochberg() {
    for case in cases(include_str!("../vectors/false_discovery.json")) {
        let q = benjamini_hochberg(&numbers(&case["p"])).unwrap();
        for (got, want) in q.iter().zip(case["q"].as_array().unwrap()) {
            close(*got, want);
        }
    }
}

#[test]
fn two_one_sided_tests() {
    for case in cases(include_str!("../vectors/equivalence.json")) {
        let l = Location::student(&numbers(&case["x"])).unwrap();
        let (lower, upper) = (case["lower"].as_f64().unwrap(), case["upper"].as_f64().unwrap());
        close(equivalence(&l, lower, upper).unwrap().p, &case["p"]);
    }
}

#[test]
fn bootstrap_within_monte_carlo_error() {
    for case in cases(include_str!("../vectors/bootstrap.json")) {
        let statistic: fn(&[f64]) -> Result<f64, StatsError> = match case["statistic"].as_str().unwrap() {
            "mean" => summary::mean,
            _ => summary::variance,
        };
        let how = bootstrap::Resampling::default();
        let x = numbers(&case["x"]);
        let i = match case["method"].as_str().unwrap() {
            "BCa" => bootstrap::bca(&x, |x| statistic(x).unwrap(), how),
            _ => bootstrap::percentile(&x, |x| statistic(x).unwrap(), how),
        }
        .unwrap();
        let (ends, tolerance) = (numbers(&case["ends"]), numbers(&case["tolerance"]));
        assert!(
            (i.lo - ends[0]).abs() < tolerance[0] && (i.hi - ends[1]).abs() < tolerance[1],
            "{case} {i:?}"
        );
    }
}
