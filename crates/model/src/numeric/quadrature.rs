//! Integrals of smooth complex functions over an interval, to a stated error.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use num_complex::Complex64;

use crate::{ModelError, Result};

/// Positive nodes of Kronrod's rule of 21 points, its weights there, and the weights of Gauss' rule of 10 points that it
/// contains (0 where that has no node). Kronrod (1965), computed anew from Stieltjes' polynomial.
const RULE: [(f64, f64, f64); 10] = [
    (0.148_874_338_981_631_21, 0.147_739_104_901_338_49, 0.295_524_224_714_752_87),
    (0.294_392_862_701_460_2, 0.142_775_938_577_060_08, 0.0),
    (0.433_395_394_129_247_2, 0.134_709_217_311_473_3, 0.269_266_719_309_996_36),
    (0.562_757_134_668_604_7, 0.123_491_976_262_065_85, 0.0),
    (0.679_409_568_299_024_4, 0.109_387_158_802_297_64, 0.219_086_362_515_982_04),
    (0.780_817_726_586_416_9, 0.093_125_454_583_697_6, 0.0),
    (0.865_063_366_688_984_5, 0.075_039_674_810_919_95, 0.149_451_349_150_580_6),
    (0.930_157_491_355_708_2, 0.054_755_896_574_352, 0.0),
    (0.973_906_528_517_171_7, 0.032_558_162_307_964_73, 0.066_671_344_308_688_14),
    (0.995_657_163_025_808_1, 0.011_694_638_867_371_874, 0.0),
];

/// Kronrod's weight of the middle.
const MIDDLE: f64 = 0.149_445_554_002_916_9;

/// Intervals in all before it gives up.
const MOST: usize = 4000;

/// One interval with its share of the integral.
struct Part {
    low: f64,
    high: f64,
    value: Complex64,
    size: f64,
    error: f64,
}

impl Part {
    fn new(function: &impl Fn(f64) -> Complex64, low: f64, high: f64) -> Self {
        let (middle, half) = (0.5 * (low + high), 0.5 * (high - low));
        let centre = function(middle);
        let mut fine = centre * MIDDLE;
        let mut coarse = Complex64::ZERO;
        let mut size = centre.norm() * MIDDLE;
        for (node, kronrod, gauss) in RULE {
            let (left, right) = (function(middle - half * node), function(middle + half * node));
            fine += (left + right) * kronrod;
            coarse += (left + right) * gauss;
            size += (left.norm() + right.norm()) * kronrod;
        }
        let apart = (fine - coarse).norm() / size;
        let error = size * half * (200.0 * apart).powf(1.5).min(apart);
        Part {
            low,
            high,
            value: fine * half,
            size: size * half,
            error: if size == 0.0 { 0.0 } else { error },
        }
    }
}

