//! A specification with numbers for names, and only what a chain can stand for.

use std::collections::HashMap;

use super::Unsuited;
use super::phases::Phases;
use crate::spec::{Arrivals, Bulk, ByClass, Coalescer, Order, Routes, Source, Spec, Station, Wake};

/// A part and the probability to go there; `None` is out of the system. Stations come first, then coalescers.
pub(super) type Route = Vec<(Option<usize>, f64)>;

/// Customers that behave alike: of one class, from open sources or from one population.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Kind {
    /// Its number in the specification.
    pub class: Option<usize>,
    /// The source that it goes back to.
    pub home: Option<usize>,
}

pub(super) struct SourcePlan {
    pub kind: usize,
    pub entry: Route,
    pub batch: Vec<(u32, f64)>,
    pub rhythm: Rhythm,
}

/// When customers come.
pub(super) enum Rhythm {
    Renewal(Phases),
    Switching { rates: Vec<f64>, stays: Vec<f64> },
    Closed { customers: u32, think: Option<Phases> },
}

pub(super) struct StationPlan {
    pub servers: u32,
    pub capacity: Option<u32>,
    pub order: Order,
    /// By kind; `None` of one that never comes.
    pub services: Vec<Option<Phases>>,
    /// By kind: 0 is served first.
    pub levels: Vec<u32>,
    pub bulk: Option<Bulk>,
    pub wake: Option<WakePlan>,
}

pub(super) struct WakePlan {
    pub count: Option<u32>,
    pub poll: Option<Phases>,
    pub setup: Option<Phases>,
}

pub(super) struct Plan {
    pub kinds: Vec<Kind>,
    pub sources: Vec<SourcePlan>,
    pub stations: Vec<StationPlan>,
    /// After how many customers each coalescer lets go.
    pub counts: Vec<u32>,
    /// From each part.
    pub routes: Vec<Route>,
}

impl Plan {
    pub(super) fn of(spec: &Spec) -> Result<Self, Unsuited> {
        let stations = spec.stations.iter().map(|s| s.name.as_str());
        let names = stations.chain(spec.coalescers.iter().map(|c| c.name.as_str()));
        let numbers: HashMap<&str, usize> = names.enumerate().map(|(i, name)| (name, i)).collect();
        let mut kinds = Vec::new();
        let sources = spec.sources.iter().enumerate();
        let sources = sources
            .map(|(i, source)| source_plan(spec, i, source, &numbers, &mut kinds))
            .collect::<Result<_, _>>()?;
        let leaving = spec.stations.iter().map(|s| &s.to).chain(spec.coalescers.iter().map(|c| &c.to));
        let routes = leaving.map(|exit| route(exit.0.as_ref(), &numbers)).collect::<Result<_, _>>()?;
        let counts = spec.coalescers.iter().map(count_of).collect::<Result<_, _>>()?;
        let stations =
            spec.stations.iter().map(|s| station_plan(spec, s, &kinds)).collect::<Result<_, _>>()?;
        let plan = Plan { kinds, sources, stations, counts, routes };
        plan.check_those_who_come_back_at_once(spec)?;
        Ok(plan)
    }

    /// Customers who do not think, and find no place, would come back for ever without time passing.
    fn check_those_who_come_back_at_once(&self, spec: &Spec) -> Result<(), Unsuited> {
        let at_once = |source: &SourcePlan| matches!(source.rhythm, Rhythm::Closed { think: None, .. });
        let Some(i) = self.sources.iter().position(at_once) else { return Ok(()) };
        let all_closed = self.kinds.iter().all(|kind| kind.home.is_some());
        let unlimited = self.stations.iter().all(|station| station.capacity.is_none());
        if all_closed && unlimited && self.counts.is_empty() {
            return Ok(());
        }
        let place = format!("source {}", spec.sources[i].name);
        Err(Unsuited::Order { place, why: "customers who come back at once to where not all are let in" })
    }

    /// Whether somebody may be turned away after having been served or held elsewhere: then the customers that leave
    /// are not those that Little's law speaks of.
    pub(super) fn loses_on_the_way(&self) -> bool {
        let limited = |to: &Option<usize>| {
            to.and_then(|to| self.stations.get(to)).is_some_and(|s| s.capacity.is_some())
        };
        self.routes.iter().flatten().any(|(to, _)| limited(to))
    }
}

