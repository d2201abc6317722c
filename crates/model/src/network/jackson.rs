//! Open networks: customers come, go from station to station by chance, and leave.

use crate::card::{Family, Given, Kind, Model, Parameter};
use crate::markovian::Mmc;
use crate::{ModelError, Result, Solution, Unit, check};

/// The most stations: the traffic equations take the cube of it.
const MOST_STATIONS: u64 = 300;

/// The most servers of a station.
const MOST_SERVERS: u64 = 100_000;

/// A row of probabilities may miss its sum by so much.
const ROUNDING: f64 = 1e-12;

/// An open Jackson network in its steady state.
#[derive(Clone, Debug, PartialEq)]
pub struct Jackson {
    arrivals: f64,
    stations: Vec<OpenStation>,
}

/// One station of an open network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OpenStation {
    /// Customers that pass per second.
    pub throughput: f64,
    /// Visits there of one customer of the network, in the mean.
    pub visits: f64,
    /// Share of time that one of its servers is busy.
    pub utilization: f64,
    /// Mean time before service, of one visit, seconds.
    pub wait: f64,
    /// Mean time there, of one visit, seconds.
    pub response: f64,
    /// Mean number of customers there.
    pub number: f64,
}

impl Jackson {
    /// Arrivals from outside at each station (per second, 0 allowed), services of one of its servers (per second), its
    /// servers, and the probabilities with which a customer goes from the station of the row to that of the column; what
    /// a row lacks to 1 leaves.
    ///
    /// # Errors
    /// When the lists do not fit each other, a row is no set of probabilities, some customers never leave, or a station
    /// has no steady state: it is named.
    pub fn new(arrivals: &[f64], mus: &[f64], servers: &[u64], routing: &[Vec<f64>]) -> Result<Self> {
        let count = mus.len();
        check::count("mus", count as u64, 1, MOST_STATIONS)?;
        for (name, len) in
            [("arrivals", arrivals.len()), ("servers", servers.len()), ("routing", routing.len())]
        {
            if len != count {
                return Err(ModelError::parameter(
                    name,
                    format!("it has {len} entries, and there are {count} stations"),
                    "give one for each entry of mus",
                ));
            }
        }
        for ((arrivals, mu), servers) in arrivals.iter().zip(mus).zip(servers) {
            check::non_negative("arrivals", *arrivals)?;
            check::positive("mus", *mu)?;
            check::count("servers", *servers, 1, MOST_SERVERS)?;
        }
        let total: f64 = arrivals.iter().sum();
        check::positive("arrivals: their sum", total)?;
        let throughputs = throughputs(arrivals, routing)?;
        let mut stations = Vec::with_capacity(count);
        for (at, throughput) in throughputs.into_iter().enumerate() {
            stations.push(station(at, throughput, total, mus[at], servers[at])?);
        }
        Ok(Self { arrivals: total, stations })
    }

    /// Customers that come, and leave, per second.
    pub fn throughput(&self) -> f64 {
        self.arrivals
    }

    /// The stations, in the order given.
    pub fn stations(&self) -> &[OpenStation] {
        &self.stations
    }

    /// Mean number of customers in the network.
    pub fn number(&self) -> f64 {
        self.stations.iter().map(|s| s.number).sum()
    }

    /// Mean time from coming to leaving, seconds, by Little's law.
    pub fn response(&self) -> f64 {
        self.number() / self.arrivals
    }
}

/// One station as an M/M/c of its own.
fn station(at: usize, throughput: f64, total: f64, mu: f64, servers: u64) -> Result<OpenStation> {
    let place = format!("station {}", at + 1);
    let remedy = "lower arrivals, or raise its mu or servers";
    let utilization = check::stable(&place, throughput / mu / servers as f64, remedy)?;
    // Where a customer comes once in millions of years, it finds nobody.
    let wait = if throughput < 1.0 / check::LARGEST {
        0.0
    } else {
        Mmc::new(throughput, mu, servers).map_err(|error| error.within(&place))?.mean_wait()
    };
    let response = 1.0 / mu + wait;
    let visits = throughput / total;
    Ok(OpenStation { throughput, visits, utilization, wait, response, number: throughput * response })
}

