//! M/M^\[a,b\]/1: one service takes several completions, as a handler empties a ring up to its budget.

use crate::card::{Family, Given, Kind, Model, Parameter};
use crate::interrupt::means::Means;
use crate::{ModelError, Result, Solution, Unit, check};

/// The largest number of customers in one service that is taken.
const LARGEST: u64 = 1_000_000;

/// One server that begins a service when at least `least` customers wait, takes at most `most` of them, and needs an
/// exponential time whatever their number (Neuts' general bulk service rule).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BulkService {
    lambda: f64,
    mu: f64,
    least: u64,
    most: u64,
    /// x = −ln r, r the root of μz^(b+1) − (λ + μ)z + λ = 0 between 0 and 1.
    decay: f64,
}

impl BulkService {
    /// Arrivals and services per second; limits of one service, 1 ≤ `least` ≤ `most` ≤ 10⁶.
    ///
    /// # Errors
    /// When a parameter is not usable, or customers come as fast as full services could take them.
    pub fn new(lambda: f64, mu: f64, least: u64, most: u64) -> Result<Self> {
        check::positive("lambda", lambda)?;
        check::positive("mu", mu)?;
        check::count("most", most, 1, LARGEST)?;
        check::count("least", least, 1, most)?;
        let capacity = most as f64;
        check::stable("lambda", lambda / (mu * capacity), "give a lambda below mu × most")?;
        // 1 − λ/(bμ) with one rounding before the division.
        let spare = mu.mul_add(capacity, -lambda) / (mu * capacity);
        check::stable("lambda", 1.0 - spare, "give a lambda below mu × most")?;
        let log_load = if spare < 0.5 { (-spare).ln_1p() } else { (lambda / (mu * capacity)).ln() };
        Ok(Self { lambda, mu, least, most, decay: decay(capacity, log_load)? })
    }

    /// Share of time that the server serves.
    pub fn utilization(&self) -> f64 {
        check::share_of_time(1.0 / self.per_busy(self.least))
    }

    /// Customers in one service, on average: λ over services per second.
    pub fn mean_batch(&self) -> f64 {
        self.lambda / (self.mu * self.utilization())
    }

    /// The means. Busy with n waiting: A rⁿ; idle with n < a waiting: A(μ/λ)(1 − r^(n+1))/(1 − r).
    pub fn means(&self) -> Means {
        let busy = self.utilization();
        let gain = self.mu / self.lambda;
        let gone = |n: u64| -(-self.decay * n as f64).exp_m1();
        // Waiting while busy: r/(1 − r) each time; while idle: n(1 − r^(n+1)) summed over n < a.
        let while_idle: f64 = (1..self.least).map(|n| n as f64 * gone(n + 1)).sum();
        let queue = busy * (1.0 / self.decay.exp_m1() + gain * while_idle);
        let wait = queue / self.lambda;
        let response = wait + 1.0 / self.mu;
        Means {
            utilization: busy,
            idle: busy * gain * gone(1),
            throughput: self.lambda,
            number: self.lambda * response,
            queue,
            wait,
            response,
            // All but those who find the server idle with one less than it waits for.
            wait_probability: busy * self.per_busy(self.least - 1),
        }
    }

    /// Share of time that the server is busy, or idle with fewer than `n` waiting, as a multiple of the busy share:
    /// 1 + (μ/λ)Σ(1 − r^k), k = 1 … n.
    fn per_busy(&self, n: u64) -> f64 {
        if n == 0 {
            return 1.0;
        }
        let n = n as f64;
        1.0 - self.mu / self.lambda * n * log_mean_power(n, self.decay).exp_m1()
    }
}

/// The x > 0 with (e^−x + e^−2x + … + e^−bx)/b = λ/(bμ), whose logarithm is given: the characteristic equation
/// without its root at 1, on a scale where neither a load near 1 nor one near 0 cancels.
fn decay(b: f64, log_load: f64) -> Result<f64> {
    let (mut low, mut high) = (1e-40_f64, 100.0_f64);
    for _ in 0..300 {
        let middle = if high / low > 2.0 { (low * high).sqrt() } else { 0.5 * (low + high) };
        if middle <= low || middle >= high {
            return Ok(middle);
        }
        if log_mean_power(b, middle) > log_load {
            low = middle;
        } else {
            high = middle;
        }
    }
    Err(ModelError::Numerical { method: "bulk service", reason: "the root was not found".into() })
}

/// ln((e^−x + … + e^−bx)/b), to full relative precision also where it is nearly 0.
fn log_mean_power(b: f64, x: f64) -> f64 {
    if b * x > 0.25 {
        return -x + (-(-b * x).exp_m1()).ln() - (-(-x).exp_m1()).ln() - b.ln();
    }
    -0.5 * x * (b + 1.0) + log_sinh_ratio(0.5 * b * x) - log_sinh_ratio(0.5 * x)
}

/// ln(sinh(y)/y) for y ≤ ⅛, by its series.
fn log_sinh_ratio(y: f64) -> f64 {
    let square = y * y;
    let terms =
        [1.0 / 6.0, -1.0 / 180.0, 1.0 / 2835.0, -1.0 / 37_800.0, 1.0 / 467_775.0, -691.0 / 3_831_077_250.0];
    terms.iter().rev().fold(0.0, |sum, term| (sum + term) * square)
}

