//! Figures of a system in steady state, under the names that formulas and simulations use.

use std::collections::HashMap;

use super::moves::{Event, Moves};
use super::plan::{Plan, StationPlan};
use super::state::State;
use crate::spec::{Order, Spec};
use crate::{Result, Solution, Unit};

/// Averages over time, and how often things happen.
pub(super) struct Averages {
    /// Customers at each part, by kind.
    numbers: Vec<Vec<f64>>,
    /// Customers in service at each station, by kind.
    served: Vec<Vec<f64>>,
    /// Servers busy with each kind, by station.
    busy: Vec<Vec<f64>>,
    idle: f64,
    /// Per second.
    rates: HashMap<Event, f64>,
}

impl Averages {
    /// # Errors
    /// When the allowance ends.
    pub(super) fn of(moves: &Moves<'_>, states: &[State], shares: &[f64]) -> Result<Self> {
        let plan = moves.plan;
        let table = |rows: usize| vec![vec![0.0; plan.kinds.len()]; rows];
        let stations = plan.stations.len();
        let mut averages = Averages {
            numbers: table(plan.routes.len()),
            served: table(stations),
            busy: table(stations),
            idle: 0.0,
            rates: HashMap::new(),
        };
        for (state, share) in states.iter().zip(shares).filter(|(_, share)| **share > 0.0) {
            averages.add_state(plan, state, *share);
            for branch in moves.from(state)? {
                for event in branch.events {
                    *averages.rates.entry(event).or_default() += share * branch.rate;
                }
            }
        }
        Ok(averages)
    }

    fn add_state(&mut self, plan: &Plan, state: &State, share: f64) {
        if state.is_empty() {
            self.idle += share;
        }
        for (i, (station, its)) in state.stations.iter().zip(&plan.stations).enumerate() {
            let inside = f64::from(station.in_service().max(1));
            for (served, count) in &station.served {
                let kind = usize::from(served.kind);
                let count = f64::from(*count);
                self.served[i][kind] += share * count;
                self.numbers[i][kind] += share * count;
                self.busy[i][kind] += share
                    * match (&its.bulk, its.order) {
                        (Some(_), _) => 1.0,
                        (None, Order::ProcessorSharing) => count * (f64::from(its.servers) / inside).min(1.0),
                        (None, _) => count,
                    };
            }
            for (kind, number) in self.numbers[i].iter_mut().enumerate() {
                *number += share * f64::from(station.queue.count(kind));
            }
        }
        for (held, numbers) in state.held.iter().zip(&mut self.numbers[plan.stations.len()..]) {
            for (kind, number) in numbers.iter_mut().enumerate() {
                *number += share * f64::from(held.count(kind));
            }
        }
    }

    /// How often, per second.
    fn rate(&self, event: Event) -> f64 {
        self.rates.get(&event).copied().unwrap_or(0.0)
    }

    /// How far the mean number at a station may be off because its queue was cut off at `limit`, as a share of itself:
    /// each customer turned away there was one of about so many, or of the mean where that is less than one.
    pub(super) fn cut(&self, station: usize, limit: u32) -> f64 {
        let arrived = self.rate(Event::Arrived(station));
        let mean: f64 = self.numbers[station].iter().sum();
        if arrived == 0.0 {
            return 0.0;
        }
        self.rate(Event::Cut(station)) / arrived * f64::from(limit) / mean.min(1.0)
    }

