//! Who leads where: routes by number instead of name, and whether customers that follow them are served and leave.

use std::collections::HashMap;

use super::{EXIT, add_up};
use crate::spec::{Arrivals, ByClass, Routes, Source, Spec};
use crate::{ModelError, Result};

/// A destination and its probability.
type Edge = (usize, f64);

/// All routes. Parts are numbered: stations first, then coalescers; the number after them is the way out.
pub(in crate::spec) struct Wiring {
    /// Of each source.
    pub(in crate::spec) first: Vec<Vec<Edge>>,
    /// Of each part.
    pub(in crate::spec) next: Vec<Vec<Edge>>,
    /// How many parts are stations.
    stations: usize,
}

impl Wiring {
    /// Resolves every route.
    pub(in crate::spec) fn of(spec: &Spec) -> Result<Self> {
        let names = spec.stations.iter().map(|s| &s.name).chain(spec.coalescers.iter().map(|c| &c.name));
        let mut number: HashMap<&str, usize> = names.enumerate().map(|(i, n)| (n.as_str(), i)).collect();
        let parts = number.len();
        number.insert(EXIT, parts);
        let resolve = |place: String, routes: Option<&Routes>| match routes {
            None => Ok(vec![(parts, 1.0)]),
            Some(routes) => edges(&place, routes, &number),
        };
        let first = spec.sources.iter().map(|source| {
            let place = format!("source {}: to", source.name);
            if source.to.is_none() {
                return Err(ModelError::parameter(
                    place,
                    "it is missing",
                    "name the part where its customers go first",
                ));
            }
            let edges = resolve(place.clone(), source.to.as_ref())?;
            if edges.iter().any(|(part, _)| *part == parts) {
                return Err(ModelError::parameter(
                    place,
                    "who leaves at once was never here",
                    "name stations or coalescers",
                ));
            }
            Ok(edges)
        });
        let first = first.collect::<Result<_>>()?;
        let stations =
            spec.stations.iter().map(|s| resolve(format!("station {}: to", s.name), s.to.0.as_ref()));
        let coalescers =
            spec.coalescers.iter().map(|c| resolve(format!("coalescer {}: to", c.name), c.to.0.as_ref()));
        let next = stations.chain(coalescers).collect::<Result<_>>()?;
        Ok(Wiring { first, next, stations: spec.stations.len() })
    }

    /// How many parts there are, the way out not counted.
    pub(in crate::spec) fn parts(&self) -> usize {
        self.next.len()
    }

    /// The parts that customers of these sources may come to.
    pub(super) fn reached(&self, from: impl Iterator<Item = usize>) -> Vec<bool> {
        self.spread(from.flat_map(|source| &self.first[source]).map(|edge| edge.0), |_| true)
    }

    /// The numbers that can be reached from these, where only some are left again.
    fn spread(&self, from: impl Iterator<Item = usize>, left: impl Fn(usize) -> bool) -> Vec<bool> {
        let mut seen = vec![false; self.parts() + 1];
        let mut open: Vec<usize> = Vec::new();
        let mut visit = |part: usize, open: &mut Vec<usize>| {
            if !std::mem::replace(&mut seen[part], true) {
                open.push(part);
            }
        };
        from.for_each(|part| visit(part, &mut open));
        while let Some(part) = open.pop() {
            if part < self.parts() && left(part) {
                self.next[part].iter().for_each(|(to, _)| visit(*to, &mut open));
            }
        }
        seen
    }

    /// Refuses parts that nobody comes to or leaves, circles without service, and populations that would stand still.
    pub(super) fn check(&self, spec: &Spec) -> Result<()> {
        let reached = self.reached(0..self.first.len());
        let leaving = self.leaving();
        for part in 0..self.parts() {
            if !reached[part] {
                return Err(ModelError::parameter(
                    self.named(spec, part),
                    "nobody comes here",
                    "lead a source or a part here by its `to`, or remove it",
                ));
            }
            if !leaving[part] {
                return Err(ModelError::parameter(
                    format!("{}: to", self.named(spec, part)),
                    "who comes here never leaves",
                    "let a share go to exit",
                ));
            }
        }
        if let Some(part) = self.circle_without_service() {
            return Err(ModelError::parameter(
                format!("{}: to", self.named(spec, part)),
                "customers go round in a circle without a station",
                "put a station into the circle",
            ));
        }
        self.check_services(spec)?;
        self.check_populations(spec)
    }

    fn named(&self, spec: &Spec, part: usize) -> String {
        match part.checked_sub(self.stations) {
            None => format!("station {}", spec.stations[part].name),
            Some(coalescer) => format!("coalescer {}", spec.coalescers[coalescer].name),
        }
    }

    /// The parts from which the way out can be reached.
    fn leaving(&self) -> Vec<bool> {
        let mut before = vec![Vec::new(); self.parts() + 1];
        for (part, edges) in self.next.iter().enumerate() {
            edges.iter().for_each(|(to, _)| before[*to].push(part));
        }
        let mut seen = vec![false; self.parts() + 1];
        let mut open = vec![self.parts()];
        while let Some(part) = open.pop() {
            if !std::mem::replace(&mut seen[part], true) {
                open.extend(&before[part]);
            }
        }
        seen
    }

