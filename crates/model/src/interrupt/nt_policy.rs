//! Interrupts held by count and timer, whichever is first: the server begins when so many customers wait, or the first
//! of them has waited so long.

use crate::card::{Family, Given, Model};
use crate::interrupt::means::{Load, Means};
use crate::interrupt::parameters::{COUNT, LAMBDA, MOST_HELD, SERVICE, TIMER};
use crate::interrupt::poisson::Poisson;
use crate::{Distribution, Result, Solution, Unit, check};

/// M/G/1 whose server sleeps when nobody is there. The first customer starts a timer; the server begins when it is
/// over, or with the `count`-th customer if that comes before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NtPolicy {
    load: Load,
    /// E\[m\], m = min(Poisson(λT), N − 1): customers that join the first one before the server begins.
    joined: f64,
    /// E\[m(m + 1)/2\].
    triangle: f64,
}

impl NtPolicy {
    /// `lambda` customers per second; `count` from 1 to 10⁶; `timer` in seconds, 0 for at once.
    ///
    /// # Errors
    /// When a parameter is not usable, or customers come as fast as they are served.
    pub fn new(lambda: f64, service: &Distribution, count: u64, timer: f64) -> Result<Self> {
        let load = Load::new(lambda, service)?;
        check::non_negative("timer", timer)?;
        let others = check::count("count", count, 1, MOST_HELD)? as f64 - 1.0;
        let came = Poisson::new(lambda * timer);
        Ok(Self { load, joined: came.capped_mean(others), triangle: came.capped_triangle(others) })
    }

    /// The means: W = λE\[S²\]/(2(1 − ρ)) + E\[m(m + 1)/2\]/(λ(1 + E\[m\])).
    pub fn means(&self) -> Means {
        let load = &self.load;
        let together = 1.0 + self.joined;
        let wait = load.pollaczek_khinchine() + self.triangle / together / load.lambda;
        // Where the first begins at once it is M/G/1; else all wait, also who wakes the server, for those before.
        let waits = if self.joined == 0.0 { load.utilization() } else { 1.0 };
        load.means(wait, load.spare() / together, waits)
    }

    /// How often the server is woken, per second: λ(1 − ρ)/(1 + E\[m\]).
    pub fn interrupt_rate(&self) -> f64 {
        self.load.lambda * self.load.spare() / (1.0 + self.joined)
    }

    /// Customers that are there when the server begins, on average.
    pub fn mean_batch(&self) -> f64 {
        1.0 + self.joined
    }
}

/// In the catalogue.
pub(crate) const MODEL: Model = Model {
    name: "nt-policy",
    title: "M/G/1, NT-policy",
    family: Family::Interrupts,
    summary: "the server is woken when so many customers wait or the first has waited so long",
    formula: "m = min(Poisson(λT), N − 1); W = λE[S²]/(2(1 − ρ)) + E[m(m + 1)/2]/(λ(1 + E[m])); interrupts λ(1 − ρ)/(1 + E[m]); π₀ = (1 − ρ)/(1 + E[m])",
    assumptions: "Poisson arrivals; independent services; first come, first served; no limit on the queue; being woken takes no time; the timer starts with the first customer who waits",
    source: "Fuhrmann and Cooper (1985), Stochastic decompositions in the M/G/1 queue with generalized vacations; the idle phase written out",
    holds: "exact for λE[S] < 1",
    parameters: &[LAMBDA, SERVICE, COUNT, TIMER],
    solve,
};

