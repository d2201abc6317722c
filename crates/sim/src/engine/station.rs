//! Stations: what each is made of, and its books. `serving` has what happens there.

use tollway_model::spec::Order;

use super::flow::Exits;
use super::sharing::Sharing;
use super::wake::Sleeper;
use super::{Cause, Engine, Slot};
use crate::customers::{Chain, NOBODY};
use crate::error::Flow;
use crate::sampler::Ahead;
use crate::stream::Stream;
use crate::system::StationPlan;

/// So many servers are made at the beginning, more when they are needed.
pub(super) const READY: u32 = 64;

/// How a station is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// One queue, one class, one customer a service, servers always awake.
    Plain,
    /// Higher classes interrupt lower ones.
    Preemptive,
    /// Everybody at once.
    Sharing,
    /// Anything else: levels of priority, bulks, sleep.
    Other,
}

/// A station while it is simulated. What every event touches stands first, in three cache lines.
#[repr(C, align(64))]
pub(super) struct Station<'s> {
    last: f64,
    number: f64,
    busy_area: f64,
    /// Customers here.
    pub(super) inside: u32,
    /// Servers at work.
    pub(super) busy: u32,
    pub(super) queue: Chain,
    pub(super) left: u64,
    pub(super) response: f64,
    pub(super) wait: f64,
    pub(super) waited: u64,
    pub(super) begun: u64,
    pub(super) work: f64,
    pub(super) arrived: u64,
    pub(super) stream: Stream,
    /// Services of a plain station.
    pub(super) service: Ahead,
    pub(super) to: Exits<'s>,
    pub(super) capacity: u32,
    pub(super) servers: u32,
    /// The first server that has nothing to do; his slot names the next one.
    idle: u32,
    pub(super) kind: Kind,
    /// Whether its bulk is to be considered at the end of this moment.
    pub(super) gathering: bool,
    /// Customers in service.
    pub(super) served: u32,
    pub(super) plan: &'s StationPlan,
    /// The slot of the first server.
    pub(super) server: usize,
    /// Slots of all servers, where somebody may look for one to interrupt.
    pub(super) all: Vec<u32>,
    /// Queues of the levels, where there are any.
    pub(super) levels: Box<[Chain]>,
    pub(super) sleeper: Option<Box<Sleeper<'s>>>,
    pub(super) sharing: Option<Box<Sharing>>,
    served_area: f64,
    pub(super) lost: u64,
    pub(super) services: u64,
    /// Mean and variance of all services that began; only where not all are alike.
    pub(super) expected: f64,
    pub(super) variance: f64,
}

impl<'s> Station<'s> {
    pub(super) fn new(
        engine: &mut Engine<'s>,
        i: usize,
        plan: &'s StationPlan,
        stream: Stream,
    ) -> Flow<Self> {
        let alike = engine.system.classes.is_empty();
        let kind = match plan.order {
            Order::PreemptiveResume => Kind::Preemptive,
            Order::ProcessorSharing => Kind::Sharing,
            Order::Fcfs if alike && plan.bulk.is_none() && plan.wake.is_none() => Kind::Plain,
            _ => Kind::Other,
        };
        let levels = plan.levels.iter().max().map_or(0, |highest| usize::from(*highest) + 1);
        let server = engine.slot(Cause::Done, i)?;
        let mut all = vec![server as u32];
        for _ in 1..plan.servers.min(READY) {
            all.push(engine.slot(Cause::Done, i)? as u32);
        }
        let sleeper = match &plan.wake {
            None => None,
            Some(wake) => Some(Box::new(Sleeper::new(engine, i, wake)?)),
        };
        let mut station = Station {
            plan,
            kind,
            to: Exits::of(&plan.to),
            service: Ahead::new(plan.services[0].clone()),
            stream,
            servers: plan.servers,
            capacity: plan.capacity.unwrap_or(u32::MAX),
            inside: 0,
            busy: 0,
            served: 0,
            queue: Chain::EMPTY,
            server,
            idle: NOBODY,
            all,
            levels: vec![Chain::EMPTY; levels].into(),
            sleeper,
            sharing: (kind == Kind::Sharing).then(Box::default),
            gathering: false,
            last: 0.0,
            number: 0.0,
            busy_area: 0.0,
            served_area: 0.0,
            arrived: 0,
            lost: 0,
            begun: 0,
            wait: 0.0,
            waited: 0,
            left: 0,
            response: 0.0,
            services: 0,
            work: 0.0,
            expected: 0.0,
            variance: 0.0,
        };
        for nth in (0..station.all.len()).rev() {
            let slot = station.all[nth] as usize;
            station.rest(slot, &mut engine.slots[slot]);
        }
        Ok(station)
    }

    /// The server of that slot has nothing to do.
    #[inline(always)]
    pub(super) fn rest(&mut self, slot: usize, server: &mut Slot) {
        server.customer = self.idle;
        self.idle = slot as u32;
    }

    /// The slot of a server who has nothing to do: of the one who stopped last.
    #[inline(always)]
    pub(super) fn idle_server(&mut self, slots: &[Slot]) -> Option<usize> {
        let slot = self.idle as usize;
        if self.idle == NOBODY {
            return None;
        }
        self.idle = slots[slot].customer;
        Some(slot)
    }

    /// Brings the areas of a plain station up to now: before anything changes.
    #[inline(always)]
    pub(super) fn pass_plain(&mut self, now: f64) {
        let time = now - self.last;
        self.last = now;
        self.number += f64::from(self.inside) * time;
        self.busy_area += f64::from(self.busy) * time;
    }

    /// Brings the areas up to now: before anything changes.
    #[inline(always)]
    pub(super) fn pass(&mut self, now: f64) {
        let time = now - self.last;
        self.pass_plain(now);
        if self.kind != Kind::Plain {
            self.pass_other(time);
        }
    }

    #[inline(never)]
    fn pass_other(&mut self, time: f64) {
        self.served_area += f64::from(self.served) * time;
        if let Some(sharing) = &mut self.sharing {
            sharing.pass(time, self.inside, self.servers);
        }
    }

    /// Looks of its sleeping server.
    pub(super) fn looks(&self) -> f64 {
        self.sleeper.as_ref().map_or(0.0, |sleeper| sleeper.polls)
    }

    /// Customers who wait.
    pub(super) fn waiting(&self) -> u32 {
        self.inside - self.served
    }

    /// Writes the columns.
    pub(super) fn write(&self, row: &mut Vec<f64>) {
        let (expected, variance) = match self.kind {
            Kind::Plain => {
                let (mean, variance) = self.plan.moments[0];
                (self.begun as f64 * mean, self.begun as f64 * variance)
            }
            _ => (self.expected, self.variance),
        };
        let services = if self.kind == Kind::Plain { self.begun } else { self.services };
        let served = if self.kind == Kind::Plain { self.busy_area } else { self.served_area };
        let (wakes, polls, setups, spinning) = match &self.sleeper {
            None => (0, 0.0, 0, 0.0),
            Some(s) => (s.wakes, s.polls, s.setups, s.spinning(self.last)),
        };
        row.extend([
            self.arrived as f64,
            self.lost as f64,
            self.begun as f64,
            self.wait,
            self.waited as f64,
            self.left as f64,
            self.response,
            self.number,
            self.number - served,
            self.busy_area,
            services as f64,
            self.work,
            expected,
            variance,
            wakes as f64,
            polls,
            setups as f64,
            spinning,
        ]);
    }

    /// A customer goes who was here for so long.
    #[inline(always)]
    pub(super) fn let_go(&mut self, response: f64) {
        self.inside -= 1;
        self.left += 1;
        self.response += response;
    }
}