    /// A coalescer that can be reached from itself through coalescers only.
    fn circle_without_service(&self) -> Option<usize> {
        let held = |part: &usize| (self.stations..self.parts()).contains(part);
        let mut entries = vec![0_u32; self.parts() + 1];
        let inner = |part: usize| self.next[part].iter().map(|edge| edge.0).filter(held);
        (self.stations..self.parts()).flat_map(inner).for_each(|to| entries[to] += 1);
        let mut open: Vec<usize> = (self.stations..self.parts()).filter(|part| entries[*part] == 0).collect();
        while let Some(part) = open.pop() {
            for to in inner(part) {
                entries[to] -= 1;
                if entries[to] == 0 {
                    open.push(to);
                }
            }
        }
        (self.stations..self.parts()).find(|part| entries[*part] > 0)
    }

    /// Every class that comes to a station has a service there.
    fn check_services(&self, spec: &Spec) -> Result<()> {
        if spec.stations.iter().all(|s| matches!(s.service, ByClass::All(_))) {
            return Ok(());
        }
        for class in &spec.classes {
            let of_class = |source: &Source| source.class.as_ref() == Some(&class.name);
            let reached = self.reached((0..spec.sources.len()).filter(|i| of_class(&spec.sources[*i])));
            for (station, _) in spec.stations.iter().zip(&reached).filter(|(_, reached)| **reached) {
                if let ByClass::Each(services) = &station.service
                    && !services.contains_key(&class.name)
                {
                    return Err(ModelError::parameter(
                        format!("station {}: service of {}", station.name, class.name),
                        "it is missing",
                        "give every class that comes here a service",
                    ));
                }
            }
        }
        Ok(())
    }

    /// A closed population neither goes round without time passing nor waits for itself.
    fn check_populations(&self, spec: &Spec) -> Result<()> {
        let closed = |i: &usize| matches!(spec.sources[*i].arrivals, Arrivals::Closed(_));
        let sources = || 0..spec.sources.len();
        let by_open = self.reached(sources().filter(|i| !closed(i)));
        let by_closed = self.reached(sources().filter(closed));
        let population = |source: &Source| match &source.arrivals {
            Arrivals::Closed(population) => u64::from(population.customers),
            _ => 0,
        };
        let all: u64 = spec.sources.iter().map(population).sum();
        crate::check::count("closed populations: customers of all", all, 0, super::LARGEST_SIZE)?;
        for (i, source) in spec.sources.iter().enumerate() {
            let Arrivals::Closed(customers) = &source.arrivals else { continue };
            if customers.think.is_some() {
                continue;
            }
            let think = |reason: String| {
                let name = format!("source {}: closed: think", source.name);
                Err(ModelError::parameter(name, reason, "give customers a time to think"))
            };
            let first = self.first[i].iter().map(|edge| edge.0);
            if self.spread(first, |part| part >= self.stations)[self.parts()] {
                return think("without it customers may come back at once without being served".into());
            }
            let reached = self.reached(std::iter::once(i));
            let full = spec.stations.iter().enumerate().find(|(part, station)| {
                let overflows = |capacity| by_open[*part] || u64::from(capacity) < all;
                reached[*part] && station.capacity.is_some_and(overflows)
            });
            if let Some((_, station)) = full {
                return think(format!("who finds station {} full would come back at once", station.name));
            }
        }
        let alone = |part: usize| by_closed[part] && !by_open[part];
        self.check_holding(spec, all, alone)
    }

    /// Parts that wait for a number of customers from closed populations alone: all of them together must not be able
    /// to hold everybody.
    fn check_holding(&self, spec: &Spec, all: u64, alone: impl Fn(usize) -> bool) -> Result<()> {
        let stations = spec.stations.iter().map(|s| {
            let sleeping = s.wake.count.filter(|_| s.wake.timer.is_none()).unwrap_or(1);
            sleeping.max(s.bulk.as_ref().map_or(1, |bulk| bulk.least))
        });
        // A cap or a poll says when a release is allowed, not when it is time.
        let coalescers = spec.coalescers.iter().map(|c| c.count.filter(|_| c.timer.is_none()).unwrap_or(1));
        let mut held = 0;
        for (part, count) in stations.chain(coalescers).enumerate().filter(|(part, _)| alone(*part)) {
            held += u64::from(count) - 1;
            if held >= all {
                return Err(ModelError::parameter(
                    format!("{}: count", self.named(spec, part)),
                    format!("all {all} customers could wait for one more who never comes"),
                    "give a larger population, a smaller count, or a timer",
                ));
            }
        }
        Ok(())
    }
}

fn edges(place: &str, routes: &Routes, number: &HashMap<&str, usize>) -> Result<Vec<Edge>> {
    let find = |name: &str| {
        number.get(name).copied().ok_or_else(|| {
            let shown: String = name.chars().take(64).flat_map(char::escape_debug).collect();
            ModelError::parameter(
                place,
                format!("there is no part named `{shown}`"),
                "name a station, a coalescer, or exit",
            )
        })
    };
    match routes {
        Routes::Always(name) => Ok(vec![(find(name)?, 1.0)]),
        Routes::Shares(shares) => {
            add_up(place, shares.values().copied())?;
            let edges = shares.iter().map(|(name, share)| Ok((find(name)?, *share)));
            let edges: Vec<Edge> = edges.collect::<Result<_>>()?;
            Ok(edges.into_iter().filter(|(_, share)| *share > 0.0).collect())
        }
    }
}
