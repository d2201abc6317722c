//! Two variants, one cheap to begin and one cheap to go on: where they cost the same, and how well that is known.

use statrs::function::beta::inv_beta_reg;
use statrs::function::erf::erfc_inv;

use crate::card::{Family, Given, Kind, Model, Parameter};
use crate::{ModelError, Result, Solution, Unit, check};

/// Cost of a variant at size x: fixed + each·x, both estimated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// Cost at size 0.
    pub fixed: f64,
    /// Standard error of `fixed`.
    pub fixed_error: f64,
    /// Cost of each unit of size.
    pub each: f64,
    /// Standard error of `each`.
    pub each_error: f64,
    /// Covariance of the two, as a line fit gives it; 0 where they were measured apart.
    pub covariance: f64,
}

/// Two variants whose costs were measured independently.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Crossover {
    /// b₀ − a₀ and its variance.
    head_start: (f64, f64),
    /// a₁ − b₁ and its variance.
    catching_up: (f64, f64),
    covariance: f64,
}

/// The sizes at which the two may cost the same, at some confidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sizes {
    /// Between these.
    Between(f64, f64),
    /// Up to the first or from the second on: the slopes may be equal, so it may be at infinity.
    Outside(f64, f64),
    /// Anywhere: neither start nor slope tells the two apart.
    Anywhere,
    /// Nowhere: the slopes are known to be equal, and the starts to differ.
    Nowhere,
}

impl Crossover {
    /// Of variant `a` and variant `b`.
    ///
    /// # Errors
    /// When a number is not finite, an error is negative, or a covariance is larger than its errors allow.
    pub fn new(a: Line, b: Line) -> Result<Self> {
        for (name, line) in [("a", a), ("b", b)] {
            for (part, value) in [("fixed", line.fixed), ("each", line.each), ("covariance", line.covariance)]
            {
                if !value.is_finite() || value.abs() > check::LARGEST {
                    return Err(ModelError::parameter(
                        format!("{name}-{part}"),
                        format!("{value} is not usable"),
                        "give a value between -1e15 and 1e15",
                    ));
                }
            }
            check::non_negative(&format!("{name}-fixed-error"), line.fixed_error)?;
            check::non_negative(&format!("{name}-each-error"), line.each_error)?;
            if line.covariance.abs() > line.fixed_error * line.each_error * (1.0 + 1e-9) {
                return Err(ModelError::parameter(
                    format!("{name}-covariance"),
                    format!("{} is more than the errors allow", line.covariance),
                    "give the covariance of fixed and each, not their correlation",
                ));
            }
        }
        Ok(Self {
            head_start: (b.fixed - a.fixed, a.fixed_error.powi(2) + b.fixed_error.powi(2)),
            catching_up: (a.each - b.each, a.each_error.powi(2) + b.each_error.powi(2)),
            covariance: -(a.covariance + b.covariance),
        })
    }

    /// The size at which both cost the same: (b₀ − a₀)/(a₁ − b₁). Below 0 when one variant is the cheaper at all sizes.
    /// `None` when the slopes are equal: there is none, or they are the same throughout.
    pub fn size(&self) -> Option<f64> {
        let size = self.head_start.0 / self.catching_up.0;
        size.is_finite().then_some(size)
    }

    /// All sizes x for which b₀ − a₀ − (a₁ − b₁)x is within `deviations` of its standard errors of 0: Fieller's set.
    /// `deviations` is a quantile of Student's distribution, or of the normal one.
    ///
    /// # Errors
    /// When `deviations` is not usable.
    pub fn sizes(&self, deviations: f64) -> Result<Sizes> {
        let square = check::positive("deviations", deviations)?.powi(2);
        let ((n, n_variance), (d, d_variance)) = (self.head_start, self.catching_up);
        // ax² − 2bx + c ≤ 0.
        let a = d * d - square * d_variance;
        let b = n * d - square * self.covariance;
        let c = n * n - square * n_variance;
        // b² − ac without its cancellation: 0 where nothing has an error.
        let spread = n * n * d_variance - 2.0 * n * d * self.covariance + d * d * n_variance;
        let correlated = n_variance * d_variance - self.covariance * self.covariance;
        let discriminant = square * (spread - square * correlated);
        if a == 0.0 {
            // The slope's interval ends at 0: one end has gone to infinity.
            return Ok(match b {
                0.0 if c > 0.0 => Sizes::Nowhere,
                0.0 => Sizes::Anywhere,
                _ if b > 0.0 => Sizes::Outside(f64::NEG_INFINITY, 0.5 * c / b),
                _ => Sizes::Outside(0.5 * c / b, f64::INFINITY),
            });
        }
        if discriminant <= 0.0 {
            // Where the slopes are told apart the set holds the estimate at the least.
            return Ok(if a > 0.0 { Sizes::Between(b / a, b / a) } else { Sizes::Anywhere });
        }
        // The root that does not cancel, and the other one from their product c/a.
        let q = b + discriminant.sqrt().copysign(b);
        let (one, other) = (q / a, c / q);
        let (low, high) = (one.min(other), one.max(other));
        Ok(if a > 0.0 { Sizes::Between(low, high) } else { Sizes::Outside(low, high) })
    }
}

