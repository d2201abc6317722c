//! Where the likelihood of a family with a shape is greatest.

use statrs::function::gamma::{digamma, ln_gamma};

use crate::Distribution;

/// The shape of a gamma whose `gap`, the logarithm of the mean less the mean of the logarithms, is this one.
///
/// Solves ln k − ψ(k) = gap (Johnson, Kotz and Balakrishnan 1994, "Continuous Univariate Distributions" 1, section
/// 17.7.2), by secants of its logarithm against ln k, which is nearly a straight line; the start is Minka's (2002),
/// "Estimating a Gamma distribution", equation 11.
pub(super) fn gamma_shape(gap: f64) -> Result<f64, String> {
    if gap.is_nan() || gap <= 1e-9 {
        return Err("the values hardly differ".into());
    }
    let off = |log_shape: f64| {
        let shape = log_shape.exp();
        ((shape.ln() - digamma(shape)) / gap).ln()
    };
    let start = (3.0 - gap + ((gap - 3.0).powi(2) + 24.0 * gap).sqrt()) / (12.0 * gap);
    let (mut at, mut off_at) = (start.ln(), off(start.ln()));
    let mut next = at + off_at;
    for _ in 0..50 {
        let off_next = off(next);
        if off_next.abs() < 1e-13 || (next - at).abs() < 1e-14 {
            break;
        }
        let slope = ((off_next - off_at) / (next - at)).clamp(-2.0, -0.5);
        (at, off_at) = (next, off_next);
        next -= off_next / slope;
    }
    let shape = next.exp();
    if shape.is_finite() { Ok(shape) } else { Err("no shape is likeliest".into()) }
}

/// The whole shape of greatest likelihood: one of the two beside the gamma's, as the likelihood has a single summit.
pub(super) fn erlang_shape(gap: f64) -> Result<u32, String> {
    let shape = gamma_shape(gap)?;
    // Per value, without what does not depend on the shape: k ln k − ln Γ(k) − k(1 + gap).
    let likelihood = |k: f64| k * k.ln() - ln_gamma(k) - k * (1.0 + gap);
    let below = shape.floor().clamp(1.0, 10_000.0);
    let above = (below + 1.0).min(10_000.0);
    Ok(if likelihood(above) > likelihood(below) { above as u32 } else { below as u32 })
}

/// Shape and scale of a Weibull: the root of Σ xᶜ ln x / Σ xᶜ − 1/c = mean of ln x (Johnson, Kotz and Balakrishnan
/// 1994, section 21.4.1), by Newton's method, which cannot leave the side where it falls towards the root.
pub(super) fn weibull_shape(values: &[f64], mean_logarithm: f64) -> Result<(f64, f64), String> {
    let centred: Vec<f64> = values.iter().map(|x| x.ln() - mean_logarithm).collect();
    let most = centred.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let n = values.len() as f64;
    let spread = (centred.iter().map(|z| z * z).sum::<f64>() / n).sqrt();
    if spread.is_nan() || spread <= 1e-9 {
        return Err("the values hardly differ".into());
    }
    // Logarithms of a Weibull have the standard deviation π/(√6 c).
    let mut shape = std::f64::consts::PI / (6.0_f64.sqrt() * spread);
    let mut weights = 0.0;
    for _ in 0..100 {
        let (mut first, mut second) = (0.0, 0.0);
        weights = 0.0;
        for z in &centred {
            let weight = (shape * (z - most)).exp();
            weights += weight;
            first += weight * z;
            second += weight * z * z;
        }
        let mean = first / weights;
        let variance = (second / weights - mean * mean).max(0.0);
        // In 1/c the equation is nearly linear.
        let step = (mean - 1.0 / shape) / (variance * shape * shape + 1.0);
        let inverse = (1.0 / shape + step).max(0.1 / shape);
        let moved = (inverse * shape - 1.0).abs();
        shape = 1.0 / inverse;
        if moved < 1e-10 {
            break;
        }
    }
    let log_scale = mean_logarithm + most + (weights / n).ln() / shape;
    Ok((shape, log_scale.exp()))
}

/// What is looked for in a hyperexponential: the logit of the first branch's probability, and the logarithms of the
/// branches' means.
type Branches = [f64; 3];

