//! Erlang's loss formula: servers without a queue. Forwards, and back from a share of loss to servers or to load.

use super::birth_death;
use super::mmc::MOST_SERVERS;
use crate::card::{Family, Given, Kind, Model, Parameter};
use crate::{ModelError, Result, Solution, Unit, check};

/// M/G/c/c: who finds all servers busy is lost.
#[derive(Clone, Debug, PartialEq)]
pub struct ErlangB {
    probabilities: Vec<f64>,
}

impl ErlangB {
    /// Offered load λ/μ in Erlang, servers (1 to 1000000).
    ///
    /// # Errors
    /// When a parameter is out of range.
    pub fn new(load: f64, servers: u64) -> Result<Self> {
        check::positive("load", load)?;
        check::count("servers", servers, 1, MOST_SERVERS)?;
        let probabilities = birth_death::stationary(servers as usize, |n| load / (n + 1) as f64, 1.0);
        Ok(Self { probabilities })
    }

    /// B: share of arrivals that find all servers busy and are lost.
    pub fn loss(&self) -> f64 {
        self.probabilities[self.probabilities.len() - 1]
    }

    /// πₙ: share of time with n servers busy; 0 beyond the servers.
    pub fn probability(&self, n: u64) -> f64 {
        usize::try_from(n).ok().and_then(|n| self.probabilities.get(n)).copied().unwrap_or(0.0)
    }

    /// a(1 − B): mean number of busy servers.
    pub fn mean_busy(&self) -> f64 {
        birth_death::mean(&self.probabilities)
    }

    /// Share of time that a server is busy, all taken together.
    pub fn utilization(&self) -> f64 {
        check::share_of_time(self.mean_busy() / (self.probabilities.len() - 1) as f64)
    }

    /// The fewest servers that lose no more than `loss` of a load.
    ///
    /// # Errors
    /// When a parameter is out of range, or more than 1000000 servers would be needed.
    pub fn servers_for(load: f64, loss: f64) -> Result<u64> {
        check::positive("load", load)?;
        check::share("loss", loss)?;
        // 1/B(c) = 1 + (c/a)/B(c − 1): sums of positive numbers.
        let mut inverse = 1.0;
        for servers in 1..=MOST_SERVERS {
            inverse = 1.0 + servers as f64 / load * inverse;
            if inverse * loss >= 1.0 {
                return Ok(servers);
            }
        }
        Err(ModelError::parameter(
            "loss",
            format!("more than {MOST_SERVERS} servers are needed for {loss} at a load of {load}"),
            "allow a greater loss or give less load",
        ))
    }

    /// The largest load in Erlang of which so many servers lose no more than `loss`.
    ///
    /// # Errors
    /// When the servers are out of range, or the loss is not above 0 and below 1.
    pub fn load_for(servers: u64, loss: f64) -> Result<f64> {
        check::count("servers", servers, 1, MOST_SERVERS)?;
        if !(loss > 0.0 && loss < 1.0) {
            return Err(ModelError::parameter(
                "loss",
                format!("{loss} is not above 0 and below 1"),
                "give a share such as 0.01",
            ));
        }
        // 1/B falls as the load rises; bisected on the logarithm.
        let inverse = |load: f64| (1..=servers).fold(1.0, |inverse, c| 1.0 + c as f64 / load * inverse);
        let (mut low, mut high) = (1e-30f64.ln(), 1e30f64.ln());
        for _ in 0..70 {
            let middle = 0.5 * (low + high);
            if inverse(middle.exp()) * loss > 1.0 { low = middle } else { high = middle }
        }
        Ok((0.5 * (low + high)).exp())
    }
}

/// In the catalogue.
pub(crate) const MODEL: Model = Model {
    name: "erlang-b",
    title: "Erlang B (M/G/c/c)",
    family: Family::Markovian,
    summary: "servers without a queue: the share of arrivals lost",
    formula: "B = (aᶜ/c!)/Σₙ₌₀ᶜ aⁿ/n!; by recurrence 1/B(c) = 1 + (c/a)/B(c − 1); busy = a(1 − B)",
    assumptions: "Poisson arrivals; services independent of all else; equal servers; who finds all busy is lost",
    source: "Erlang (1917); Gross, Shortle, Thompson and Harris (2008), Fundamentals of Queueing Theory, section 2.6",
    holds: "exact at any load, for services of any distribution; up to 1000000 servers",
    parameters: &[
        Parameter {
            name: "load",
            kind: Kind::Number,
            means: "arrivals per second times the mean service (Erlang)",
            default: None,
            example: "3",
        },
        Parameter { name: "servers", kind: Kind::Count, means: "servers", default: None, example: "4" },
    ],
    solve,
};

fn solve(given: &Given) -> Result<Solution> {
    let system = ErlangB::new(given.number("load")?, given.count("servers", 1, MOST_SERVERS)?)?;
    Ok(Solution::new()
        .with("loss", system.loss(), Unit::Share)
        .with("utilization", system.utilization(), Unit::Share)
        .with("busy.mean", system.mean_busy(), Unit::Count))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn close(left: f64, right: f64) {
        assert!((left / right - 1.0).abs() < 1e-10, "{left} {right}");
    }

    #[test]
    fn a_million_servers_and_the_ends_of_the_range() {
        // mpmath at 40 digits, by the sum of 1/B = Σₖ c!/((c − k)! aᵏ).
        close(ErlangB::new(999_000.0, 1_000_000).unwrap().loss(), 2.874_213_757_768_679e-4);
        close(ErlangB::new(1e15, 10).unwrap().mean_busy(), 10.0);
        close(ErlangB::new(1e-15, 1).unwrap().loss(), 1e-15);
    }

    proptest! {
        #[test]
        fn the_recurrence_agrees(load in 1e-2f64..1e3, servers in 1u64..400) {
            let system = ErlangB::new(load, servers).unwrap();
            let inverse = (1..=servers).fold(1.0, |inverse, c| 1.0 + c as f64 / load * inverse);
            prop_assert!((system.loss() * inverse - 1.0).abs() < 1e-12 || inverse > 1e290);
            prop_assert!((system.mean_busy() - load * (1.0 - system.loss())).abs() < 1e-12 * load);
        }

        #[test]
        fn back_from_a_loss(load in 1e-2f64..300.0, loss in 1e-9f64..0.5) {
            let servers = ErlangB::servers_for(load, loss).unwrap();
            prop_assert!(ErlangB::new(load, servers).unwrap().loss() <= loss * (1.0 + 1e-12));
            prop_assert!(servers == 1 || ErlangB::new(load, servers - 1).unwrap().loss() > loss);
            let most = ErlangB::load_for(servers, loss).unwrap();
            prop_assert!((ErlangB::new(most, servers).unwrap().loss() / loss - 1.0).abs() < 1e-10);
        }
    }
}