/// Solves λ = γ + λP by eliminating one station after the other. What leaves a station is kept as a number of its own,
/// so that nothing is subtracted but on reading a row, and every division is by a sum of positive numbers: no pivot need
/// be searched, and each figure keeps its digits (Grassmann, Taksar and Heyman 1985, Operations Research 33(5)).
fn throughputs(arrivals: &[f64], routing: &[Vec<f64>]) -> Result<Vec<f64>> {
    let count = arrivals.len();
    let mut exits = Vec::with_capacity(count);
    for (at, row) in routing.iter().enumerate() {
        exits.push(exit(at, row, count)?);
    }
    let mut routing = routing.to_vec();
    let mut flows = arrivals.to_vec();
    let mut onward = vec![0.0; count];
    for last in (0..count).rev() {
        let (rest, eliminated) = routing.split_at_mut(last);
        let eliminated = &eliminated[0];
        onward[last] = exits[last] + eliminated[..last].iter().sum::<f64>();
        if onward[last] <= 0.0 {
            return Err(ModelError::parameter(
                "routing",
                format!("who comes to station {} never leaves the network", last + 1),
                "let a row of what is reached from there add up to less than 1",
            ));
        }
        for to in 0..last {
            flows[to] += flows[last] * eliminated[to] / onward[last];
        }
        for (from, row) in rest.iter_mut().enumerate() {
            let there = row[last] / onward[last];
            exits[from] += there * exits[last];
            for to in (0..last).filter(|to| *to != from) {
                row[to] += there * eliminated[to];
            }
        }
    }
    for at in 0..count {
        let before: f64 = (0..at).map(|from| flows[from] * routing[from][at]).sum();
        flows[at] = (flows[at] + before) / onward[at];
    }
    Ok(flows)
}

/// The probability to leave from a station, and a check of its row.
fn exit(at: usize, row: &[f64], count: usize) -> Result<f64> {
    let place = format!("routing: row {}", at + 1);
    if row.len() != count {
        return Err(ModelError::parameter(
            place,
            format!("it has {} entries, and there are {count} stations", row.len()),
            "give the probability to go to each station; rows have `;` between them",
        ));
    }
    for probability in row {
        check::share(&place, *probability)?;
    }
    let sum: f64 = row.iter().sum();
    if sum > 1.0 + ROUNDING {
        return Err(ModelError::parameter(
            place,
            format!("it adds up to {sum}"),
            "let it add up to 1 or less",
        ));
    }
    Ok(if sum > 1.0 - ROUNDING { 0.0 } else { 1.0 - sum })
}

/// In the catalogue.
pub(crate) const MODEL: Model = Model {
    name: "jackson",
    title: "Jackson network",
    family: Family::Networks,
    summary: "customers come from outside, go from station to station by chance, and leave",
    formula: "λₖ = γₖ + Σⱼ λⱼ·pⱼₖ; each station is an M/M/c of its own; W = Σ Lₖ / Σ γₖ",
    assumptions: "Poisson arrivals from outside; exponential services at each station, independent of all else; where a \
                  customer goes next depends only on where it is; first come, first served; no limit on the queues",
    source: "Jackson (1957), Networks of Waiting Lines, Operations Research 5(4), 518–521; Kleinrock (1975), Queueing \
             Systems I, chapter 4",
    holds: "exact, if each station is stable and every customer leaves in the end; up to 300 stations",
    parameters: &[
        Parameter {
            name: "arrivals",
            kind: Kind::Rates,
            means: "arrivals from outside at each station, 0 allowed",
            default: None,
            example: "3000/s,1000/s,0/s",
        },
        Parameter {
            name: "mus",
            kind: Kind::Rates,
            means: "services of one server of each station",
            default: None,
            example: "6000/s,3000/s,8000/s",
        },
        Parameter {
            name: "servers",
            kind: Kind::Numbers,
            means: "servers of each station; a single number is that of all",
            default: Some("1"),
            example: "1,2,1",
        },
        Parameter {
            name: "routing",
            kind: Kind::Numbers,
            means: "one row a station: the probabilities to go to each; what a row lacks to 1 leaves",
            default: None,
            example: "0,0.5,0.5;0,0,1;0.2,0,0",
        },
    ],
    solve,
};