/// Two exponential branches by expectation and maximisation (Dempster, Laird and Rubin 1977, JRSS B 39:1; section 4.3
/// for mixtures), accelerated by squared extrapolation (Varadhan and Roland 2008, Scand. J. Statist. 35:335, scheme S3)
/// wherever that does not lose likelihood.
///
/// Starts at the two branches of balanced means that have the mean and cv² of the values (Whitt 1982, Operations
/// Research 30:125). Stops when a round gains less than 1e-5 of log-likelihood.
pub(super) fn hyperexponential(values: &[f64], mean: f64) -> Result<Distribution, String> {
    let n = values.len() as f64;
    let scv = values.iter().map(|x| (x / mean - 1.0).powi(2)).sum::<f64>() / n;
    if scv <= 1.0 {
        return Ok(Distribution::Hyperexponential { branches: vec![(1.0, mean)] });
    }
    let balanced = ((scv - 1.0) / (scv + 1.0)).sqrt();
    let first = 0.5 * (1.0 + balanced);
    let mut at: Branches = [logit(first), (0.5 / first).ln(), (0.5 / (1.0 - first)).ln()];
    let mut likelihood = f64::NEG_INFINITY;
    for _ in 0..500 {
        let (once, before) = round(values, mean, at);
        let (twice, _) = round(values, mean, once);
        let step: Branches = std::array::from_fn(|i| once[i] - at[i]);
        let bend: Branches = std::array::from_fn(|i| twice[i] - once[i] - step[i]);
        let length = |v: &Branches| v.iter().map(|x| x * x).sum::<f64>().sqrt();
        let stride = (length(&step) / length(&bend)).clamp(1.0, 64.0);
        let far: Branches =
            std::array::from_fn(|i| at[i] + 2.0 * stride * step[i] + stride * stride * bend[i]);
        let (beyond, reached) = round(values, mean, far);
        // A round of a place that is likelier than before is likelier still; two plain rounds always are.
        at = if reached.is_finite() && reached >= before { beyond } else { twice };
        if before - likelihood < 1e-5 {
            break;
        }
        likelihood = before;
    }
    let first = 1.0 / (1.0 + (-at[0]).exp());
    let branches = vec![(first, at[1].exp() * mean), (1.0 - first, at[2].exp() * mean)];
    if !branches.iter().all(|(p, m)| p.is_finite() && m.is_finite()) {
        return Err("no two branches are likeliest".into());
    }
    Ok(Distribution::Hyperexponential { branches })
}

fn logit(p: f64) -> f64 {
    (p / (1.0 - p)).ln()
}

/// One round of expectation and maximisation, and the log-likelihood of the place that it began at; values and means
/// are in units of `unit`.
fn round(values: &[f64], unit: f64, at: Branches) -> (Branches, f64) {
    let first = 1.0 / (1.0 + (-at[0]).exp());
    let rates = [(-at[1]).exp(), (-at[2]).exp()];
    let heights = [first * rates[0] / unit, (1.0 - first) * rates[1] / unit];
    let slopes = [rates[0] / unit, rates[1] / unit];
    let (mut likelihood, mut belongs, mut its_sum, mut sum) = (0.0, 0.0, 0.0, 0.0);
    for x in values {
        let one = heights[0] * (-slopes[0] * x).exp();
        let other = heights[1] * (-slopes[1] * x).exp();
        let density = one + other;
        likelihood += density.ln();
        let share = if density > 0.0 { one / density } else { 0.5 };
        belongs += share;
        its_sum += share * x;
        sum += x;
    }
    let n = values.len() as f64;
    // A branch that nothing belongs to keeps a trace of probability, so that logarithms stay finite.
    let share = (belongs / n).clamp(1e-12, 1.0 - 1e-12);
    let means = [its_sum / (share * n) / unit, (sum - its_sum) / ((1.0 - share) * n) / unit];
    let log = |m: f64| m.clamp(1e-12, 1e12).ln();
    ([logit(share), log(means[0]), log(means[1])], likelihood)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gammas_shape_solves_its_equation() {
        for shape in [0.011, 0.1, 0.5, 1.0, 2.5, 40.0, 9_000.0_f64] {
            let found = gamma_shape(shape.ln() - digamma(shape)).unwrap();
            assert!((found / shape - 1.0).abs() < 1e-9, "{shape} {found}");
        }
        assert!(gamma_shape(0.0).is_err() && gamma_shape(f64::NAN).is_err());
    }

    #[test]
    fn an_erlangs_shape_is_whole() {
        for shape in [1.0, 2.0, 4.0, 100.0_f64] {
            assert_eq!(erlang_shape(shape.ln() - digamma(shape)).unwrap(), shape as u32);
        }
    }

    #[test]
    fn a_weibulls_shape_solves_its_equation() {
        for power in [0.2, 0.7, 1.0, 3.0, 50.0] {
            // Quantiles of a Weibull of that shape and scale 2.
            let values: Vec<f64> =
                (1..400).map(|i| 2.0 * (-(f64::from(i) / 400.0).ln()).powf(1.0 / power)).collect();
            let mean_logarithm = values.iter().map(|x| x.ln()).sum::<f64>() / values.len() as f64;
            let (shape, scale) = weibull_shape(&values, mean_logarithm).unwrap();
            let (sum, weighted) = values.iter().fold((0.0, 0.0), |(s, w), x| {
                let power = (x / scale).powf(shape);
                (s + power, w + power * x.ln())
            });
            assert!((weighted / sum - 1.0 / shape - mean_logarithm).abs() < 1e-8 / shape, "{power}");
            assert!((sum / values.len() as f64 - 1.0).abs() < 1e-8);
            assert!((shape / power - 1.0).abs() < 0.03, "{power} {shape}");
        }
    }

    #[test]
    fn two_branches_are_found_again() {
        // Quantiles of two branches, mixed.
        let branch = |mean: f64, count: u32| {
            (0..count).map(move |i| -mean * ((f64::from(i) + 0.5) / f64::from(count)).ln())
        };
        let values: Vec<f64> = branch(1.0, 9_000).chain(branch(20.0, 1_000)).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let Distribution::Hyperexponential { branches } = hyperexponential(&values, mean).unwrap() else {
            panic!("another family");
        };
        assert!((branches[0].0 - 0.9).abs() < 0.005, "{branches:?}");
        assert!((branches[0].1 - 1.0).abs() < 0.01 && (branches[1].1 - 20.0).abs() < 0.5, "{branches:?}");
    }
}