impl PartialEq for Part {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Part {}

impl PartialOrd for Part {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Part {
    fn cmp(&self, other: &Self) -> Ordering {
        self.error.total_cmp(&other.error)
    }
}

/// Nodes of the trapezium rule before the adaptive rule takes over.
const MOST_NODES: usize = 2500;

/// ∫ over the real line of a function that is analytic around it and negligible outside [`low`, `high`], to an error of
/// 1e-13 of the integral of its absolute value, or of `least`.
///
/// The trapezium rule, whose error e^(−2πd/h) is squared when the step h is halved: so steps that differ by 1e-8 from
/// their halves are enough (Trefethen and Weideman 2014, SIAM Review 56(3), section 5). Where that takes too many nodes,
/// for a steep or fast function, [`integral`].
///
/// # Errors
/// Those of [`integral`].
pub(crate) fn along_line(
    function: impl Fn(f64) -> Complex64,
    low: f64,
    high: f64,
    step: f64,
    least: f64,
) -> Result<Complex64> {
    let mut count = ((high - low) / step).ceil() as usize;
    let mut step = (high - low) / count as f64;
    let sum = |first: f64, step: f64, count: usize| {
        (0..count).fold((Complex64::ZERO, 0.0), |(sum, size), i| {
            let value = function(first + step * i as f64);
            (sum + value, size + value.norm())
        })
    };
    let (mut total, mut size) = sum(low, step, count + 1);
    while 2 * count < MOST_NODES {
        let (between, more) = sum(low + 0.5 * step, step, count);
        let apart = (total - between).norm() * step;
        (total, size) = (total + between, size + more);
        step *= 0.5;
        count *= 2;
        if apart <= (1e-8 * size * step).max(least) {
            return Ok(total * step);
        }
    }
    integral(function, low, high, ((high - low) / 4.0).ceil() as u32, least)
}

/// ∫ `function` over [`low`, `high`], to an error of 1e-13 of the integral of its absolute value, or of `least`.
/// `panels` is how many equal parts it starts with: enough that nothing hides between the nodes.
///
/// Halves the parts of the largest errors until the sum of errors is small enough. A part's error is taken from the
/// difference d of Kronrod's and Gauss' rules, in units of the integral of the absolute value: min(d, (200 d)^1.5), as
/// QUADPACK (Piessens and others 1983) does, for d is the error of Gauss' rule and Kronrod's is far
/// smaller.
///
/// # Errors
/// When 4000 parts are not enough, or the function is not finite somewhere.
pub(crate) fn integral(
    function: impl Fn(f64) -> Complex64,
    low: f64,
    high: f64,
    panels: u32,
    least: f64,
) -> Result<Complex64> {
    let width = (high - low) / f64::from(panels);
    let edge = |i: u32| if i == panels { high } else { low + width * f64::from(i) };
    let mut parts: BinaryHeap<Part> =
        (0..panels).map(|i| Part::new(&function, edge(i), edge(i + 1))).collect();
    loop {
        let error: f64 = parts.iter().map(|part| part.error).sum();
        let size: f64 = parts.iter().map(|part| part.size).sum();
        let most = least.max(1e-13 * size);
        if error <= most {
            return Ok(parts.iter().map(|part| part.value).sum());
        }
        let failed = |reason: &str| ModelError::Numerical { method: "quadrature", reason: reason.into() };
        if !error.is_finite() {
            return Err(failed("the integrand left the range of floating point"));
        }
        if parts.len() >= MOST {
            return Err(failed("4000 intervals were not enough"));
        }
        // Halves all parts that err by more than their share, so that the sums above are few.
        let share = 0.5 * most / parts.len() as f64;
        let mut halves = Vec::new();
        while let Some(part) = parts.peek()
            && part.error > share
            && parts.len() + halves.len() < MOST
        {
            let Some(Part { low, high, .. }) = parts.pop() else { break };
            let middle = 0.5 * (low + high);
            halves.push(Part::new(&function, low, middle));
            halves.push(Part::new(&function, middle, high));
        }
        parts.extend(halves);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_integrals() {
        let gauss =
            integral(|x| Complex64::new(0.0, x).exp() * (-0.5 * x * x).exp(), -12.0, 12.0, 8, 0.0).unwrap();
        assert!((gauss - (std::f64::consts::TAU).sqrt() * (-0.5f64).exp()).norm() < 1e-13);
        let step = integral(|x| Complex64::new((-(100.0 * x).exp()).exp(), 0.0), -2.0, 1.0, 4, 0.0).unwrap();
        // ∫ exp(−e^(100x)) from −2 to ∞ is E₁(e^−200)/100 = (200 − γ)/100.
        assert!((step.re - (2.0 - 0.577_215_664_901_532_9 / 100.0)).abs() < 1e-12);
    }

    #[test]
    fn along_a_line() {
        let gauss = |x: f64| Complex64::new(0.0, x).exp() * (-0.5 * x * x).exp();
        let exact = (std::f64::consts::TAU).sqrt() * (-0.5f64).exp();
        assert!((along_line(gauss, -9.5, 9.5, 0.5, 0.0).unwrap() - exact).norm() < 1e-14);
        // ∫ exp(x − e^x − a e^(x/k)) dx at k = 0.05 is steeper than the trapezium rule can do: E[e^(−aV^20)].
        let steep = |x: f64| Complex64::new((x - x.exp() - (20.0 * x).exp()).exp(), 0.0);
        let found = along_line(steep, -40.0, 4.0, 0.25, 0.0).unwrap();
        let exact = integral(|v| Complex64::new((-v - v.powi(20)).exp(), 0.0), 0.0, 2.0, 8, 0.0).unwrap();
        assert!((found - exact).norm() < 1e-13);
    }

    #[test]
    fn what_does_not_converge_is_told() {
        assert!(integral(|x| Complex64::new((1e9 * x).sin(), 0.0), 0.0, 1.0, 4, 0.0).is_err());
        assert!(integral(|x| Complex64::new(1.0 / x, 0.0), -1.0, 1.0, 2, 0.0).is_err());
    }
}
