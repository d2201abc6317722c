//! General arrivals and services, held against each other and against exact relatives.

use proptest::prelude::*;
use tollway_model::general::{GiM1, Md1, Mg1};
use tollway_model::markovian::{FiniteSource, Mmc, Mmck};
use tollway_model::{Distribution, catalogue};

fn read(text: &str) -> Distribution {
    text.parse().unwrap()
}

fn near(found: f64, known: f64, error: f64) {
    assert!((found - known).abs() <= error, "{found} instead of {known}");
}

fn close(found: f64, known: f64) {
    near(found / known, 1.0, 1e-9);
}

#[test]
fn exponential_services_make_mm1() {
    for load in [0.05, 0.8, 0.999, 1.0 - 1e-9] {
        let (queue, rate) = (Mg1::new(load, read("exponential(1)")).unwrap(), 1.0 - load);
        close(queue.mean_wait(), load / rate);
        close(queue.busy_period_variance(), (1.0 + load) / rate.powi(3));
        close(queue.wait_variance(), load * (2.0 - load) / rate.powi(2));
        close(queue.number_variance(), load / rate.powi(2));
        for t in [1e-6, 0.1, 1.0, 10.0, 1.0 / rate, 20.0 / rate] {
            near(queue.wait_survival(t).unwrap(), load * (-rate * t).exp(), 2e-9);
            near(queue.response_survival(t).unwrap(), (-rate * t).exp(), 2e-9);
        }
        for share in [0.5, 0.9, 0.99, 0.999] {
            let exact = -(1.0f64 - share).ln() / rate;
            near(queue.response_quantile(share).unwrap() / exact, 1.0, 1e-6);
            let exact = (load / (1.0 - share)).ln().max(0.0) / rate;
            near(queue.wait_quantile(share).unwrap() * rate, exact * rate, 1e-5);
        }
        for n in [0, 1, 5, 60] {
            near(queue.number_survival(n).unwrap(), load.powi(n as i32 + 1), 1e-9);
        }
    }
}

#[test]
fn services_of_two_stages_are_solved_by_their_phases() {
    // P(wait > t) for hyperexponential services is a sum of two exponentials: the zeros of s − λ(1 − φ(s)) left of 0.
    let (lambda, p, a, b) = (0.5, 0.7, 1.0, 4.0);
    let q = 1.0 - p;
    let mean = p * a + q * b;
    let load = lambda * mean;
    let queue = Mg1::new(lambda, read("hyperexponential(0.7, 1, 0.3, 4)")).unwrap();
    // s(1 + as)(1 + bs) − λ[(1 + as)(1 + bs) − p(1 + bs) − q(1 + as)] = s·[ab s² + (a + b − λab)s + 1 − ρ].
    let (two, one) = (a * b, a + b - lambda * a * b);
    let root = (one * one - 4.0 * two * (1.0 - load)).sqrt();
    let roots = [(-one + root) / (2.0 * two), (-one - root) / (2.0 * two)];
    for t in [0.1, 1.0, 7.0, 40.0] {
        let exact: f64 = (0..2)
            .map(|i| {
                let (x, other) = (roots[i], roots[1 - i]);
                // Residue of W*(s)/s, W*(s) = (1 − ρ)(1 + as)(1 + bs)/(ab(s − x)(s − other)).
                let residue = (1.0 - load) * (1.0 + a * x) * (1.0 + b * x) / (two * (x - other) * x);
                -residue * (x * t).exp()
            })
            .sum();
        near(queue.wait_survival(t).unwrap(), exact, 1e-8);
    }
}

#[test]
fn md1_is_erlangs() {
    // Erlang's own formula, whose terms alternate: good while t is small.
    for load in [0.01, 0.5, 0.95] {
        let queue = Md1::new(load, 1.0).unwrap();
        for t in [0.0, 0.3, 1.0, 2.5, 4.0, 6.9] {
            let mut sum = 0.0;
            for k in 0..=(t as u32) {
                let x = load * (t - f64::from(k));
                let factorial: f64 = (1..=k).map(f64::from).product();
                sum += x.exp() * (-x).powi(k as i32) / factorial;
            }
            near(queue.wait_survival(t), 1.0 - (1.0 - load) * sum, 1e-12);
        }
    }
}

