//! A fixed number of customers who think, ask, and think again: what both models of such have in common.

use super::birth_death;
use super::mmc::MOST_SERVERS;
use crate::{Result, check};

/// The most customers that are taken.
pub(super) const MOST_CUSTOMERS: u64 = 1_000_000;

/// How many requests are under way, as shares.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Population {
    lambda: f64,
    customers: u64,
    /// Of time.
    pub at_any_time: Vec<f64>,
    /// Of the requests, each of which finds what time alone would show if its customer were not there (the arrival theorem:
    /// Sevcik and Mitrani 1981, Journal of the ACM 28:358).
    pub found: Vec<f64>,
}

impl Population {
    /// Requests per second of one customer that thinks, services per second of one busy server, servers, customers, and how
    /// many requests find room.
    ///
    /// # Errors
    /// When a parameter is out of range.
    pub fn new(lambda: f64, mu: f64, servers: u64, customers: u64, room: u64) -> Result<Population> {
        check::positive("lambda", lambda)?;
        check::positive("mu", mu)?;
        check::count("servers", servers, 1, MOST_SERVERS)?;
        check::count("population", customers, 1, MOST_CUSTOMERS)?;
        let of = |customers: u64| {
            let ratio =
                |n: usize| (lambda / mu) * (customers - n as u64) as f64 / (n as u64 + 1).min(servers) as f64;
            birth_death::stationary(room.min(customers) as usize, ratio, 1.0)
        };
        Ok(Population { lambda, customers, at_any_time: of(customers), found: of(customers - 1) })
    }

    /// πₙ: share of time with n requests under way; 0 where there are never as many.
    pub fn probability(&self, n: u64) -> f64 {
        usize::try_from(n).ok().and_then(|n| self.at_any_time.get(n)).copied().unwrap_or(0.0)
    }

    /// Mean number of requests under way.
    pub fn mean(&self) -> f64 {
        birth_death::mean(&self.at_any_time)
    }

    /// Requests per second: λ(N − mean).
    pub fn asked(&self) -> f64 {
        let thinking = |(n, p): (usize, &f64)| (self.customers - n as u64) as f64 * p;
        self.lambda * self.at_any_time.iter().enumerate().map(thinking).sum::<f64>()
    }
}
