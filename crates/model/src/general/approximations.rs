//! G/G/c by means and variations alone: Kingman, Krämer and Langenbach-Belz, Allen and Cunneen.

use super::figures::Means;
use crate::card::{Family, Given, Kind, Model, Parameter};
use crate::markovian::Mmc;
use crate::{Result, Solution, Unit, check};

/// A queue known by its rates and by the squared coefficients of variation of gaps and services only.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TwoMoments {
    lambda: f64,
    mu: f64,
    arrivals: f64,
    services: f64,
    load: f64,
    /// 1 − ρ, rounded once.
    slack: f64,
}

impl TwoMoments {
    /// Arrivals per second, services per second, cv² of gaps, cv² of services; of one server.
    ///
    /// # Errors
    /// When a parameter is out of range, or customers arrive as fast as they are served or faster.
    pub fn new(lambda: f64, mu: f64, arrivals: f64, services: f64) -> Result<Self> {
        check::positive("lambda", lambda)?;
        check::positive("mu", mu)?;
        check::non_negative("ca2", arrivals)?;
        check::non_negative("cs2", services)?;
        let load = lambda / mu;
        check::stable("lambda", load, "give a lambda below mu")?;
        Ok(Self { lambda, mu, arrivals, services, load, slack: (mu - lambda) / mu })
    }

    /// Kingman's approximation of the mean wait, seconds: ρ/(1 − ρ) · (ca² + cs²)/2 · 1/μ. Exact for M/G/1.
    pub fn kingman(&self) -> f64 {
        self.load / self.slack * 0.5 * (self.arrivals + self.services) / self.mu
    }

    /// Kingman's upper bound of the mean wait in GI/G/1, seconds: λ(Var gap + Var service)/(2(1 − ρ)).
    pub fn kingman_bound(&self) -> f64 {
        0.5 * (self.arrivals / self.load + self.load * self.services) / self.slack / self.mu
    }

    /// Krämer and Langenbach-Belz's approximation of the mean wait, seconds: Kingman's times
    /// exp(−2(1 − ρ)(1 − ca²)²/(3ρ(ca² + cs²))) where ca² < 1, exp(−(1 − ρ)(ca² − 1)/(ca² + 4cs²)) elsewhere.
    pub fn kramer_langenbach_belz(&self) -> f64 {
        let Self { arrivals, services, load, slack, .. } = *self;
        // Neither gaps nor services vary: nobody waits. The factor goes to 0 as well.
        if arrivals + services == 0.0 {
            return 0.0;
        }
        let exponent = if arrivals < 1.0 {
            -2.0 * slack * (1.0 - arrivals).powi(2) / (3.0 * load * (arrivals + services))
        } else {
            -slack * (arrivals - 1.0) / (arrivals + 4.0 * services)
        };
        self.kingman() * exponent.exp()
    }

    fn solution(&self, wait: f64, bound: Option<f64>) -> Solution {
        let means = Means { lambda: self.lambda, service: 1.0 / self.mu, utilization: self.load, wait };
        let solution = means.solution(None, None);
        match bound {
            Some(bound) => solution.with("wait.bound", bound, Unit::Seconds),
            None => solution,
        }
    }
}

/// Allen and Cunneen's approximation of the mean wait in GI/G/c, seconds: that of M/M/c, C/(cμ − λ) with Erlang's C,
/// times (ca² + cs²)/2. Exact for M/M/c and M/G/1.
///
/// # Errors
/// When a parameter is out of range, or customers arrive as fast as all servers work or faster.
pub fn allen_cunneen(lambda: f64, mu: f64, servers: u64, arrivals: f64, services: f64) -> Result<f64> {
    check::non_negative("ca2", arrivals)?;
    check::non_negative("cs2", services)?;
    Ok(Mmc::new(lambda, mu, servers)?.mean_wait() * 0.5 * (arrivals + services))
}

const LAMBDA: Parameter =
    Parameter { name: "lambda", kind: Kind::Rate, means: "arrivals", default: None, example: "8000/s" };
const MU: Parameter = Parameter {
    name: "mu",
    kind: Kind::Rate,
    means: "services of one busy server",
    default: None,
    example: "10000/s",
};
const CA2: Parameter = Parameter {
    name: "ca2",
    kind: Kind::Number,
    means: "squared coefficient of variation of the gaps between arrivals",
    default: None,
    example: "0.5",
};
const CS2: Parameter = Parameter {
    name: "cs2",
    kind: Kind::Number,
    means: "squared coefficient of variation of the services",
    default: None,
    example: "2",
};
const ASSUMPTIONS: &str = "independent gaps of one distribution, independent services of one distribution; first come, first served; no limit on the queue";

/// In the catalogue.
pub(crate) const KINGMAN: Model = Model {
    name: "kingman",
    title: "G/G/1, Kingman",
    family: Family::General,
    summary: "one server, only rates and variations known: the heavy-traffic mean, and an upper bound",
    formula: "Wq ≈ ρ/(1 − ρ) · (ca² + cs²)/2 · 1/μ; Wq ≤ λ(Var gap + Var service)/(2(1 − ρ)) = (ca²/ρ + ρcs²)/(2(1 − ρ)) · 1/μ",
    assumptions: ASSUMPTIONS,
    source: "Kingman (1961), The single server queue in heavy traffic, and (1962), Some inequalities for the queue GI/G/1; Kleinrock (1976), Queueing Systems II, chapter 2",
    holds: "the mean: approximation, exact as ρ → 1 and for ca² = 1 (M/G/1); wait.bound: an upper bound for every GI/G/1",
    parameters: &[LAMBDA, MU, CA2, CS2],
    solve: |given| {
        let queue = two_moments(given)?;
        Ok(queue.solution(queue.kingman(), Some(queue.kingman_bound())))
    },
};