/// The t with P(|T| ≤ t) = `confidence` for Student's T; `None` degrees of freedom: the normal distribution.
///
/// Source: Abramowitz and Stegun (1964), 26.7.1 with 26.5.27.
pub(super) fn deviations(confidence: f64, freedom: Option<f64>) -> Result<f64> {
    let beyond = 1.0 - check::share("confidence", confidence)?;
    check::positive("confidence", confidence)?;
    check::positive("1 − confidence", beyond)?;
    Ok(match freedom {
        None => std::f64::consts::SQRT_2 * erfc_inv(beyond),
        Some(freedom) => {
            let x = inv_beta_reg(0.5 * freedom, 0.5, beyond);
            (freedom * (1.0 - x) / x).sqrt()
        }
    })
}

macro_rules! of_line {
    ($name:literal, $means:literal, $default:expr, $example:literal) => {
        Parameter { name: $name, kind: Kind::Number, means: $means, default: $default, example: $example }
    };
}

/// In the catalogue.
pub(crate) const MODEL: Model = Model {
    name: "crossover",
    title: "crossover of two variants",
    family: Family::Scaling,
    summary: "the size at which two variants cost the same, with its interval",
    formula: "x = (b₀ − a₀)/(a₁ − b₁); interval: all x with (b₀ − a₀ − (a₁ − b₁)x)² ≤ t²·variance",
    assumptions: "cost = fixed + each·x for both; estimates are normal, those of the two variants independent, and within one too unless the typed interface is told their covariance",
    source: "Fieller (1954), Some problems in interval estimation, Journal of the Royal Statistical Society B 16",
    holds: "exact for normal estimates; the interval may be unbounded (crossover.bounded 0): then an end that is not told is infinite, or, with both told, the sizes between them are the ones left out. A crossover below 0: one variant is the cheaper at all sizes",
    parameters: &[
        of_line!("a-fixed", "cost of variant a at size 0", None, "100"),
        of_line!("a-fixed-error", "its standard error", Some("0"), "5"),
        of_line!("a-each", "cost of variant a for each unit of size", None, "4"),
        of_line!("a-each-error", "its standard error", Some("0"), "0.1"),
        of_line!("b-fixed", "cost of variant b at size 0", None, "900"),
        of_line!("b-fixed-error", "its standard error", Some("0"), "20"),
        of_line!("b-each", "cost of variant b for each unit of size", None, "1"),
        of_line!("b-each-error", "its standard error", Some("0"), "0.05"),
        of_line!("confidence", "confidence of the interval", Some("0.95"), "0.95"),
        Parameter {
            name: "freedom",
            kind: Kind::Count,
            means: "degrees of freedom of the errors; 0: normal",
            default: Some("0"),
            example: "18",
        },
    ],
    solve,
};