    /// All figures of the system.
    pub(super) fn solution(&self, spec: &Spec, plan: &Plan) -> Solution {
        let all: Vec<usize> = (0..plan.kinds.len()).collect();
        let mut solution = Solution::new();
        if let [only] = &plan.stations[..] {
            solution = solution.with("utilization", self.utilization(0, &all, only), Unit::Share);
        }
        solution = solution.with("idle", self.idle, Unit::Share);
        solution = self.of_kinds(solution, plan, "", &all);
        if let [only] = &plan.stations[..] {
            solution = self.of_service(solution, "", 0, only, plan.counts.is_empty());
        }
        if !plan.counts.is_empty() {
            let coalescers = plan.stations.len()..plan.routes.len();
            let releases: f64 = coalescers.clone().map(|part| self.rate(Event::Released(part))).sum();
            let released: f64 = coalescers.map(|part| self.rate(Event::Arrived(part))).sum();
            solution = solution.with("interrupts.rate", releases, Unit::PerSecond);
            solution = solution.with("batch.mean", released / releases, Unit::Count);
        }
        if plan.routes.len() > 1 {
            for (i, station) in spec.stations.iter().enumerate() {
                solution =
                    self.of_station(solution, &format!("station.{}.", station.name), i, &plan.stations[i]);
            }
            for (i, coalescer) in spec.coalescers.iter().enumerate() {
                let part = plan.stations.len() + i;
                solution = self.of_coalescer(solution, &format!("coalescer.{}.", coalescer.name), part);
            }
        }
        for (i, class) in spec.classes.iter().enumerate() {
            let kinds: Vec<usize> =
                all.iter().copied().filter(|kind| plan.kinds[*kind].class == Some(i)).collect();
            let prefix = format!("class.{}.", class.name);
            solution = self.of_kinds(solution, plan, &prefix, &kinds);
            if let [only] = &plan.stations[..]
                && only.bulk.is_none()
            {
                let utilization = self.utilization(0, &kinds, only);
                solution = solution.with(format!("{prefix}utilization"), utilization, Unit::Share);
            }
        }
        solution
    }

    fn utilization(&self, station: usize, kinds: &[usize], plan: &StationPlan) -> f64 {
        let busy: f64 = kinds.iter().map(|kind| self.busy[station][*kind]).sum();
        crate::check::share_of_time(busy / f64::from(plan.servers))
    }

    /// Of some kinds of customers, wherever they are.
    fn of_kinds(&self, mut solution: Solution, plan: &Plan, prefix: &str, kinds: &[usize]) -> Solution {
        let name = |what: &str| format!("{prefix}{what}");
        let stations = plan.stations.len();
        let sum = |event: fn(usize) -> Event| kinds.iter().map(|kind| self.rate(event(*kind))).sum::<f64>();
        let at = |table: &[Vec<f64>]| {
            table.iter().map(|row| kinds.iter().map(|k| row[*k]).sum::<f64>()).sum::<f64>()
        };
        let left = sum(Event::Left);
        let (number, held) = (at(&self.numbers), at(&self.numbers[stations..]));
        let queue = (number - held - at(&self.served)).max(0.0);
        solution = solution.with(name("throughput"), left, Unit::PerSecond);
        if plan.stations.iter().any(|station| station.capacity.is_some()) {
            solution = solution.with(name("loss"), sum(Event::Lost) / sum(Event::Entered), Unit::Share);
        }
        solution = solution.with(name("number.mean"), number, Unit::Count);
        let waits = plan.stations.iter().any(has_queue);
        if waits && prefix.is_empty() {
            solution = solution.with(name("queue.mean"), queue, Unit::Count);
        }
        // Little's law speaks of all who were there, and these are those who left.
        if plan.loses_on_the_way() {
            return solution;
        }
        if waits {
            solution = solution.with(name("wait.mean"), queue / left, Unit::Seconds);
            if let [only] = &plan.stations[..]
                && only.tells_who_waits()
                && plan.routes[0].iter().all(|(to, _)| to.is_none())
            {
                let at_once: f64 = kinds.iter().map(|kind| self.rate(Event::AtOnce(0, *kind))).sum();
                let accepted = sum(Event::Entered) - sum(Event::Lost);
                solution = solution.with(name("wait.probability"), waited(at_once, accepted), Unit::Share);
            }
        }
        solution = solution.with(name("response.mean"), number / left, Unit::Seconds);
        if !plan.counts.is_empty() {
            solution = solution.with(name("delay.mean"), held / left, Unit::Seconds);
        }
        solution
    }