/// In the catalogue.
pub(crate) const MODEL: Model = Model {
    name: "bulk-service",
    title: "M/M^[a,b]/1",
    family: Family::Interrupts,
    summary: "one service takes several customers: at least a, at most b",
    formula: "r + r² + … + r^b = λ/μ, 0 < r < 1; P(busy, n wait) = A rⁿ; P(idle, n wait) = A(μ/λ)(1 − r^(n+1))/(1 − r), n < a",
    assumptions: "Poisson arrivals; a service takes an exponential time whatever the number in it; who comes during a service waits for the next; no limit on the queue",
    source: "Neuts (1967), A general class of bulk queues with Poisson input; Medhi (2003), Stochastic Models in Queueing Theory, 2nd edition, chapter 4",
    holds: "exact for λ < bμ",
    parameters: &[
        Parameter { name: "lambda", kind: Kind::Rate, means: "arrivals", default: None, example: "20000/s" },
        Parameter {
            name: "mu",
            kind: Kind::Rate,
            means: "services of a busy server, each of a whole batch",
            default: None,
            example: "4000/s",
        },
        Parameter {
            name: "least",
            kind: Kind::Count,
            means: "customers for which a service begins",
            default: Some("1"),
            example: "2",
        },
        Parameter {
            name: "most",
            kind: Kind::Count,
            means: "customers that one service takes",
            default: None,
            example: "8",
        },
    ],
    solve,
};

fn solve(given: &Given) -> Result<Solution> {
    let most = given.count("most", 1, LARGEST)?;
    let queue =
        BulkService::new(given.rate("lambda")?, given.rate("mu")?, given.count("least", 1, most)?, most)?;
    Ok(queue.means().solution().with("batch.mean", queue.mean_batch(), Unit::Count))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interrupt::trials::stationary;

    fn close(got: f64, want: f64, tolerance: f64) {
        assert!((got / want - 1.0).abs() <= tolerance, "{got} for {want}");
    }

    #[test]
    fn agrees_with_the_chain() {
        for (lambda, least, most) in [(0.4, 1, 1), (2.0, 1, 4), (2.5, 3, 4), (0.1, 4, 4), (1.7, 2, 5)] {
            // States: idle with n < a waiting, then busy with n waiting, cut off where nearly nobody gets.
            let top = 300;
            let law = stationary(least + top, |from, flow| {
                if from < least {
                    flow(if from + 1 == least { least } else { from + 1 }, lambda);
                    return;
                }
                let waiting = from - least;
                if waiting + 1 < top {
                    flow(from + 1, lambda);
                }
                let next = if waiting < least { waiting } else { least + waiting - waiting.min(most) };
                flow(next, 1.0);
            });
            let queue = BulkService::new(lambda, 1.0, least as u64, most as u64).unwrap();
            let waiting = |i: usize| if i < least { i } else { i - least } as f64;
            let means = queue.means();
            close(means.utilization, law[least..].iter().sum(), 1e-10);
            close(means.idle, law[0], 1e-10);
            close(means.queue, law.iter().enumerate().map(|(i, p)| waiting(i) * p).sum(), 1e-10);
            close(means.wait_probability, 1.0 - law[least - 1], 1e-10);
        }
    }

    #[test]
    fn one_at_a_time_it_is_mm1() {
        let means = BulkService::new(0.8, 1.0, 1, 1).unwrap().means();
        close(means.wait, 4.0, 1e-13);
        close(means.wait_probability, 0.8, 1e-13);
        close(means.idle, 0.2, 1e-13);
    }

    #[test]
    fn keeps_its_precision_at_the_edges() {
        // Near saturation with b = 1 it is M/M/1, which is exact: W = ρ/(μ − λ).
        let lambda = 1.0 - 2f64.powi(-30);
        close(BulkService::new(lambda, 1.0, 1, 1).unwrap().means().wait, lambda * 2f64.powi(30), 1e-12);
        // With b = 2 the equation is r² + r = θ: θ = 2 − ε has r = (√(9 − 4ε) − 1)/2, so 1 − r = ε/3 + ε²/27 + ….
        let e = 2f64.powi(-30);
        let r = (-BulkService::new(2.0 - e, 1.0, 1, 2).unwrap().decay).exp_m1();
        close(-r, e / 3.0 + e * e / 27.0, 1e-14);
        // Nearly no load: r is θ.
        close((-BulkService::new(1e-12, 1.0, 1, 1000).unwrap().decay).exp(), 1e-12, 1e-11);
        close(BulkService::new(1e-15, 1e15, 1, 5).unwrap().means().response, 1e-15, 1e-12);
        // A full million at a time: waits about half of the time that a million needs to come.
        let million = BulkService::new(1.0, 1e15, 1_000_000, 1_000_000).unwrap().means();
        close(million.wait, 0.5 * 999_999.0, 1e-12);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        assert!(BulkService::new(8.0, 1.0, 1, 8).is_err());
        assert!(BulkService::new(1.0, 1.0, 9, 8).is_err());
        assert!(BulkService::new(1.0, 1.0, 0, 8).is_err());
        assert!(BulkService::new(f64::NAN, 1.0, 1, 8).is_err());
    }
}