fn source_plan(
    spec: &Spec,
    number: usize,
    source: &Source,
    numbers: &HashMap<&str, usize>,
    kinds: &mut Vec<Kind>,
) -> Result<SourcePlan, Unsuited> {
    let place = format!("source {}", source.name);
    let rhythm = match &source.arrivals {
        Arrivals::Interarrival(gaps) => Rhythm::Renewal(Phases::of(&place, gaps)?),
        Arrivals::Mmpp(switching) => {
            Rhythm::Switching { rates: switching.rates.clone(), stays: switching.stays.clone() }
        }
        Arrivals::Trace(_) => return Err(Unsuited::NotMarkovian { place, what: "a trace".into() }),
        Arrivals::Closed(population) => Rhythm::Closed {
            customers: population.customers,
            think: population.think.as_ref().map(|think| Phases::of(&place, think)).transpose()?,
        },
    };
    let class = source.class.as_ref().and_then(|class| spec.classes.iter().position(|c| c.name == *class));
    let home = matches!(rhythm, Rhythm::Closed { .. }).then_some(number);
    let kind = Kind { class, home };
    let kind = kinds.iter().position(|known| *known == kind).unwrap_or_else(|| {
        kinds.push(kind);
        kinds.len() - 1
    });
    let batch = if source.batch.is_empty() { vec![(1, 1.0)] } else { source.batch.clone() };
    let entry = match (&source.to, numbers.len()) {
        // Where there is one part only, that.
        (None, 1) => vec![(Some(0), 1.0)],
        (to, _) => route(to.as_ref(), numbers)?,
    };
    Ok(SourcePlan { kind, entry, batch, rhythm })
}

fn route(routes: Option<&Routes>, numbers: &HashMap<&str, usize>) -> Result<Route, Unsuited> {
    let part = |name: &str| match (name, numbers.get(name)) {
        (_, Some(part)) => Ok(Some(*part)),
        ("exit", None) => Ok(None),
        _ => Err(Unsuited::Unknown { name: name.into() }),
    };
    match routes {
        None => Ok(vec![(None, 1.0)]),
        Some(Routes::Always(name)) => Ok(vec![(part(name)?, 1.0)]),
        Some(Routes::Shares(shares)) => {
            let taken = shares.iter().filter(|(_, share)| **share > 0.0);
            taken.map(|(name, share)| Ok((part(name)?, *share))).collect()
        }
    }
}

fn count_of(coalescer: &Coalescer) -> Result<u32, Unsuited> {
    let place = format!("coalescer {}", coalescer.name);
    let constants = [
        ("timer", coalescer.timer.is_some()),
        ("cap", coalescer.cap.is_some()),
        ("poll", coalescer.poll.is_some()),
        ("adaptive", coalescer.adaptive.is_some()),
    ];
    match constants.iter().find(|(_, given)| *given) {
        Some((what, _)) => Err(Unsuited::NotMarkovian { place, what: format!("its {what}") }),
        None => Ok(coalescer.count.unwrap_or(1)),
    }
}

fn station_plan(spec: &Spec, station: &Station, kinds: &[Kind]) -> Result<StationPlan, Unsuited> {
    let place = format!("station {}", station.name);
    let class_of = |kind: &Kind| kind.class.and_then(|class| spec.classes.get(class));
    let services = kinds.iter().map(|kind| {
        let service = match &station.service {
            ByClass::All(service) => Some(service),
            ByClass::Each(services) => class_of(kind).and_then(|class| services.get(&class.name)),
        };
        service.map(|service| Phases::of(&place, service)).transpose()
    });
    let services = services.collect::<Result<Vec<_>, _>>()?;
    let heeded = matches!(station.order, Order::Priority | Order::PreemptiveResume);
    let levels = kinds.iter().map(|kind| class_of(kind).filter(|_| heeded).map_or(0, |class| class.priority));
    let levels: Vec<u32> = levels.collect();
    let here =
        || services.iter().zip(&levels).filter_map(|(service, level)| Some((service.as_ref()?, level)));
    if station.order == Order::PreemptiveResume {
        if here().any(|(service, _)| !service.is_exponential()) {
            return Err(Unsuited::Order { place, why: "an interrupted service with a memory" });
        }
        if here().any(|(_, level)| here().filter(|(_, other)| *other == level).count() > 1) {
            return Err(Unsuited::Order {
                place,
                why: "several kinds of customers of one priority that are interrupted",
            });
        }
    }
    if let Some(bulk) = &station.bulk {
        if kinds.len() > 1 {
            return Err(Unsuited::Order { place, why: "bulks of several kinds of customers" });
        }
        if bulk.each.is_some() {
            return Err(Unsuited::NotMarkovian { place, what: "a time for each customer of a bulk".into() });
        }
    }
    let wake = if station.wake.is_at_once() { None } else { Some(wake_plan(&place, &station.wake)?) };
    Ok(StationPlan {
        servers: station.servers,
        capacity: station.capacity,
        order: station.order,
        services,
        levels,
        bulk: station.bulk.clone(),
        wake,
    })
}

fn wake_plan(place: &str, wake: &Wake) -> Result<WakePlan, Unsuited> {
    for (what, given) in [("timer", wake.timer.is_some()), ("spin", wake.spin.is_some())] {
        if given {
            return Err(Unsuited::NotMarkovian { place: place.into(), what: format!("its {what}") });
        }
    }
    let phases = |time: &Option<_>| time.as_ref().map(|time| Phases::of(place, time)).transpose();
    Ok(WakePlan { count: wake.count, poll: phases(&wake.poll)?, setup: phases(&wake.setup)? })
}
