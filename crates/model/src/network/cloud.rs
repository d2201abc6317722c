//! A cloud of several devices that serve several classes of requests: how they share the devices decides who waits.

use crate::card::{Family, Given, Kind, Model, Parameter};
use crate::markovian::Mmc;
use crate::{Distribution, ModelError, Result, Solution, Unit, check};

/// The most devices, and the most classes.
const MOST_DEVICES: u64 = 100_000;
const MOST_CLASSES: u64 = 64;

/// Several devices of the same kind and the classes of requests that they serve, in its steady state.
#[derive(Clone, Debug, PartialEq)]
pub struct Cloud {
    devices: u64,
    classes: Vec<CloudClass>,
    waits: Vec<f64>,
    loads: Vec<f64>,
}

/// One class of requests.
#[derive(Clone, Debug, PartialEq)]
pub struct CloudClass {
    /// Arrivals per second, Poisson.
    pub lambda: f64,
    /// Its services.
    pub service: Distribution,
}

/// How requests come to devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Split {
    /// One queue before all devices: whoever is free takes the next request.
    Shared,
    /// Each class has so many devices of its own, with one queue before them.
    ByClass(Vec<u64>),
    /// Each request goes to a device by chance, all alike, and waits there.
    Random,
    /// Requests go to the devices in turns, and wait there.
    RoundRobin,
}

/// Who is served next where several wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Who came first.
    Fifo,
    /// The first class before the second and so on, without interrupting a service.
    Priority,
}

impl Cloud {
    /// Devices, classes (the first is served first under [`Order::Priority`]), split and order.
    ///
    /// # Errors
    /// When a value is out of range, or a queue has no steady state: its class is named where it has but one.
    pub fn new(devices: u64, classes: Vec<CloudClass>, split: &Split, order: Order) -> Result<Self> {
        check::count("devices", devices, 1, MOST_DEVICES)?;
        check::count("lambdas", classes.len() as u64, 1, MOST_CLASSES)?;
        for class in &classes {
            check::positive("lambdas", class.lambda)?;
            class.service.clone().checked("services")?;
        }
        let (waits, loads) = match split {
            Split::ByClass(own) => by_class(devices, &classes, own)?,
            together => {
                let load = busy(&classes) / devices as f64;
                check::stable("lambdas", load, "lower them, or add devices")?;
                let waits = match together {
                    Split::Shared => waits(&classes, devices, blocked(&classes, devices)?, order),
                    Split::Random => waits(&at_each(&classes, devices), 1, load, order),
                    _ => in_turns(&at_each(&classes, devices), devices, order),
                };
                (waits, vec![load; classes.len()])
            }
        };
        Ok(Self { devices, classes, waits, loads })
    }

    /// Share of time that a device is busy, over all devices.
    pub fn utilization(&self) -> f64 {
        busy(&self.classes) / self.devices as f64
    }

    /// Share of time that a device is busy with requests of a class, over all devices, class by class: they add up to
    /// the utilization.
    pub fn utilizations(&self) -> Vec<f64> {
        let own = |class: &CloudClass| class.lambda * class.service.mean() / self.devices as f64;
        self.classes.iter().map(own).collect()
    }

    /// Share of time that the devices which serve a class are busy, with requests of any class, class by class.
    pub fn device_utilizations(&self) -> &[f64] {
        &self.loads
    }

    /// Mean time before service of each class, seconds.
    pub fn waits(&self) -> &[f64] {
        &self.waits
    }

    /// Mean time of each class from arrival to the end of service, seconds.
    pub fn responses(&self) -> Vec<f64> {
        self.classes.iter().zip(&self.waits).map(|(class, wait)| wait + class.service.mean()).collect()
    }
}

/// Devices that are busy in the mean.
fn busy(classes: &[CloudClass]) -> f64 {
    classes.iter().map(|class| class.lambda * class.service.mean()).sum()
}

/// Probability that a request finds all of so many devices busy, as if services were exponential: Erlang's C.
fn blocked(classes: &[CloudClass], servers: u64) -> Result<f64> {
    let rate: f64 = classes.iter().map(|class| class.lambda).sum();
    Ok(Mmc::new(rate, rate / busy(classes), servers)?.wait_probability())
}

/// What one of the devices sees of the classes.
fn at_each(classes: &[CloudClass], devices: u64) -> Vec<CloudClass> {
    let part = |class: &CloudClass| CloudClass { lambda: class.lambda / devices as f64, ..class.clone() };
    classes.iter().map(part).collect()
}

