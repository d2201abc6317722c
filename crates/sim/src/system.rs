//! A specification with numbers instead of names, and samplers instead of distributions.

use std::collections::HashMap;

use tollway_model::spec::{Arrivals, ByClass, Coalescer, Order, Routes, Source, Spec, Station, Wake};

use crate::SimError;
use crate::sampler::Sampler;

/// Where a customer goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    Exit,
    Station(u32),
    Coalescer(u32),
}

/// Where the customers of a part go: one place, or one of several.
#[derive(Clone, Debug)]
pub(crate) struct Route {
    /// The only place, where there are no shares.
    pub(crate) always: Node,
    /// Cumulative probability and place.
    pub(crate) shares: Box<[(f64, Node)]>,
}

/// A system, ready to be simulated.
#[derive(Clone, Debug)]
pub(crate) struct System {
    /// Names of the classes; none where all customers are alike.
    pub(crate) classes: Vec<String>,
    pub(crate) sources: Vec<SourcePlan>,
    pub(crate) stations: Vec<StationPlan>,
    pub(crate) coalescers: Vec<CoalescerPlan>,
}

#[derive(Clone, Debug)]
pub(crate) struct SourcePlan {
    pub(crate) name: String,
    pub(crate) class: u16,
    pub(crate) gaps: Gaps,
    /// Cumulative probability and size of a batch; empty: always one.
    pub(crate) batch: Box<[(f64, u32)]>,
    pub(crate) to: Route,
}

/// When customers come.
#[derive(Clone, Debug)]
pub(crate) enum Gaps {
    Renewal(Sampler),
    /// Rate and mean stay in each state.
    Switching(Box<[(f64, f64)]>),
    Trace(Box<[f64]>),
    Closed {
        customers: u32,
        think: Option<Sampler>,
    },
}

#[derive(Clone, Debug)]
pub(crate) struct StationPlan {
    pub(crate) name: String,
    pub(crate) servers: u32,
    /// One service for all, or one for each class.
    pub(crate) services: Vec<Sampler>,
    /// Mean (seconds) and variance of each.
    pub(crate) moments: Vec<(f64, f64)>,
    pub(crate) capacity: Option<u32>,
    pub(crate) order: Order,
    /// The level of each class in the queue: 0 is served first. Empty: all wait in one queue.
    pub(crate) levels: Vec<u16>,
    pub(crate) bulk: Option<BulkPlan>,
    pub(crate) wake: Option<WakePlan>,
    pub(crate) to: Route,
}

#[derive(Clone, Debug)]
pub(crate) struct BulkPlan {
    pub(crate) least: u32,
    pub(crate) most: u32,
    /// With its mean and variance.
    pub(crate) each: Option<(Sampler, f64, f64)>,
}

#[derive(Clone, Debug)]
pub(crate) struct WakePlan {
    pub(crate) count: Option<u32>,
    pub(crate) timer: Option<f64>,
    pub(crate) poll: Option<Sampler>,
    pub(crate) spin: Option<f64>,
    pub(crate) setup: Option<Sampler>,
}

#[derive(Clone, Debug)]
pub(crate) struct CoalescerPlan {
    pub(crate) name: String,
    pub(crate) count: Option<u32>,
    pub(crate) timer: Option<f64>,
    /// The least time between two releases.
    pub(crate) gap: Option<f64>,
    pub(crate) poll: Option<f64>,
    pub(crate) adaptive: Option<AdaptivePlan>,
    pub(crate) to: Route,
}

#[derive(Clone, Debug)]
pub(crate) struct AdaptivePlan {
    pub(crate) window: f64,
    /// Customers in a window from which on the least time between two releases holds, rising.
    pub(crate) steps: Box<[(f64, f64)]>,
}

impl System {
    /// Of a specification that has passed its checks.
    pub(crate) fn new(spec: &Spec) -> Result<Self, SimError> {
        let stations = spec.stations.iter().enumerate().map(|(i, s)| (&*s.name, Node::Station(i as u32)));
        let coalescers =
            spec.coalescers.iter().enumerate().map(|(i, c)| (&*c.name, Node::Coalescer(i as u32)));
        let nodes: HashMap<&str, Node> = stations.chain(coalescers).chain([("exit", Node::Exit)]).collect();
        let classes: Vec<String> = spec.classes.iter().map(|class| class.name.clone()).collect();
        let levels = levels(spec);
        Ok(System {
            sources: spec.sources.iter().map(|s| source(s, &classes, &nodes)).collect::<Result<_, _>>()?,
            stations: (spec.stations.iter())
                .map(|s| station(s, &classes, &levels, &nodes))
                .collect::<Result<_, _>>()?,
            coalescers: spec.coalescers.iter().map(|c| coalescer(c, &nodes)).collect(),
            classes,
        })
    }

    /// Whether Lindley's recursion tells everything: one stream of single customers to one server who takes them as they
    /// come and lets them go.
    pub(crate) fn is_lindley(&self) -> bool {
        let [source] = &*self.sources else { return false };
        let [station] = &*self.stations else { return false };
        self.coalescers.is_empty()
            && source.batch.is_empty()
            && !matches!(source.gaps, Gaps::Closed { .. })
            && source.to.shares.is_empty()
            && station.servers == 1
            && station.capacity.is_none()
            // One source has one class, and within a class all orders but sharing are first come, first served.
            && station.order != Order::ProcessorSharing
            && station.bulk.is_none()
            && station.wake.is_none()
            && station.to.shares.is_empty()
            && station.to.always == Node::Exit
    }

