//! Distribution functions, quantiles and transforms, held against identities and against mpmath.

use num_complex::Complex64;
use proptest::prelude::*;
use tollway_model::Distribution;

fn read(text: &str) -> Distribution {
    text.parse().unwrap()
}

fn complex(re: f64, im: f64) -> Complex64 {
    Complex64::new(re, im)
}

#[test]
fn transforms_without_a_closed_form_against_mpmath() {
    // mpmath at 30 digits: the trapezium rule over ln X along the real line, at two step sizes that agree to 17 digits.
    let known = [
        ("lognormal(1, 1)", (1.0, 20.0), (-0.011750889273015378, 0.01129375333308995)),
        ("lognormal(1, 100)", (0.1, 3.0), (0.6351366796983606, -0.250594479924415)),
        ("lognormal(1, 0.000001)", (11.0, 100.0), (1.4321960150261609e-5, 8.431263794347351e-6)),
        ("weibull(0.5, 1)", (1.0, 20.0), (0.1966325565071867, -0.1483315471946618)),
        ("weibull(10, 1)", (0.5, 5.0), (0.13712007095763382, 0.4861596766097959)),
    ];
    for (text, (re, im), (known_re, known_im)) in known {
        let found = read(text).transform(complex(re, im)).unwrap();
        assert!((found - complex(known_re, known_im)).norm() < 1e-13, "{text}: {found}");
    }
}

#[test]
fn relatives_agree() {
    let exponential = read("exponential(2)");
    for text in ["erlang(1, 2)", "gamma(1, 2)", "weibull(1, 2)", "hyperexponential(1, 2)"] {
        let other = read(text);
        for (re, im) in [(1e-6, 0.0), (0.3, 4.0), (20.0, 1.0), (0.0, 3.0)] {
            let s = complex(re, im);
            let difference = other.transform(s).unwrap() - exponential.transform(s).unwrap();
            assert!(difference.norm() < 1e-13, "{text} {s}: {difference}");
            let short = other.residual_shortfall(s).unwrap() / exponential.residual_shortfall(s).unwrap();
            assert!((short - 1.0).norm() < 1e-12, "{text} {s}: {short}");
        }
        for t in [1e-9, 0.5, 2.0, 60.0] {
            assert!((other.cdf(t) / exponential.cdf(t) - 1.0).abs() < 1e-12, "{text} {t}");
            assert!((other.survival(t) / exponential.survival(t) - 1.0).abs() < 1e-12, "{text} {t}");
        }
    }
}

#[test]
fn a_step_is_a_step() {
    let constant = read("constant(3)");
    assert_eq!((constant.cdf(2.9), constant.cdf(3.0), constant.survival(3.0)), (0.0, 1.0, 0.0));
    assert_eq!(constant.quantile(0.0).unwrap(), 3.0);
    assert_eq!(constant.quantile(0.999).unwrap(), 3.0);
}

#[test]
fn what_has_no_answer_is_an_error() {
    let d = read("exponential(1)");
    assert!(d.quantile(1.0).is_err() && d.quantile(-0.1).is_err() && d.quantile(f64::NAN).is_err());
    assert!(d.transform(complex(-1.0, 0.0)).is_err() && d.transform(complex(f64::NAN, 0.0)).is_err());
}

fn any() -> impl Strategy<Value = Distribution> {
    let mean = || (-6.0..6.0f64).prop_map(|x| 10f64.powf(x));
    let shape = || (-1.0..3.0f64).prop_map(|x| 10f64.powf(x));
    prop_oneof![
        mean().prop_map(|mean| Distribution::Exponential { mean }),
        mean().prop_map(|value| Distribution::Constant { value }),
        (1u32..5000, mean()).prop_map(|(shape, mean)| Distribution::Erlang { shape, mean }),
        (0.01..0.99, mean(), mean())
            .prop_map(|(p, a, b)| Distribution::Hyperexponential { branches: vec![(p, a), (1.0 - p, b)] }),
        (shape(), mean()).prop_map(|(shape, mean)| Distribution::Gamma { shape, mean }),
        (shape(), mean()).prop_map(|(scv, mean)| Distribution::Lognormal { mean, scv }),
        (mean(), 1e-3..10.0).prop_map(|(low, more)| Distribution::Uniform { low, high: low * (1.0 + more) }),
        (shape(), mean()).prop_map(|(shape, mean)| Distribution::Weibull { shape, mean }),
    ]
}

/// φ(s) = 1 − s m + s² m₂/2 − …, of which the third term is less than 10⁻¹⁹ here.
#[test]
fn a_weibull_of_a_small_argument_is_as_near_to_1_as_it_should_be() {
    let d = Distribution::Weibull { shape: 0.4689898908752139, mean: 1.0 };
    for s in [1e-8, 1.99e-8, 2.1113474319311414e-8, 1e-7] {
        let exact = 1.0 - s + s * s * d.moment(2) / 2.0;
        let transform = d.transform(complex(s, 0.0)).unwrap().re;
        assert!((transform - exact).abs() < 1e-14, "{s}: {transform} {exact}");
    }
}

proptest! {
    #[test]
    fn quantiles_are_where_the_distribution_function_says(d in any(), share in 0.001..0.999) {
        let t = d.quantile(share).unwrap();
        prop_assert!(d.cdf(t * (1.0 + 1e-9)) >= share * (1.0 - 1e-9), "{d} {share}: {t}");
        let below = d.cdf(t * (1.0 - 1e-9));
        prop_assert!(below <= share * (1.0 + 1e-9), "{d} {share}: {t}");
        prop_assert!((d.cdf(t) + d.survival(t) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn transforms_hang_together(d in any(), size in -8.0..3.0f64, angle in -1.57..1.57f64) {
        let s = Complex64::from_polar(10f64.powf(size) / d.mean(), angle);
        let transform = d.transform(s).unwrap();
        let residual = d.residual_transform(s).unwrap();
        let short = d.residual_shortfall(s).unwrap();
        prop_assert!(transform.norm() <= 1.0 + 1e-12, "{d} {s}: {transform}");
        prop_assert!((1.0 - transform - s * d.mean() * residual).norm() < 1e-11, "{d} {s}");
        prop_assert!((1.0 - residual - short).norm() < 1e-11, "{d} {s}");
        // Conjugate arguments have conjugate transforms.
        prop_assert!((d.transform(s.conj()).unwrap() - transform.conj()).norm() < 1e-12, "{d} {s}");
    }

    #[test]
    fn small_arguments_show_the_moments(d in any()) {
        // 1 − residual(s) = s m₂/(2m) − s² m₃/(6m) + …, an alternating series: within its second term.
        let s = 1e-4 * d.residual_mean() / (d.moment(3) / (3.0 * d.mean()));
        let short = d.residual_shortfall(complex(s, 0.0)).unwrap().re;
        let first = s * d.residual_mean();
        let second = s * s * d.moment(3) / (6.0 * d.mean());
        prop_assert!(short <= first * (1.0 + 1e-11), "{d}: {short}");
        prop_assert!(short >= (first - second) * (1.0 - 1e-11), "{d}: {short}");
        prop_assert!((d.residual_mean() / (d.moment(2) / (2.0 * d.mean())) - 1.0).abs() < 1e-11);
    }
}