/// Half the second moment of the work that arrives in a second, at a server as fast as all together.
fn residual(classes: &[CloudClass], servers: u64) -> f64 {
    let second = |class: &CloudClass| class.service.mean().powi(2) * (1.0 + class.service.scv());
    classes.iter().map(|class| class.lambda * second(class)).sum::<f64>() / 2.0 / (servers as f64).powi(2)
}

/// Waits at one queue before `servers`, of which an arrival finds none free with probability `blocked`: those of one
/// server that is as fast as all together, scaled as the waits of M/M/c are to those of such an M/M/1.
fn waits(classes: &[CloudClass], servers: u64, blocked: f64, order: Order) -> Vec<f64> {
    let load = busy(classes) / servers as f64;
    ordered(classes, servers, residual(classes, servers) * blocked / load, order)
}

/// Waits of each class from what remains in the mean of the work in service.
fn ordered(classes: &[CloudClass], servers: u64, residual: f64, order: Order) -> Vec<f64> {
    let load = busy(classes) / servers as f64;
    let mut above = 0.0;
    let wait = |class: &CloudClass| {
        let with = above + class.lambda * class.service.mean() / servers as f64;
        let (before, up_to) = match order {
            Order::Fifo => (0.0, load),
            Order::Priority => (above, with),
        };
        above = with;
        residual / ((1.0 - before) * (1.0 - up_to))
    };
    classes.iter().map(wait).collect()
}

/// Waits at one of the devices that get requests in turns: gaps there are those of `devices` arrivals, so their squared
/// coefficient of variation is 1/devices.
fn in_turns(classes: &[CloudClass], devices: u64, order: Order) -> Vec<f64> {
    let load = busy(classes);
    let rate: f64 = classes.iter().map(|class| class.lambda).sum();
    let mean = load / rate;
    let services = (2.0 * residual(classes, 1) / rate / mean.powi(2) - 1.0).max(0.0);
    let gaps = 1.0 / devices as f64;
    let correction = -2.0 * (1.0 - load) * (1.0 - gaps).powi(2) / (3.0 * load * (gaps + services));
    let residual = load * mean * (gaps + services) / 2.0 * correction.exp();
    ordered(classes, 1, residual, order)
}

/// Waits of classes, and how busy their devices are, for classes that have devices of their own.
fn by_class(devices: u64, classes: &[CloudClass], own: &[u64]) -> Result<(Vec<f64>, Vec<f64>)> {
    let unfit = |reason: String| {
        ModelError::parameter(
            "own",
            reason,
            format!("give one number a class that add up to {devices}, or 0"),
        )
    };
    if own.len() != classes.len() {
        return Err(unfit(format!("it has {} entries, and there are {} classes", own.len(), classes.len())));
    }
    if own.contains(&0) || own.iter().sum::<u64>() != devices {
        return Err(unfit("the devices of the classes are not all the devices there are".into()));
    }
    let mut answers = (Vec::new(), Vec::new());
    for (at, (class, own)) in classes.iter().zip(own).enumerate() {
        let alone = std::slice::from_ref(class);
        let load = busy(alone);
        let remedy = "lower its rate, or give it more devices of its own";
        let utilization = check::stable(&format!("lambdas: class {}", at + 1), load / *own as f64, remedy)?;
        answers.0.extend(waits(alone, *own, blocked(alone, *own)?, Order::Fifo));
        answers.1.push(utilization);
    }
    Ok(answers)
}

/// One device for each class, and each further one for the class whose devices are busiest then.
fn allotted(devices: u64, classes: &[CloudClass]) -> Result<Vec<u64>> {
    check::count("devices", devices, classes.len() as u64, MOST_DEVICES)?;
    let mut own = vec![1; classes.len()];
    for _ in classes.len() as u64..devices {
        let load = |at: usize| busy(&classes[at..=at]) / own[at] as f64;
        let busiest = (0..classes.len()).max_by(|a, b| load(*a).total_cmp(&load(*b))).unwrap_or(0);
        own[busiest] += 1;
    }
    Ok(own)
}

/// The words of the catalogue.
const SPLITS: &[&str] = &["shared", "by-class", "random", "round-robin"];
const ORDERS: &[&str] = &["fifo", "priority"];