    /// How a place is told to people.
    pub(crate) fn name(&self, node: Node) -> String {
        match node {
            Node::Exit => "exit".into(),
            Node::Station(i) => format!("station {}", self.stations[i as usize].name),
            Node::Coalescer(i) => format!("coalescer {}", self.coalescers[i as usize].name),
        }
    }
}

/// The rank of each class's priority among those that there are.
fn levels(spec: &Spec) -> Vec<u16> {
    let mut priorities: Vec<u32> = spec.classes.iter().map(|class| class.priority).collect();
    priorities.sort_unstable();
    priorities.dedup();
    let rank = |priority: &u32| priorities.partition_point(|other| other < priority) as u16;
    spec.classes.iter().map(|class| rank(&class.priority)).collect()
}

fn route(routes: Option<&Routes>, nodes: &HashMap<&str, Node>) -> Route {
    // Names were checked; one that is not known would lead out.
    let node = |name: &String| nodes.get(name.as_str()).copied().unwrap_or(Node::Exit);
    match routes {
        None => Route { always: Node::Exit, shares: Box::default() },
        Some(Routes::Always(name)) => Route { always: node(name), shares: Box::default() },
        Some(Routes::Shares(shares)) => {
            let mut given = shares.iter().filter(|(_, share)| **share > 0.0);
            if let (Some((name, _)), None) = (given.next(), given.next()) {
                return Route { always: node(name), shares: Box::default() };
            }
            let places =
                shares.iter().filter(|(_, share)| **share > 0.0).map(|(name, share)| (*share, node(name)));
            Route { always: Node::Exit, shares: cumulative(places) }
        }
    }
}

/// Probabilities summed up; the last sum is 1, whatever rounding did.
fn cumulative<T>(shares: impl Iterator<Item = (f64, T)>) -> Box<[(f64, T)]> {
    let mut sum = 0.0;
    let summed = shares.map(|(share, what)| {
        sum += share;
        (sum, what)
    });
    let mut summed: Vec<(f64, T)> = summed.collect();
    if let Some(last) = summed.last_mut() {
        last.0 = 1.0;
    }
    summed.into()
}

fn source(source: &Source, classes: &[String], nodes: &HashMap<&str, Node>) -> Result<SourcePlan, SimError> {
    let gaps = match &source.arrivals {
        Arrivals::Interarrival(gaps) => Gaps::Renewal(Sampler::new(gaps)?),
        Arrivals::Mmpp(states) => {
            Gaps::Switching(states.rates.iter().copied().zip(states.stays.iter().copied()).collect())
        }
        Arrivals::Trace(gaps) => Gaps::Trace(gaps.clone().into()),
        Arrivals::Closed(population) => Gaps::Closed {
            customers: population.customers,
            think: population.think.as_ref().map(Sampler::new).transpose()?,
        },
    };
    let class = classes.iter().position(|class| Some(class) == source.class.as_ref()).unwrap_or(0);
    Ok(SourcePlan {
        name: source.name.clone(),
        class: class as u16,
        gaps,
        batch: cumulative(source.batch.iter().filter(|(_, p)| *p > 0.0).map(|(size, p)| (*p, *size))),
        to: route(source.to.as_ref(), nodes),
    })
}

fn station(
    station: &Station,
    classes: &[String],
    levels: &[u16],
    nodes: &HashMap<&str, Node>,
) -> Result<StationPlan, SimError> {
    let services: Vec<_> = match &station.service {
        ByClass::All(service) => vec![service],
        // A class that never comes here may lack a service: any will do for it.
        ByClass::Each(services) => {
            let any = services.values().next();
            classes.iter().filter_map(|class| services.get(class).or(any)).collect()
        }
    };
    let by_level = matches!(station.order, Order::Priority | Order::PreemptiveResume);
    let bulk = match &station.bulk {
        None => None,
        Some(bulk) => Some(BulkPlan {
            least: bulk.least,
            most: bulk.most,
            each: match &bulk.each {
                None => None,
                Some(each) => Some((Sampler::new(each)?, each.mean(), each.variance())),
            },
        }),
    };
    Ok(StationPlan {
        name: station.name.clone(),
        servers: station.servers,
        moments: services.iter().map(|service| (service.mean(), service.variance())).collect(),
        services: services.into_iter().map(Sampler::new).collect::<Result<_, _>>()?,
        capacity: station.capacity,
        order: station.order,
        levels: if by_level { levels.to_vec() } else { Vec::new() },
        bulk,
        wake: (!station.wake.is_at_once()).then(|| wake(&station.wake)).transpose()?,
        to: route(station.to.0.as_ref(), nodes),
    })
}

fn wake(wake: &Wake) -> Result<WakePlan, SimError> {
    Ok(WakePlan {
        count: wake.count,
        timer: wake.timer,
        poll: wake.poll.as_ref().map(Sampler::new).transpose()?,
        spin: wake.spin,
        setup: wake.setup.as_ref().map(Sampler::new).transpose()?,
    })
}

fn coalescer(coalescer: &Coalescer, nodes: &HashMap<&str, Node>) -> CoalescerPlan {
    CoalescerPlan {
        name: coalescer.name.clone(),
        count: coalescer.count,
        timer: coalescer.timer,
        gap: coalescer.cap.map(f64::recip),
        poll: coalescer.poll,
        adaptive: coalescer.adaptive.as_ref().map(|table| AdaptivePlan {
            window: table.window,
            steps: table
                .from
                .iter()
                .zip(&table.caps)
                .map(|(f, cap)| (f * table.window, cap.recip()))
                .collect(),
        }),
        to: route(coalescer.to.0.as_ref(), nodes),
    }
}