    fn of_station(&self, mut solution: Solution, prefix: &str, i: usize, plan: &StationPlan) -> Solution {
        let name = |what: &str| format!("{prefix}{what}");
        let all: Vec<usize> = (0..plan.services.len()).collect();
        let (arrived, lost) = (self.rate(Event::Arrived(i)), self.rate(Event::Full(i)));
        let accepted = arrived - lost;
        let number: f64 = self.numbers[i].iter().sum();
        let queue = (number - self.served[i].iter().sum::<f64>()).max(0.0);
        solution = solution.with(name("utilization"), self.utilization(i, &all, plan), Unit::Share).with(
            name("throughput"),
            accepted,
            Unit::PerSecond,
        );
        if plan.capacity.is_some() {
            solution = solution.with(name("loss"), lost / arrived, Unit::Share);
        }
        solution = solution.with(name("number.mean"), number, Unit::Count);
        if has_queue(plan) {
            solution = solution.with(name("queue.mean"), queue, Unit::Count).with(
                name("wait.mean"),
                queue / accepted,
                Unit::Seconds,
            );
            if plan.tells_who_waits() {
                let at_once: f64 = all.iter().map(|kind| self.rate(Event::AtOnce(i, *kind))).sum();
                solution = solution.with(name("wait.probability"), waited(at_once, accepted), Unit::Share);
            }
        }
        solution = solution.with(name("response.mean"), number / accepted, Unit::Seconds);
        self.of_service(solution, prefix, i, plan, true)
    }

    /// What only stations with bulks or sleep have; `interrupts` unless coalescers own that name.
    fn of_service(
        &self,
        mut solution: Solution,
        prefix: &str,
        i: usize,
        plan: &StationPlan,
        interrupts: bool,
    ) -> Solution {
        let name = |what: &str| format!("{prefix}{what}");
        if plan.bulk.is_some() && interrupts {
            let accepted = self.rate(Event::Arrived(i)) - self.rate(Event::Full(i));
            let size = accepted / self.rate(Event::BulkBegun(i));
            solution = solution.with(name("batch.mean"), size, Unit::Count);
        }
        let Some(wake) = &plan.wake else { return solution };
        if interrupts {
            solution = solution.with(name("interrupts.rate"), self.rate(Event::Woken(i)), Unit::PerSecond);
        }
        if wake.poll.is_some() {
            let looks = self.rate(Event::Looked(i));
            solution = solution.with(name("polls.rate"), looks, Unit::PerSecond).with(
                name("vacations.rate"),
                looks,
                Unit::PerSecond,
            );
        }
        if wake.setup.is_some() {
            solution = solution.with(name("setups.rate"), self.rate(Event::SetUp(i)), Unit::PerSecond);
        }
        solution
    }

    fn of_coalescer(&self, solution: Solution, prefix: &str, part: usize) -> Solution {
        let name = |what: &str| format!("{prefix}{what}");
        let number: f64 = self.numbers[part].iter().sum();
        let (through, releases) = (self.rate(Event::Arrived(part)), self.rate(Event::Released(part)));
        solution
            .with(name("throughput"), through, Unit::PerSecond)
            .with(name("number.mean"), number, Unit::Count)
            .with(name("delay.mean"), number / through, Unit::Seconds)
            .with(name("interrupts.rate"), releases, Unit::PerSecond)
            .with(name("batch.mean"), through / releases, Unit::Count)
    }
}

/// The share who waited at all, given how many per second did not.
fn waited(at_once: f64, accepted: f64) -> f64 {
    (1.0 - at_once / accepted).max(0.0)
}

/// Whether customers wait there: where all are served at once, nobody does.
fn has_queue(plan: &StationPlan) -> bool {
    plan.order != Order::ProcessorSharing
}

impl StationPlan {
    /// Whether who is not begun with at once is who waits: interruptions and bulks make others wait as well.
    fn tells_who_waits(&self) -> bool {
        self.bulk.is_none() && matches!(self.order, Order::Fcfs | Order::Priority)
    }
}