/// In the catalogue.
pub(crate) const MODEL: Model = Model {
    name: "cloud",
    title: "Cloud of devices",
    family: Family::Networks,
    summary: "several devices and classes: one shared queue, devices by class, at random or in turns; with priorities or \
              without",
    formula: "Wₖ = C(c, a)/ρ · R/((1 − σₖ₋₁)(1 − σₖ)), R = Σ λᵢ·E[Sᵢ²]/(2c²), σₖ = Σ_{i≤k} λᵢ·E[Sᵢ]/c; first come first \
              served: (1 − ρ) for both factors; random: c = 1 at λ/c; in turns: R = ρ·E[S](1/c + cs²)/2 · \
              exp(−2(1 − ρ)(1 − 1/c)²/(3ρ(1/c + cs²)))",
    assumptions: "Poisson arrivals of each class; devices alike; priorities do not interrupt a service",
    source: "Cobham (1954), Operations Research 2(1), 70–76 (priorities); Bondi and Buzen (1984), The Response Times of \
             Priority Classes under Preemptive Resume in M/G/m Queues, SIGMETRICS 84 (the scaling to several servers); \
             Krämer and Langenbach-Belz (1976), 8th ITC (in turns)",
    holds: "random: exact. shared and by-class: exact for one device, and for exponential services with one mean; else an \
            approximation, mostly within 10 %. round-robin: an approximation, within 15 % for exponential \
            services, too low where loads are below 0.5 or the cv² of services below 0.25",
    parameters: &[
        Parameter {
            name: "devices",
            kind: Kind::Count,
            means: "devices, all alike",
            default: None,
            example: "4",
        },
        Parameter {
            name: "lambdas",
            kind: Kind::Rates,
            means: "arrivals of each class",
            default: None,
            example: "8000/s,20000/s",
        },
        Parameter {
            name: "services",
            kind: Kind::Distributions,
            means: "services of each class; a single one is that of all",
            default: None,
            example: "exponential(100us)",
        },
        Parameter {
            name: "split",
            kind: Kind::Word(SPLITS),
            means: "how requests come to devices",
            default: Some("shared"),
            example: "shared",
        },
        Parameter {
            name: "order",
            kind: Kind::Word(ORDERS),
            means: "who is served next; by priority the first class before the second",
            default: Some("fifo"),
            example: "priority",
        },
        Parameter {
            name: "own",
            kind: Kind::Numbers,
            means: "with split=by-class, devices of each class; 0: allotted so that the busiest are least busy",
            default: Some("0"),
            example: "0",
        },
    ],
    solve,
};