/// In the catalogue.
pub(crate) const KRAMER_LANGENBACH_BELZ: Model = Model {
    name: "kramer-langenbach-belz",
    title: "G/G/1, Krämer and Langenbach-Belz",
    family: Family::General,
    summary: "one server, only rates and variations known: Kingman's mean corrected for arrivals that are not Poisson",
    formula: "Wq ≈ ρ/(1 − ρ) · (ca² + cs²)/2 · 1/μ · g; g = exp(−2(1 − ρ)(1 − ca²)²/(3ρ(ca² + cs²))) for ca² < 1, exp(−(1 − ρ)(ca² − 1)/(ca² + 4cs²)) for ca² ≥ 1",
    assumptions: ASSUMPTIONS,
    source: "Krämer and Langenbach-Belz (1976), Approximate formulae for the delay in the queueing system GI/G/1, 8th International Teletraffic Congress, paper 235",
    holds: "approximation; exact for ca² = 1 (M/G/1) and as ρ → 1; for ca² > 1 two moments say little, errors of some ten percent are common",
    parameters: &[LAMBDA, MU, CA2, CS2],
    solve: |given| {
        let queue = two_moments(given)?;
        Ok(queue.solution(queue.kramer_langenbach_belz(), None))
    },
};

/// In the catalogue.
pub(crate) const ALLEN_CUNNEEN: Model = Model {
    name: "allen-cunneen",
    title: "G/G/c, Allen and Cunneen",
    family: Family::General,
    summary: "several servers on one queue, only rates and variations known",
    formula: "Wq ≈ C(c, λ/μ)/(cμ − λ) · (ca² + cs²)/2, C Erlang's chance to wait in M/M/c",
    assumptions: ASSUMPTIONS,
    source: "Allen (1990), Probability, Statistics, and Queueing Theory with Computer Science Applications, 2nd edition, chapter 5 (with Erlang's C itself, not its approximation by powers of ρ)",
    holds: "approximation; exact for M/M/c and for ca² = 1 with one server",
    parameters: &[
        Parameter { example: "30000/s", ..LAMBDA },
        MU,
        Parameter { name: "servers", kind: Kind::Count, means: "servers", default: None, example: "4" },
        CA2,
        CS2,
    ],
    solve: |given| {
        let (lambda, mu) = (given.rate("lambda")?, given.rate("mu")?);
        let servers = given.count("servers", 1, 1_000_000)?;
        let wait = allen_cunneen(lambda, mu, servers, given.number("ca2")?, given.number("cs2")?)?;
        let utilization = lambda / (servers as f64 * mu);
        Ok(Means { lambda, service: 1.0 / mu, utilization, wait }.solution(None, None))
    },
};

fn two_moments(given: &Given) -> Result<TwoMoments> {
    TwoMoments::new(given.rate("lambda")?, given.rate("mu")?, given.number("ca2")?, given.number("cs2")?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::general::{GiM1, Mg1};

    #[test]
    fn poisson_arrivals_make_them_exact() {
        let exact = Mg1::new(0.7, "erlang(4, 1)".parse().unwrap()).unwrap().mean_wait();
        let queue = TwoMoments::new(0.7, 1.0, 1.0, 0.25).unwrap();
        let allen = allen_cunneen(0.7, 1.0, 1, 1.0, 0.25).unwrap();
        for found in [queue.kingman(), queue.kramer_langenbach_belz(), allen] {
            assert!((found / exact - 1.0).abs() < 1e-12, "{found} {exact}");
        }
        let exact = Mmc::new(2.1, 1.0, 3).unwrap().mean_wait();
        assert!((allen_cunneen(2.1, 1.0, 3, 1.0, 1.0).unwrap() / exact - 1.0).abs() < 1e-12);
    }

    #[test]
    fn the_bound_is_above_and_the_correction_nearer() {
        for load in [0.3, 0.6, 0.9, 0.99] {
            for (gaps, cv2) in [("constant(1)", 0.0), ("erlang(3, 1)", 1.0 / 3.0), ("gamma(0.5, 1)", 2.0)] {
                let exact = GiM1::new(gaps.parse().unwrap(), 1.0 / load).unwrap().mean_wait();
                let queue = TwoMoments::new(1.0, 1.0 / load, cv2, 1.0).unwrap();
                assert!(queue.kingman_bound() > exact, "{load} {gaps}");
                let (plain, better) = (queue.kingman() / exact, queue.kramer_langenbach_belz() / exact);
                // Where arrivals vary more than Poisson's, the correction does not always help.
                let helps = (better - 1.0).abs() < (plain - 1.0).abs();
                assert!(helps || cv2 > 1.0, "{load} {gaps}: {plain} {better}");
            }
        }
    }

    #[test]
    fn a_clockwork_waits_for_nothing() {
        let clockwork = TwoMoments::new(0.9, 1.0, 0.0, 0.0).unwrap();
        assert_eq!((clockwork.kingman(), clockwork.kramer_langenbach_belz()), (0.0, 0.0));
        assert!(TwoMoments::new(1.0, 1.0, 1.0, 1.0).is_err());
        assert!(TwoMoments::new(0.5, 1.0, -1.0, 1.0).is_err());
        assert!(allen_cunneen(1.0, 2.0, 2, f64::NAN, 1.0).is_err());
    }
}