fn solve(given: &Given) -> Result<Solution> {
    let line = |names: [&str; 4]| -> Result<Line> {
        Ok(Line {
            fixed: given.number(names[0])?,
            fixed_error: given.number(names[1])?,
            each: given.number(names[2])?,
            each_error: given.number(names[3])?,
            covariance: 0.0,
        })
    };
    let model = Crossover::new(
        line(["a-fixed", "a-fixed-error", "a-each", "a-each-error"])?,
        line(["b-fixed", "b-fixed-error", "b-each", "b-each-error"])?,
    )?;
    let freedom = Some(given.count("freedom", 0, 1_000_000)? as f64).filter(|freedom| *freedom > 0.0);
    let size = model.size().ok_or_else(|| {
        ModelError::parameter(
            "a-each",
            "both variants grow alike",
            "give slopes that differ: there is no crossover",
        )
    })?;
    let solution = Solution::new().with("crossover", size, Unit::AsGiven);
    let (bounded, ends) = match model.sizes(deviations(given.number("confidence")?, freedom)?)? {
        Sizes::Between(low, high) => (1.0, [low, high]),
        Sizes::Outside(low, high) => (0.0, [low, high]),
        Sizes::Anywhere | Sizes::Nowhere => (0.0, [f64::NEG_INFINITY, f64::INFINITY]),
    };
    let solution = solution.with("crossover.bounded", bounded, Unit::Share);
    Ok(["crossover.low", "crossover.high"]
        .into_iter()
        .zip(ends)
        .filter(|(_, end)| end.is_finite())
        .fold(solution, |solution, (name, end)| solution.with(name, end, Unit::AsGiven)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(got: f64, want: f64, tolerance: f64) {
        assert!((got - want).abs() <= tolerance * want.abs(), "{got} for {want}");
    }

    fn line(fixed: f64, fixed_error: f64, each: f64, each_error: f64) -> Line {
        Line { fixed, fixed_error, each, each_error, covariance: 0.0 }
    }

    #[test]
    fn without_errors_it_is_a_point() {
        let exact = Crossover::new(line(100.0, 0.0, 4.1, 0.0), line(900.0, 0.0, 0.8, 0.0)).unwrap();
        close(exact.size().unwrap(), 800.0 / 3.3, 1e-15);
        let Sizes::Between(low, high) = exact.sizes(1.96).unwrap() else { panic!("not bounded") };
        close(low, 800.0 / 3.3, 1e-14);
        close(high, 800.0 / 3.3, 1e-14);
        let parallel = Crossover::new(line(1.0, 0.0, 2.0, 0.0), line(2.0, 0.0, 2.0, 0.0)).unwrap();
        assert_eq!((parallel.size(), parallel.sizes(1.96).unwrap()), (None, Sizes::Nowhere));
    }

    #[test]
    fn each_end_is_just_within_what_the_errors_allow() {
        // At an end the difference of the costs is exactly t of its standard errors.
        let (a, b) = (line(100.0, 5.0, 4.0, 0.1), line(900.0, 20.0, 1.0, 0.05));
        let a = Line { covariance: -0.3, ..a };
        let model = Crossover::new(a, b).unwrap();
        let off = |x: f64| {
            let difference = (b.fixed - a.fixed) - (a.each - b.each) * x;
            let variance = a.fixed_error.powi(2)
                + b.fixed_error.powi(2)
                + 2.0 * x * (a.covariance + b.covariance)
                + x * x * (a.each_error.powi(2) + b.each_error.powi(2));
            difference.abs() / variance.sqrt()
        };
        let Sizes::Between(low, high) = model.sizes(1.96).unwrap() else { panic!("not bounded") };
        assert!(low < 800.0 / 3.0 && 800.0 / 3.0 < high);
        close(off(low), 1.96, 1e-12);
        close(off(high), 1.96, 1e-12);
        assert!(off(0.5 * (low + high)) < 1.96);
        // Slopes that may be equal: all but a stretch that leaves the estimate out.
        let vague = Crossover::new(Line { each_error: 2.0, ..a }, b).unwrap();
        let Sizes::Outside(low, high) = vague.sizes(1.96).unwrap() else { panic!("bounded") };
        assert!(low < high && high < 800.0 / 3.0);
        let vague_off = |x: f64| 1.96 - (800.0 - 3.0 * x).abs() / (425.0 - 0.6 * x + x * x * 4.0025).sqrt();
        assert!(vague_off(low).abs() < 1e-12 && vague_off(high).abs() < 1e-12);
        // Starts that may be equal as well: anywhere.
        let lost = Crossover::new(line(100.0, 500.0, 4.0, 2.0), line(900.0, 20.0, 1.0, 2.0)).unwrap();
        assert_eq!(lost.sizes(1.96).unwrap(), Sizes::Anywhere);
    }

    #[test]
    fn the_interval_covers_as_often_as_it_says() {
        // 20000 measurements with normal errors: 95 % within four standard errors of the share, 0.62 points.
        let mut state = 1_u64;
        let mut uniform = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
        };
        let mut normal = || (-2.0 * uniform().ln()).sqrt() * (std::f64::consts::TAU * uniform()).cos();
        let runs = 20_000;
        let covered = (0..runs)
            .filter(|_| {
                let a = line(100.0 + 5.0 * normal(), 5.0, 4.0 + 0.6 * normal(), 0.6);
                let b = line(900.0 + 20.0 * normal(), 20.0, 1.0 + 0.6 * normal(), 0.6);
                let x = 800.0 / 3.0;
                match Crossover::new(a, b).unwrap().sizes(deviations(0.95, None).unwrap()).unwrap() {
                    Sizes::Between(low, high) => (low..=high).contains(&x),
                    Sizes::Outside(low, high) => x <= low || high <= x,
                    Sizes::Anywhere => true,
                    Sizes::Nowhere => false,
                }
            })
            .count();
        assert!((covered as f64 / f64::from(runs) - 0.95).abs() < 0.0062, "{covered}");
    }

    #[test]
    fn quantiles_are_those_of_the_tables() {
        close(deviations(0.95, None).unwrap(), 1.959_963_984_540_054, 1e-12);
        close(deviations(0.95, Some(18.0)).unwrap(), 2.100_922_040_240_96, 1e-12);
        close(deviations(0.99, Some(1.0)).unwrap(), 63.656_741_162_871_58, 1e-12);
        assert!(deviations(1.0, None).is_err() && deviations(0.0, None).is_err());
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let good = line(1.0, 0.1, 2.0, 0.1);
        for bad in [
            line(f64::NAN, 0.1, 2.0, 0.1),
            line(1.0, -0.1, 2.0, 0.1),
            line(1.0, 0.1, f64::INFINITY, 0.1),
            Line { covariance: 0.5, ..good },
        ] {
            assert!(Crossover::new(good, bad).is_err(), "{bad:?}");
        }
    }
}