fn solve(given: &Given) -> Result<Solution> {
    let lambdas = given.rates("lambdas")?;
    let devices = given.count("devices", 1, MOST_DEVICES)?;
    let mut services = given.distributions("services")?;
    if let [one] = &services[..] {
        services = vec![one.clone(); lambdas.len()];
    }
    if services.len() != lambdas.len() {
        return Err(ModelError::parameter(
            "services",
            format!("it has {} entries, and there are {} classes", services.len(), lambdas.len()),
            "give one for each entry of lambdas, or one for all",
        ));
    }
    let classes =
        lambdas.iter().zip(services).map(|(lambda, service)| CloudClass { lambda: *lambda, service });
    let classes: Vec<CloudClass> = classes.collect();
    let own = given.counts("own", 0, MOST_DEVICES)?;
    let split = match given.word("split", SPLITS)? {
        "shared" => Split::Shared,
        "random" => Split::Random,
        "round-robin" => Split::RoundRobin,
        _ if own == [0] => Split::ByClass(allotted(devices, &classes)?),
        _ => Split::ByClass(own),
    };
    let order = if given.word("order", ORDERS)? == "fifo" { Order::Fifo } else { Order::Priority };
    let cloud = Cloud::new(devices, classes, &split, order)?;
    let total: f64 = lambdas.iter().sum();
    let mean = |values: &[f64]| lambdas.iter().zip(values).map(|(l, v)| l * v).sum::<f64>() / total;
    let responses = cloud.responses();
    let highest = cloud.device_utilizations().iter().copied().fold(0.0, f64::max);
    let mut solution = Solution::new()
        .with("utilization", cloud.utilization(), Unit::Share)
        .with("utilization.highest", highest, Unit::Share)
        .with("throughput", total, Unit::PerSecond)
        .with("number.mean", total * mean(&responses), Unit::Count)
        .with("wait.mean", mean(cloud.waits()), Unit::Seconds)
        .with("response.mean", mean(&responses), Unit::Seconds);
    for (at, (wait, response)) in cloud.waits().iter().zip(&responses).enumerate() {
        let name = |figure: &str| format!("class.{}.{figure}", at + 1);
        solution = solution
            .with(name("utilization"), cloud.utilizations()[at], Unit::Share)
            .with(name("devices.utilization"), cloud.device_utilizations()[at], Unit::Share)
            .with(name("number.mean"), lambdas[at] * response, Unit::Count)
            .with(name("wait.mean"), *wait, Unit::Seconds)
            .with(name("response.mean"), *response, Unit::Seconds);
    }
    Ok(solution)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn classes(lambdas: &[f64], service: &Distribution) -> Vec<CloudClass> {
        lambdas.iter().map(|lambda| CloudClass { lambda: *lambda, service: service.clone() }).collect()
    }

    #[test]
    fn one_device_with_priorities_is_cobham() {
        // Two classes, constant service 1, ρ = 0.3 and 0.4: R = 0.35; W1 = R/0.7, W2 = R/(0.7·0.3).
        let constant = Distribution::constant(1.0).unwrap();
        for split in [Split::Shared, Split::Random, Split::RoundRobin] {
            let cloud = Cloud::new(1, classes(&[0.3, 0.4], &constant), &split, Order::Priority).unwrap();
            assert!((cloud.waits()[0] - 0.5).abs() < 1e-14, "{split:?}");
            assert!((cloud.waits()[1] - 0.35 / 0.21).abs() < 1e-13, "{split:?}");
        }
    }

    #[test]
    fn shared_exponential_devices_are_erlangs() {
        // M/M/2, a = 1.2: W = C/(2μ − λ), C = a²/(2 + a).
        let cloud = Cloud::new(
            2,
            classes(&[0.5, 0.7], &Distribution::exponential(1.0).unwrap()),
            &Split::Shared,
            Order::Fifo,
        )
        .unwrap();
        let exact = 1.44 / 3.2 / 0.8;
        assert!(cloud.waits().iter().all(|wait| (wait / exact - 1.0).abs() < 1e-14));
    }

    #[test]
    fn in_turns_is_near_erlang_gaps() {
        // E_c/M/1: W = σ/(μ(1 − σ)), σ = (c/(c + (1 − σ)/ρ))^c.
        let service = Distribution::exponential(1.0).unwrap();
        for (devices, load) in [(2u64, 0.5), (4, 0.8), (16, 0.95)] {
            let c = devices as f64;
            let next = |sigma: f64| (c / (c + (1.0 - sigma) / load)).powf(c);
            let sigma = (0..10_000).fold(0.5, |sigma, _| next(sigma));
            let classes = classes(&[load * c], &service);
            let cloud = Cloud::new(devices, classes, &Split::RoundRobin, Order::Fifo).unwrap();
            let exact = sigma / (1.0 - sigma);
            assert!((cloud.waits()[0] / exact - 1.0).abs() < 0.1, "{} {exact}", cloud.waits()[0]);
        }
    }

    #[test]
    fn classes_without_enough_devices_of_their_own_are_named() {
        let classes = classes(&[0.5, 2.5], &Distribution::exponential(1.0).unwrap());
        let told =
            |own| Cloud::new(4, classes.clone(), &Split::ByClass(own), Order::Fifo).unwrap_err().to_string();
        assert!(told(vec![2, 2]).starts_with("lambdas: class 2: no steady state"));
        assert!(told(vec![1, 2]).starts_with("own: ") && told(vec![4, 0]).starts_with("own: "));
        assert_eq!(allotted(4, &classes).unwrap(), vec![1, 3]);
        assert!(allotted(1, &classes).is_err());
    }

    proptest! {
        #[test]
        fn sharing_waits_least_and_chance_most(
            load in 0.5..0.98f64, shares in prop::collection::vec(0.1..1.0f64, 2..4), devices in 4u64..40, cs2 in 0.25..1.0f64,
        ) {
            let service = Distribution::Gamma { shape: 1.0 / cs2, mean: 3.0 };
            let sum: f64 = shares.iter().sum();
            let lambdas: Vec<f64> = shares.iter().map(|s| s / sum * load * devices as f64 / 3.0).collect();
            let mean = |split: Split, order| {
                let cloud = Cloud::new(devices, classes(&lambdas, &service), &split, order).unwrap();
                let total: f64 = lambdas.iter().sum();
                lambdas.iter().zip(cloud.waits()).map(|(l, w)| l * w).sum::<f64>() / total
            };
            let shared = mean(Split::Shared, Order::Fifo);
            let turns = mean(Split::RoundRobin, Order::Fifo);
            let chance = mean(Split::Random, Order::Fifo);
            prop_assert!(shared <= turns && turns <= chance, "{} {} {}", shared, turns, chance);
            // Kleinrock's conservation law: with one mean service the order moves waits between classes only.
            for (split, fifo) in [(Split::Shared, shared), (Split::Random, chance)] {
                prop_assert!((mean(split, Order::Priority) / fifo - 1.0).abs() < 1e-10);
            }
        }
    }
}