fn solve(given: &Given) -> Result<Solution> {
    let (lambda, service) = (given.rate("lambda")?, given.distribution("service")?);
    let count = given.count("count", 1, MOST_HELD)?;
    let queue = NtPolicy::new(lambda, &service, count, given.time("timer")?)?;
    Ok(queue.means().solution().with("interrupts.rate", queue.interrupt_rate(), Unit::PerSecond).with(
        "batch.mean",
        queue.mean_batch(),
        Unit::Count,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interrupt::trials::{Trial, stationary, woken};
    use crate::interrupt::{NPolicy, TPolicy, Waits};

    fn close(got: f64, want: f64, tolerance: f64) {
        assert!((got / want - 1.0).abs() <= tolerance, "{got} for {want}");
    }

    fn agree(means: Means, rate: f64, trial: &Trial) {
        trial.wait.holds(means.wait);
        trial.waited.holds(means.wait_probability);
        trial.idle.holds(means.idle);
        trial.counted.holds(rate);
    }

    #[test]
    fn count_agrees_with_its_chain() {
        // Asleep with 0 … N − 1, then awake with 1 … top, exponential services.
        let (lambda, n, top) = (0.6, 4_usize, 200);
        let law = stationary(n + top, |from, flow| {
            if from < n {
                flow(if from + 1 == n { n + n - 1 } else { from + 1 }, lambda);
            } else {
                let there = from - n + 1;
                if there < top {
                    flow(from + 1, lambda);
                }
                flow(if there == 1 { 0 } else { from - 1 }, 1.0);
            }
        });
        let queue = NPolicy::new(lambda, &Distribution::exponential(1.0).unwrap(), n as u64).unwrap();
        let number: f64 =
            law.iter().enumerate().map(|(i, p)| if i < n { i } else { i - n + 1 } as f64 * p).sum();
        close(queue.means().number, number, 1e-11);
        close(queue.means().idle, law[0], 1e-11);
        close(queue.interrupt_rate(), law[n - 1] * lambda, 1e-11);
    }

    #[test]
    fn count_timer_and_both_agree_with_trials() {
        let service: Distribution = "uniform(0.1, 1.1)".parse().unwrap();
        let (lambda, timer, count) = (1.0, 2.5, 4_usize);
        let uniform = |u: f64| 0.1 + u;
        let n = NPolicy::new(lambda, &service, count as u64).unwrap();
        let trial = woken(lambda, uniform, |_, arrivals, woken| {
            *woken += 1.0;
            arrivals.peek(count - 1)
        });
        agree(n.means(), n.interrupt_rate(), &trial);
        trial.distributed(|time| n.wait_survival(time).unwrap());
        let t = TPolicy::new(lambda, &service, timer).unwrap();
        let trial = woken(lambda, uniform, |_, arrivals, woken| {
            *woken += 1.0;
            arrivals.peek(0) + timer
        });
        agree(t.means(), t.interrupt_rate(), &trial);
        trial.distributed(|time| t.wait_survival(time).unwrap());
        let nt = NtPolicy::new(lambda, &service, count as u64, timer).unwrap();
        let trial = woken(lambda, uniform, |_, arrivals, woken| {
            *woken += 1.0;
            (arrivals.peek(0) + timer).min(arrivals.peek(count - 1))
        });
        agree(nt.means(), nt.interrupt_rate(), &trial);
    }

    #[test]
    fn waits_of_constant_services_agree_with_trials() {
        // One in ten waits for exactly three services of 0.6.
        let service = Distribution::constant(0.6).unwrap();
        let queue = NPolicy::new(1.0, &service, 4).unwrap();
        let trial = woken(1.0, |_| 0.6, |_, arrivals, _| arrivals.peek(3));
        trial.distributed(|time| queue.wait_survival(time).unwrap());
        let jump = queue.wait_survival(1.8 - 1e-9).unwrap() - queue.wait_survival(1.8).unwrap();
        close(jump, 0.1, 1e-5);
    }

    #[test]
    fn at_the_limits_it_is_something_simpler() {
        let service = Distribution::constant(60e-6).unwrap();
        let plain = NPolicy::new(1e4, &service, 1).unwrap().means();
        close(plain.wait, 0.6 * 60e-6 / (2.0 * 0.4), 1e-14);
        let both = |count, timer| NtPolicy::new(1e4, &service, count, timer).unwrap().means();
        for means in [both(1, 1.0), both(7, 0.0), TPolicy::new(1e4, &service, 0.0).unwrap().means()] {
            for (got, want) in [
                (means.wait, plain.wait),
                (means.idle, plain.idle),
                (means.wait_probability, plain.wait_probability),
            ] {
                close(got, want, 1e-14);
            }
        }
        // A timer that never ends leaves the count; a count that is never reached leaves the timer.
        let count = NPolicy::new(1e4, &service, 9).unwrap();
        let both = NtPolicy::new(1e4, &service, 9, 1e9).unwrap();
        close(both.means().wait, count.means().wait, 1e-14);
        close(both.interrupt_rate(), count.interrupt_rate(), 1e-14);
        let timer = TPolicy::new(1e4, &service, 1e-4).unwrap();
        let both = NtPolicy::new(1e4, &service, 1000, 1e-4).unwrap();
        close(both.means().wait, timer.means().wait, 1e-14);
        assert_eq!((timer.means().wait_probability, count.means().wait_probability), (1.0, 1.0));
    }

    #[test]
    fn keeps_its_precision_where_the_timer_hardly_matters() {
        // λT = 1e-9 and N = 2: E[m] = 1 − e^−λT, and what is added to the wait is all of it: E[m(m + 1)/2] = E[m].
        let service = Distribution::constant(1e-12).unwrap();
        let queue = NtPolicy::new(1.0, &service, 2, 1e-9).unwrap();
        let joined = -(-1e-9_f64).exp_m1();
        let added = queue.means().wait - queue.load.pollaczek_khinchine();
        close(added, joined / (1.0 + joined), 1e-13);
        assert!(NtPolicy::new(1.0, &service, 1_000_000, 1e15).is_ok());
    }
}
