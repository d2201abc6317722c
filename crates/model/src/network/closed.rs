//! What the models of closed networks share: the checks of what goes in, and the figures that come out.

use crate::{ModelError, Result, Solution, Unit, check};

/// The most stations that a network may have.
pub(super) const MOST_STATIONS: usize = 10_000;

/// A closed network in its steady state.
#[derive(Clone, Debug, PartialEq)]
pub struct Closed {
    /// Customers that pass per second.
    pub throughput: f64,
    /// Mean time from the end of thinking to its next beginning, seconds.
    pub response: f64,
    /// The stations, in the order given.
    pub stations: Vec<Station>,
}

/// One station of a closed network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Station {
    /// Share of time that one of its servers is busy.
    pub utilization: f64,
    /// Mean number of customers there, waiting or served.
    pub number: f64,
    /// Mean time there, seconds: of one visit where visits were given, else of all visits of a passage.
    pub response: f64,
}

impl Closed {
    /// The figures under their flat names.
    pub(super) fn solution(&self) -> Solution {
        let mut solution = Solution::new().with("throughput", self.throughput, Unit::PerSecond).with(
            "response.mean",
            self.response,
            Unit::Seconds,
        );
        for (at, station) in self.stations.iter().enumerate() {
            let name = |figure: &str| format!("station.{}.{figure}", at + 1);
            solution = solution
                .with(name("utilization"), station.utilization, Unit::Share)
                .with(name("number.mean"), station.number, Unit::Count)
                .with(name("response.mean"), station.response, Unit::Seconds);
        }
        solution
    }
}

/// Refuses demands of which none is above zero, or a network that is too large.
pub(super) fn demands(name: &str, demands: &[f64]) -> Result<()> {
    check::count(name, demands.len() as u64, 1, MOST_STATIONS as u64)?;
    for demand in demands {
        check::non_negative(name, *demand)?;
    }
    if demands.iter().any(|demand| *demand > 0.0) {
        return Ok(());
    }
    Err(ModelError::parameter(
        name,
        "none is above 0",
        "give the time that one passage needs at each station",
    ))
}

/// Refuses a recursion of more than `most` steps; `instead` says what to ask.
pub(super) fn affordable(name: &str, steps: f64, most: f64, instead: &str) -> Result<()> {
    if steps <= most {
        return Ok(());
    }
    Err(ModelError::parameter(
        name,
        format!("the exact recursion would take {steps:.1e} steps, and {most:.0e} is the limit"),
        instead,
    ))
}