fn solve(given: &Given) -> Result<Solution> {
    let mus = given.rates("mus")?;
    let mut servers = given.counts("servers", 1, MOST_SERVERS)?;
    if let [one] = servers[..] {
        servers = vec![one; mus.len()];
    }
    let network = Jackson::new(&given.rates("arrivals")?, &mus, &servers, &given.rows("routing")?)?;
    let mut solution = Solution::new()
        .with("throughput", network.throughput(), Unit::PerSecond)
        .with("number.mean", network.number(), Unit::Count)
        .with("response.mean", network.response(), Unit::Seconds);
    for (at, station) in network.stations().iter().enumerate() {
        let name = |figure: &str| format!("station.{}.{figure}", at + 1);
        solution = solution
            .with(name("throughput"), station.throughput, Unit::PerSecond)
            .with(name("visits"), station.visits, Unit::Ratio)
            .with(name("utilization"), station.utilization, Unit::Share)
            .with(name("number.mean"), station.number, Unit::Count)
            .with(name("wait.mean"), station.wait, Unit::Seconds)
            .with(name("response.mean"), station.response, Unit::Seconds);
    }
    Ok(solution)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn one_station_is_a_queue_of_its_own() {
        let one = Jackson::new(&[8.0], &[10.0], &[1], &[vec![0.0]]).unwrap();
        assert!((one.response() - 0.5).abs() < 1e-15);
        // Who comes back with probability 1/2 makes twice the load.
        let again = Jackson::new(&[4.0], &[10.0], &[1], &[vec![0.5]]).unwrap();
        assert!((again.stations()[0].utilization - 0.8).abs() < 1e-15);
        assert!((again.response() - 1.0).abs() < 1e-15);
    }

    #[test]
    fn an_exit_that_is_hardly_taken_keeps_its_digits() {
        // Two stations send customers to and fro, and one in 2³⁰ leaves: exactly 2³⁰ visits to each.
        let stay = 1.0 - (0.5f64).powi(30);
        let network =
            Jackson::new(&[1.0, 0.0], &[1e12, 1e12], &[1, 1], &[vec![0.0, 1.0], vec![stay, 0.0]]).unwrap();
        for station in network.stations() {
            assert_eq!(station.visits, (2f64).powi(30));
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        let row = |p: f64| vec![vec![0.0, p], vec![0.0, 0.0]];
        let told = |arrivals: &[f64], routing: &[Vec<f64>]| {
            Jackson::new(arrivals, &[10.0, 5.0], &[1, 1], routing).unwrap_err().to_string()
        };
        assert!(told(&[8.0, 0.0], &row(0.9)).starts_with("station 2: no steady state at a load of 1.44"));
        assert!(told(&[8.0, 0.0], &row(1.1)).starts_with("routing: row 1"));
        let closed = [vec![0.0, 1.0], vec![0.0, 1.0]];
        assert!(told(&[1.0, 0.0], &closed).contains("station 2 never leaves"));
        assert!(told(&[1.0], &row(0.5)).starts_with("arrivals: it has 1 entries"));
        assert!(told(&[0.0, 0.0], &row(0.5)).starts_with("arrivals: their sum"));
    }

    /// Rows of a routing whose exits are at least 1 %.
    fn routings(count: usize) -> impl Strategy<Value = Vec<Vec<f64>>> {
        prop::collection::vec(prop::collection::vec(0.0..1.0f64, count + 1), count).prop_map(|rows| {
            let scaled = |row: Vec<f64>| {
                let sum = row.iter().sum::<f64>() + 0.01;
                row[1..].iter().map(|p| p / sum).collect()
            };
            rows.into_iter().map(scaled).collect()
        })
    }

    proptest! {
        #[test]
        fn flows_balance_and_little_holds(routing in routings(5), arrivals in prop::collection::vec(0.0..10.0f64, 5)) {
            prop_assume!(arrivals.iter().sum::<f64>() > 0.01);
            let arrivals: Vec<f64> = arrivals.into_iter().map(|a| if a < 0.01 { 0.0 } else { a }).collect();
            let network = Jackson::new(&arrivals, &[1e5; 5], &[1, 2, 1, 3, 1], &routing).unwrap();
            let stations = network.stations();
            for (at, station) in stations.iter().enumerate() {
                let into: f64 = (0..5).map(|from| stations[from].throughput * routing[from][at]).sum();
                prop_assert!((station.throughput - arrivals[at] - into).abs() <= 1e-12 * station.throughput);
            }
            let leave: f64 = stations.iter().zip(&routing)
                .map(|(s, row)| s.throughput * (1.0 - row.iter().sum::<f64>())).sum();
            prop_assert!((leave / network.throughput() - 1.0).abs() < 1e-11);
            let passage: f64 = stations.iter().map(|s| s.visits * s.response).sum();
            prop_assert!((passage / network.response() - 1.0).abs() < 1e-12);
        }
    }
}