#[test]
fn md1_is_the_same_on_both_sides_of_its_asymptote() {
    for load in [0.01, 0.3, 0.9, 0.999, 1.0 - 1e-9] {
        let queue = Md1::new(load, 1.0).unwrap();
        let (before, after) = (queue.wait_survival(99.0 - 1e-9), queue.wait_survival(99.0));
        assert!((before / after - 1.0).abs() < 1e-6 || after < 1e-300, "{load}: {before} {after}");
        let ratio = |n| queue.number_survival(n + 1) / queue.number_survival(n);
        if load > 0.1 {
            close(ratio(99), ratio(149));
        }
        // Little's law, with the queue summed state by state.
        let length: f64 = (1..=100_000).map(|n| queue.number_survival(n)).sum();
        if load < 0.9999 {
            close(length, load * queue.mean_wait());
        }
        // The mean of the wait is the integral of its tail.
        let step = 0.01;
        let area: f64 = (0..2_000_000).map(|i| queue.wait_survival((f64::from(i) + 0.5) * step) * step).sum();
        if load < 0.99 {
            near(area / queue.mean_wait(), 1.0, 1e-3);
        }
    }
}

#[test]
fn exponential_gaps_make_mm1() {
    for load in [1e-9, 0.3, 0.8, 1.0 - 1e-9] {
        let queue = GiM1::new(Distribution::exponential(1.0 / load).unwrap(), 1.0).unwrap();
        near(queue.wait_probability() / load, 1.0, 1e-12);
        near(queue.mean_response() * queue.idle(), 1.0, 1e-9);
        near(queue.probability(3) / (queue.idle() * load.powi(3)), 1.0, 1e-9);
    }
}

#[test]
fn regular_gaps_are_solved_by_lambert() {
    // mpmath at 30 digits: the root of σ = exp(−(1 − σ)/ρ), −ρ W(−e^(−1/ρ)/ρ).
    for (gap, sigma) in
        [("constant(2)", 0.203_187_869_979_979_95), ("constant(100)", 3.720_075_976_020_836e-44)]
    {
        close(GiM1::new(read(gap), 1.0).unwrap().wait_probability(), sigma);
    }
}

#[test]
fn what_has_no_steady_state_is_named() {
    let one = || read("lognormal(1, 2)");
    for error in [Mg1::new(1.0, one()).unwrap_err(), Md1::new(2.0, 0.5).unwrap_err()] {
        assert!(error.to_string().starts_with("lambda: no steady state"), "{error}");
    }
    assert!(GiM1::new(one(), 1.0).unwrap_err().to_string().starts_with("interarrival: no steady state"));
    for share in [0.0, 1.0, f64::NAN] {
        let queue = Mg1::new(0.5, one()).unwrap();
        assert!(queue.wait_quantile(share).is_err() && queue.response_quantile(share).is_err());
    }
    assert!(Mg1::new(f64::NAN, one()).is_err() && Mg1::new(-1.0, one()).is_err());
}

