//! M/M/c/K: several servers and room for K customers; who finds it full is lost.

use super::birth_death;
use super::figures::Figures;
use super::mmc::MOST_SERVERS;
use super::sojourn::Sojourn;
use crate::card::{Family, Given, Kind, Model, Parameter};
use crate::{ModelError, Result, Solution, Unit, check};

/// The largest room that is taken.
pub(super) const MOST_ROOM: u64 = 1_000_000;

/// Several servers, exponential gaps and services, first come first served, at most K customers in the system.
#[derive(Clone, Debug)]
pub struct Mmck {
    mu: f64,
    servers: u64,
    probabilities: Vec<f64>,
    /// Of customers that are let in.
    sojourn: Sojourn,
}

impl Mmck {
    /// Arrivals per second, services per second of one busy server, servers, and the most customers in the system,
    /// those in service included (not fewer than servers, at most 1000000).
    ///
    /// # Errors
    /// When a parameter is out of range.
    pub fn new(lambda: f64, mu: f64, servers: u64, capacity: u64) -> Result<Self> {
        check::positive("lambda", lambda)?;
        check::positive("mu", mu)?;
        check::count("servers", servers, 1, MOST_SERVERS)?;
        check::count("capacity", capacity, 1, MOST_ROOM)?;
        if capacity < servers {
            return Err(ModelError::parameter(
                "capacity",
                format!("{capacity} customers do not occupy {servers} servers"),
                "give a capacity of at least the servers: it counts customers in service, too",
            ));
        }
        let load = lambda / mu;
        let with_room = |capacity: u64| {
            let ratio = |n: usize| load / (n as u64 + 1).min(servers) as f64;
            birth_death::stationary(capacity as usize, ratio, 1.0)
        };
        // Who is let in finds what a system with one place less shows: πₙ/(1 − π_K), n < K, without the difference.
        let sojourn = Sojourn::new(servers as usize, mu, &with_room(capacity - 1));
        Ok(Self { mu, servers, probabilities: with_room(capacity), sojourn })
    }

    /// Share of time that a server is busy.
    pub fn utilization(&self) -> f64 {
        let c = self.servers as f64;
        let busy = |(n, p): (usize, &f64)| (n as f64).min(c) * p;
        check::share_of_time(self.probabilities.iter().enumerate().map(busy).sum::<f64>() / c)
    }

    /// π₀: share of time that nobody is there.
    pub fn idle(&self) -> f64 {
        self.probabilities[0]
    }

    /// πₙ: share of time with n customers in the system; 0 above its capacity.
    pub fn probability(&self, n: u64) -> f64 {
        usize::try_from(n).ok().and_then(|n| self.probabilities.get(n)).copied().unwrap_or(0.0)
    }

    /// π_K: share of arrivals that find it full and are lost.
    pub fn loss(&self) -> f64 {
        self.probabilities[self.probabilities.len() - 1]
    }

    /// Customers served per second: cμ times the utilization, which is λ(1 − loss).
    pub fn throughput(&self) -> f64 {
        self.utilization() * self.servers as f64 * self.mu
    }

    /// Mean number in the system.
    pub fn mean_number(&self) -> f64 {
        birth_death::mean(&self.probabilities)
    }

    /// Mean number waiting.
    pub fn mean_queue(&self) -> f64 {
        let waiting = self.probabilities.get(self.servers as usize..).unwrap_or_default();
        birth_death::mean(waiting)
    }

    /// P(wait > 0) of a customer that is let in.
    pub fn wait_probability(&self) -> f64 {
        self.sojourn.wait_probability()
    }

    /// Mean time before service of a customer that is let in, seconds.
    pub fn mean_wait(&self) -> f64 {
        self.sojourn.mean_wait()
    }

    /// Second moment of the wait of a customer that is let in, seconds squared.
    pub fn wait_second_moment(&self) -> f64 {
        self.sojourn.wait_second_moment()
    }

    /// Mean time in the system of a customer that is let in, seconds.
    pub fn mean_response(&self) -> f64 {
        self.mean_wait() + 1.0 / self.mu
    }

    /// P(wait > t) of a customer that is let in.
    pub fn wait_survival(&self, t: f64) -> f64 {
        self.sojourn.wait_survival(t)
    }

    /// P(response > t) of a customer that is let in.
    pub fn response_survival(&self, t: f64) -> f64 {
        self.sojourn.response_survival(t)
    }

    /// The time that a `share` of those let in wait no longer than, seconds.
    ///
    /// # Errors
    /// When the share is not above 0 and below 1.
    pub fn wait_quantile(&self, share: f64) -> Result<f64> {
        self.sojourn.wait_quantile(share)
    }

    /// The time that a `share` of those let in spend at most, seconds.
    ///
    /// # Errors
    /// When the share is not above 0 and below 1.
    pub fn response_quantile(&self, share: f64) -> Result<f64> {
        self.sojourn.response_quantile(share)
    }

    /// All the figures.
    pub(super) fn solution(&self) -> Result<Solution> {
        let figures = Figures {
            utilization: self.utilization(),
            idle: self.idle(),
            throughput: self.throughput(),
            loss: Some(self.loss()),
            number: self.mean_number(),
            queue: self.mean_queue(),
            wait: self.mean_wait(),
            response: self.mean_response(),
            wait_probability: self.wait_probability(),
        };
        let wait = |share| self.wait_quantile(share);
        let solution = figures.solution(wait, |share| self.response_quantile(share))?;
        Ok(solution.with("wait.second-moment", self.wait_second_moment(), Unit::SecondsSquared))
    }
}