fn services() -> impl Strategy<Value = Distribution> {
    let mean = || (-9.0..3.0f64).prop_map(|x| 10f64.powf(x));
    prop_oneof![
        mean().prop_map(|mean| Distribution::Exponential { mean }),
        mean().prop_map(|value| Distribution::Constant { value }),
        (1u32..300, mean()).prop_map(|(shape, mean)| Distribution::Erlang { shape, mean }),
        (0.01..0.99, mean(), 1.0..100.0).prop_map(|(p, a, b)| Distribution::Hyperexponential {
            branches: vec![(p, a), (1.0 - p, a * b)]
        }),
        (0.2..30.0, mean()).prop_map(|(shape, mean)| Distribution::Gamma { shape, mean }),
        (0.01..20.0, mean()).prop_map(|(scv, mean)| Distribution::Lognormal { mean, scv }),
        (mean(), 0.01..10.0).prop_map(|(low, more)| Distribution::Uniform { low, high: low * (1.0 + more) }),
        (0.4..10.0, mean()).prop_map(|(shape, mean)| Distribution::Weibull { shape, mean }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn waits_and_responses_of_mg1_hang_together(service in services(), load in 0.01..0.99f64) {
        let mean = service.mean();
        let queue = Mg1::new(load / mean, service).unwrap();
        let mut last = (f64::INFINITY, f64::INFINITY);
        for share in [0.999, 0.99, 0.9, 0.5] {
            let (wait, response) = (queue.wait_quantile(share).unwrap(), queue.response_quantile(share).unwrap());
            prop_assert!(wait <= last.0 && response <= last.1 && wait <= response * (1.0 + 1e-6));
            prop_assert!(wait <= queue.mean_wait() / (1.0 - share) && response >= 0.0);
            if wait > 0.0 {
                prop_assert!((queue.wait_survival(wait).unwrap() - (1.0 - share)).abs() < 1e-7);
            }
            last = (wait, response);
        }
        // In the system are those who came during a response: P(N > 0) = ρ, and the mean is the sum of the tail.
        prop_assert!((queue.number_survival(0).unwrap() / load - 1.0).abs() < 1e-9);
        prop_assert!((queue.mean_number() / load - 1.0 - queue.mean_wait() / mean).abs() < 1e-9 * queue.mean_number());
    }

    #[test]
    fn sigma_is_a_root_and_waits_follow(gaps in services(), load in 0.001..0.999_999f64) {
        let mu = 1.0 / (load * gaps.mean());
        let queue = GiM1::new(gaps.clone(), mu).unwrap();
        let sigma = queue.wait_probability();
        prop_assert!(sigma > 0.0 && sigma < 1.0);
        let back = gaps.transform_real(mu * (1.0 - sigma)).unwrap();
        prop_assert!((back / sigma - 1.0).abs() < 1e-9, "{sigma} {back}");
        // Little's law over time: Σ P(N > n) = λW.
        let number = queue.utilization() * queue.mean_response() * mu;
        prop_assert!((number / (queue.mean_response() / gaps.mean()) - 1.0).abs() < 1e-12);
        let wait = queue.wait_quantile(0.99).unwrap();
        prop_assert!(wait == 0.0 || (queue.wait_survival(wait) / 0.01 - 1.0).abs() < 1e-9);
    }
}

/// At a load of 0.1 nine in ten do not wait, and 1 − 0.9 is less than 0.1 in floating point.
#[test]
fn who_does_not_wait_waits_for_zero_exactly() {
    let asked: [(&str, &[(&str, &str)]); 8] = [
        ("mm1", &[("lambda", "1/s"), ("mu", "10/s")]),
        ("mmc", &[("lambda", "1/s"), ("mu", "10/s"), ("servers", "1")]),
        ("mm1k", &[("lambda", "1/s"), ("mu", "10/s"), ("capacity", "1000")]),
        ("mmck", &[("lambda", "1/s"), ("mu", "10/s"), ("servers", "1"), ("capacity", "1000")]),
        ("md1", &[("lambda", "1/s"), ("service", "100ms")]),
        ("mg1", &[("lambda", "1/s"), ("service", "exponential(100ms)")]),
        ("mg1", &[("lambda", "1/s"), ("service", "lognormal(100ms, 2)")]),
        ("gim1", &[("interarrival", "exponential(1)"), ("mu", "10/s")]),
    ];
    for (name, pairs) in asked {
        let model = catalogue::find(name).unwrap();
        let solution = model.solve(&model.given(pairs.iter().copied()).unwrap()).unwrap();
        assert_eq!(solution.get("wait.p90"), Some(0.0), "{name}");
        assert!(solution.get("wait.p99").unwrap() > 0.0, "{name}");
    }
}

/// Two waits are no further apart than as many residual services as are added up, ρ/(1 − ρ), each by half of E|S − m|/m.
#[test]
fn nearly_constant_services_make_nearly_md1() {
    let laws = [
        "uniform(0.999999999, 1.000000001)",
        "uniform(0.99, 1.01)",
        "lognormal(1, 0.000001)",
        "weibull(10000, 1)",
        "weibull(100, 1)",
        "erlang(10000, 1)",
    ];
    for load in [0.1, 0.5, 0.9] {
        let constant = Md1::new(load, 1.0).unwrap();
        for law in laws.map(read) {
            let queue = Mg1::new(load, law.clone()).unwrap();
            let apart = 1e-6 + load / (1.0 - load) * 0.5 * law.scv().sqrt();
            for t in [1e-9, 0.3, 0.9999, 1.0, 1.0001, 1.5, 2.0, 2.5, 7.0] {
                near(queue.wait_survival(t).unwrap(), constant.wait_survival(t), apart);
            }
            // A response is longer by a service, which moves its quantiles and not its probabilities.
            for t in [0.5, 1.5, 1.9, 2.1, 3.0, 7.0] {
                let slope = load + 5.0 * law.scv().sqrt();
                let found = queue.response_survival(t).unwrap();
                near(found, constant.response_survival(t), apart + slope * law.scv().sqrt());
            }
        }
    }
}

/// ∫ 2t P(W > t) dt by Simpson's rule, up to where nobody waits that long.
fn area_of_square(end: f64, survival: impl Fn(f64) -> f64) -> f64 {
    let steps = 4000;
    let width = end / f64::from(steps);
    let weighted = |i: u32| {
        let t = f64::from(i) * width;
        let weight = if i == 0 || i == steps { 1.0 } else { 2.0 + 2.0 * f64::from(i % 2) };
        weight * 2.0 * t * survival(t)
    };
    (0..=steps).map(weighted).sum::<f64>() * width / 3.0
}

/// E[W²] = ∫ 2t P(W > t) dt, of what the catalogue calls the second moment, and of the survival that it knows otherwise.
#[test]
fn second_moments_of_waits_are_those_of_their_survival() {
    let second = |name: &str, given: &[(&str, &str)]| {
        let model = catalogue::find(name).unwrap();
        let given = model.given(given.iter().copied()).unwrap();
        model.solve(&given).unwrap().get("wait.second-moment").unwrap()
    };
    let close = |found: f64, wanted: f64, share: f64| {
        assert!((found / wanted - 1.0).abs() < share, "{found} {wanted}")
    };
    let exponential = second("mg1", &[("lambda", "8"), ("service", "exponential(0.1)")]);
    for (name, given) in [
        ("mm1", &[("lambda", "8"), ("mu", "10")][..]),
        ("mmc", &[("lambda", "8"), ("mu", "10"), ("servers", "1")]),
    ] {
        close(second(name, given), exponential, 1e-12);
    }
    let constant = second("md1", &[("lambda", "8"), ("service", "0.1")]);
    close(constant, second("mg1", &[("lambda", "8"), ("service", "constant(0.1)")]), 1e-12);
    for service in ["exponential(0.1)", "gamma(0.5, 0.1)", "erlang(3, 0.1)"] {
        let queue = Mg1::new(8.0, read(service)).unwrap();
        let under = area_of_square(20.0, |t| queue.wait_survival(t).unwrap());
        close(second("mg1", &[("lambda", "8"), ("service", service)]), under, 1e-3);
    }
    for gap in ["exponential(0.125)", "erlang(4, 0.125)", "hyperexponential(0.9, 0.05, 0.1, 0.8)"] {
        let queue = GiM1::new(read(gap), 10.0).unwrap();
        let under = area_of_square(60.0, |t| queue.wait_survival(t));
        close(second("gim1", &[("interarrival", gap), ("mu", "10")]), under, 1e-5);
    }
    for (servers, capacity) in [("1", "2"), ("1", "16"), ("3", "12")] {
        let [c, k] = [servers, capacity].map(|text| text.parse().unwrap());
        let queue = Mmck::new(24.0, 10.0, c, k).unwrap();
        let under = area_of_square(8.0, |t| queue.wait_survival(t));
        let room = [("lambda", "24"), ("mu", "10"), ("capacity", capacity)];
        close(second("mmck", &[&room[..], &[("servers", servers)]].concat()), under, 1e-6);
        if c == 1 {
            close(second("mm1k", &room), under, 1e-6);
        }
    }
    let machines = FiniteSource::new(1.0, 10.0, 2, 30).unwrap();
    let under = area_of_square(8.0, |t| machines.wait_survival(t));
    let given = [("lambda", "1"), ("mu", "10"), ("servers", "2"), ("population", "30")];
    close(second("finite-source", &given), under, 1e-6);
    // Two servers: C/(cμ − λ) once, twice that squared over C.
    let two = Mmc::new(8.0, 5.0, 2).unwrap();
    let moment = second("mmc", &[("lambda", "8"), ("mu", "5"), ("servers", "2")]);
    close(moment, 2.0 * two.mean_wait().powi(2) / two.wait_probability(), 1e-12);
}