/// In the catalogue.
pub(crate) const MODEL: Model = Model {
    name: "mmck",
    title: "M/M/c/K",
    family: Family::Markovian,
    summary: "several servers with room for K customers, memoryless arrivals and services",
    formula: "πₙ₊₁/πₙ = λ/(min(n + 1, c)μ), n < K; loss = π_K; who is let in finds n with qₙ = πₙ/(1 − π_K) and waits for n − c + 1 ends of service of rate cμ",
    assumptions: "Poisson arrivals; exponential services, independent of all else; equal servers; first come, first served; at most K customers, those in service included; who finds K is lost",
    source: "Gross, Shortle, Thompson and Harris (2008), Fundamentals of Queueing Theory, section 2.5",
    holds: "exact at any load; waits and responses are those of customers that are let in; K up to 1000000",
    parameters: &[
        Parameter { name: "lambda", kind: Kind::Rate, means: "arrivals", default: None, example: "30000/s" },
        Parameter {
            name: "mu",
            kind: Kind::Rate,
            means: "services of one busy server",
            default: None,
            example: "10000/s",
        },
        Parameter { name: "servers", kind: Kind::Count, means: "servers", default: None, example: "4" },
        Parameter {
            name: "capacity",
            kind: Kind::Count,
            means: "customers that it holds, those in service included",
            default: None,
            example: "16",
        },
    ],
    solve,
};

fn solve(given: &Given) -> Result<Solution> {
    let servers = given.count("servers", 1, MOST_SERVERS)?;
    let capacity = given.count("capacity", 1, MOST_ROOM)?;
    Mmck::new(given.rate("lambda")?, given.rate("mu")?, servers, capacity)?.solution()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markovian::{ErlangB, Mmc};
    use proptest::prelude::*;

    fn close(left: f64, right: f64) {
        assert!((left / right - 1.0).abs() < 1e-10, "{left} {right}");
    }

    #[test]
    fn with_much_room_it_is_mmc() {
        let (some, all) = (Mmck::new(2.4, 1.0, 3, 400).unwrap(), Mmc::new(2.4, 1.0, 3).unwrap());
        close(some.idle(), all.idle());
        close(some.mean_number(), all.mean_number());
        close(some.wait_probability(), all.wait_probability());
        close(some.mean_wait(), all.mean_wait());
        for t in [0.1, 1.0, 10.0] {
            close(some.wait_survival(t), all.wait_survival(t));
            close(some.response_survival(t), all.response_survival(t));
        }
        for share in [0.5, 0.9, 0.999] {
            close(some.wait_quantile(share).unwrap() + 1.0, all.wait_quantile(share).unwrap() + 1.0);
            close(some.response_quantile(share).unwrap(), all.response_quantile(share).unwrap());
        }
    }

    #[test]
    fn without_room_to_wait_it_is_erlang_b() {
        let (queue, loss) = (Mmck::new(5.0, 1.0, 4, 4).unwrap(), ErlangB::new(5.0, 4).unwrap());
        close(queue.loss(), loss.loss());
        close(queue.mean_number(), loss.mean_busy());
        assert_eq!(queue.mean_wait(), 0.0);
        assert_eq!(queue.wait_quantile(0.99).unwrap(), 0.0);
        close(queue.response_quantile(0.5).unwrap(), 2f64.ln());
    }

    #[test]
    fn overload_leaves_only_room() {
        let queue = Mmck::new(1e15, 1.0, 2, 10).unwrap();
        close(queue.loss(), 1.0);
        close(queue.throughput(), 2.0);
        // It finds 9 all but always: eight ends of service at rate 2.
        close(queue.mean_wait(), 4.0);
    }

    #[test]
    fn a_million_places_at_even_load() {
        let queue = Mmck::new(1.0, 1.0, 1, 1_000_000).unwrap();
        close(queue.loss(), 1.0 / 1_000_001.0);
        close(queue.mean_number(), 500_000.0);
        // Who is let in finds 0 … 999999, each equally likely.
        close(queue.mean_wait(), 499_999.5);
        // The wait is Erlang(n), which near its middle is n ± √n: its median is about the middle.
        assert!((queue.wait_quantile(0.5).unwrap() / 499_999.5 - 1.0).abs() < 1e-5);
    }

    #[test]
    fn too_little_room_names_capacity() {
        let told = Mmck::new(1.0, 1.0, 4, 3).unwrap_err().to_string();
        assert!(told.starts_with("capacity: "), "{told}");
    }

    proptest! {
        #[test]
        fn laws_hold(load in 1e-3f64..50.0, mu in 1e-9f64..1e9, servers in 1u64..20, room in 0u64..60) {
            let lambda = load * mu;
            let queue = Mmck::new(lambda, mu, servers, servers + room).unwrap();
            // Two ways to the throughput, where neither cancels.
            if queue.loss() < 0.9 {
                prop_assert!((queue.throughput() / (lambda * (1.0 - queue.loss())) - 1.0).abs() < 1e-10);
            }
            // Little's law, for the system and for the queue, from what arrivals find.
            prop_assert!((queue.mean_number() / (queue.throughput() * queue.mean_response()) - 1.0).abs() < 1e-10);
            let waiting = queue.throughput() * queue.mean_wait();
            prop_assert!((queue.mean_queue() - waiting).abs() <= 1e-10 * waiting);
            // The mean is the area under the tail: trapezia over the whole of it.
            let end = queue.response_quantile(1.0 - 1e-13).unwrap();
            let step = end / 4000.0;
            let area: f64 = (0..4000).map(|i| queue.response_survival((f64::from(i) + 0.5) * step)).sum::<f64>() * step;
            prop_assert!((area / queue.mean_response() - 1.0).abs() < 1e-4);
        }
    }
}
