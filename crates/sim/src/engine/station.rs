//! Stations: who waits, who is served, who is interrupted.

use tollway_model::spec::Order;

use super::flow::Exits;
use super::sharing::Sharing;
use super::wake::Sleeper;
use super::{Cause, Engine, Slot};
use crate::customers::{Chain, Customer, Customers, NOBODY};
use crate::error::Flow;
use crate::sampler::Ahead;
use crate::stream::Stream;
use crate::system::{BulkPlan, StationPlan};

/// So many servers are made at the beginning, more when they are needed.
pub(super) const READY: u32 = 64;

/// How a station is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
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
    left: u64,
    response: f64,
    wait: f64,
    waited: u64,
    begun: u64,
    work: f64,
    pub(super) arrived: u64,
    pub(super) stream: Stream,
    /// Services of a plain station.
    service: Ahead,
    pub(super) to: Exits<'s>,
    pub(super) capacity: u32,
    servers: u32,
    /// The first server that has nothing to do; his slot names the next one.
    idle: u32,
    kind: Kind,
    /// Whether its bulk is to be considered at the end of this moment.
    pub(super) gathering: bool,
    /// Customers in service.
    served: u32,
    pub(super) plan: &'s StationPlan,
    /// The slot of the first server.
    pub(super) server: usize,
    /// Slots of all servers, where somebody may look for one to interrupt.
    all: Vec<u32>,
    /// Queues of the levels, where there are any.
    levels: Box<[Chain]>,
    pub(super) sleeper: Option<Box<Sleeper<'s>>>,
    pub(super) sharing: Option<Box<Sharing>>,
    served_area: f64,
    pub(super) lost: u64,
    services: u64,
    /// Mean and variance of all services that began; only where not all are alike.
    expected: f64,
    variance: f64,
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

    /// The level of the queue that the class waits in.
    fn level(&self, class: u16) -> usize {
        self.plan.levels.get(usize::from(class)).map_or(0, |level| usize::from(*level))
    }

    /// The customer waits, behind those of his level.
    fn join(&mut self, customers: &mut Customers, customer: u32) {
        let level = self.level(customers[customer].class);
        match self.levels.get_mut(level) {
            None => self.queue.push(customers, customer),
            Some(queue) => queue.push(customers, customer),
        }
    }

    /// Who is served next.
    fn call(&mut self, customers: &Customers) -> Option<u32> {
        if self.levels.is_empty() {
            return self.queue.pop(customers);
        }
        self.levels.iter_mut().find_map(|queue| queue.pop(customers))
    }

    /// Service that interrupted customers still have to get, seconds.
    fn interrupted(&self, customers: &Customers) -> f64 {
        let waiting = self.levels.iter().flat_map(|queue| queue.iter(customers));
        waiting.filter(|customer| customers[*customer].begun).map(|customer| customers[customer].left).sum()
    }

    /// The customer's only service begins; when it is done.
    #[inline(always)]
    pub(super) fn begin_plain(&mut self, customer: &mut Customer, now: f64) -> f64 {
        let wait = now - customer.arrived;
        customer.waited += wait;
        self.wait += wait;
        self.waited += u64::from(wait > 0.0);
        self.begun += 1;
        let service = self.service.draw(&mut self.stream);
        self.work += service;
        now + service
    }

    /// One more is served, beside those who are already.
    pub(super) fn share_begins(&mut self) {
        self.served += 1;
        self.begun += 1;
        self.busy = self.inside.min(self.servers);
    }

    /// One of them was let go.
    pub(super) fn share_ends(&mut self) {
        self.served -= 1;
        self.busy = self.inside.min(self.servers);
    }

    /// A customer goes who was here for so long.
    #[inline(always)]
    pub(super) fn let_go(&mut self, response: f64) {
        self.inside -= 1;
        self.left += 1;
        self.response += response;
    }
}

impl Engine<'_> {
    /// A customer arrives at the station.
    #[inline(always)]
    pub(super) fn arrive(&mut self, i: usize, customer: u32) -> Flow {
        let station = &mut self.stations[i];
        station.pass(self.now);
        if station.inside >= station.capacity {
            station.lost += 1;
            return self.lose(customer);
        }
        self.customers[customer].arrived = self.now;
        station.inside += 1;
        station.arrived += 1;
        if station.kind != Kind::Plain {
            return self.arrive_other(i, customer);
        }
        if station.busy >= station.servers {
            station.queue.push(&mut self.customers, customer);
            return Ok(());
        }
        station.busy += 1;
        let slot = match station.idle_server(&self.slots) {
            Some(slot) => slot,
            None => self.new_server(i)?,
        };
        self.slots[slot].customer = customer;
        let done = self.stations[i].begin_plain(&mut self.customers[customer], self.now);
        self.calendar.set(slot, done);
        Ok(())
    }

    #[inline(never)]
    fn arrive_other(&mut self, i: usize, customer: u32) -> Flow {
        let arriving = &mut self.customers[customer];
        arriving.since = self.now;
        (arriving.begun, arriving.has_waited) = (false, false);
        let station = &mut self.stations[i];
        match station.kind {
            Kind::Sharing => {
                self.share(i, customer);
                Ok(())
            }
            Kind::Preemptive => self.arrive_preemptive(i, customer),
            Kind::Plain | Kind::Other => {
                station.join(&mut self.customers, customer);
                if station.plan.bulk.is_none() {
                    return self.serve_waiting(i);
                }
                if !std::mem::replace(&mut station.gathering, true) {
                    self.gathering.push(i as u32);
                }
                Ok(())
            }
        }
    }

    fn arrive_preemptive(&mut self, i: usize, customer: u32) -> Flow {
        let station = &mut self.stations[i];
        if station.busy < station.servers {
            station.join(&mut self.customers, customer);
            return self.serve_waiting(i);
        }
        let level = station.level(self.customers[customer].class);
        // Of those who are served, the lowest in rank; of several, who came last.
        let lowest = (station.all.iter())
            .map(|slot| (self.slots[*slot as usize].customer, *slot))
            .map(|(served, slot)| {
                (station.level(self.customers[served].class), self.customers[served].arrived, slot)
            })
            .max_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.cmp(&b.2)));
        match lowest {
            Some((lowest, _, slot)) if lowest > level => {
                self.interrupt(i, slot as usize);
                self.begin(i, slot as usize, customer);
            }
            _ => station.join(&mut self.customers, customer),
        }
        Ok(())
    }

    /// Whoever is served there goes back to the head of his queue, with the service that is left to him.
    fn interrupt(&mut self, i: usize, slot: usize) {
        let interrupted = self.slots[slot].customer;
        let customer = &mut self.customers[interrupted];
        customer.left = self.calendar.time(slot) - self.now;
        customer.since = self.now;
        let class = customer.class;
        let station = &mut self.stations[i];
        station.served -= 1;
        station.busy -= 1;
        let level = station.level(class);
        station.levels[level].push_front(&mut self.customers, interrupted);
    }

    /// A server who has nothing to do: the slot of the one who stopped last, or a new one.
    #[inline(always)]
    fn take_server(&mut self, i: usize) -> Flow<usize> {
        match self.stations[i].idle_server(&self.slots) {
            Some(slot) => Ok(slot),
            None => self.new_server(i),
        }
    }

    #[cold]
    fn new_server(&mut self, i: usize) -> Flow<usize> {
        let slot = self.slot(Cause::Done, i)?;
        self.stations[i].all.push(slot as u32);
        Ok(slot)
    }

    /// The customer's service begins, or goes on where it was interrupted.
    fn begin(&mut self, i: usize, slot: usize, customer: u32) {
        let resumed = self.customers[customer].begun.then(|| self.customers[customer].left);
        self.stop_waiting(i, customer);
        let service = match resumed {
            Some(left) => left,
            None => self.draw_service(i, customer),
        };
        self.stations[i].busy += 1;
        self.slots[slot].customer = customer;
        self.calendar.set(slot, self.now + service);
    }

    /// The customer no longer waits.
    fn stop_waiting(&mut self, i: usize, customer: u32) {
        let station = &mut self.stations[i];
        let served = &mut self.customers[customer];
        let wait = self.now - served.since;
        served.waited += wait;
        station.wait += wait;
        if wait > 0.0 && !std::mem::replace(&mut served.has_waited, true) {
            station.waited += 1;
        }
        if !std::mem::replace(&mut served.begun, true) {
            station.begun += 1;
        }
        station.served += 1;
        served.next = NOBODY;
    }

    /// The time of a service that begins for the customer's class.
    pub(super) fn draw_service(&mut self, i: usize, customer: u32) -> f64 {
        let class = usize::from(self.customers[customer].class);
        let station = &mut self.stations[i];
        let nth = if station.plan.services.len() > 1 { class } else { 0 };
        let service = station.plan.services[nth].draw(&mut station.stream);
        let (mean, variance) = station.plan.moments[nth];
        station.expected += mean;
        station.variance += variance;
        station.services += 1;
        station.work += service;
        if let Some(class) = self.classes.get_mut(class) {
            class.work += service;
        }
        service
    }

    /// Begins as many services as servers, customers and sleep allow.
    pub(super) fn serve_waiting(&mut self, i: usize) -> Flow {
        loop {
            if self.stations[i].sleeper.is_some() && !self.is_awake(i) {
                return Ok(());
            }
            let station = &mut self.stations[i];
            if station.busy >= station.servers || station.waiting() == 0 {
                return Ok(());
            }
            if let Some(bulk) = &station.plan.bulk {
                if station.waiting() < bulk.least {
                    return Ok(());
                }
                let slot = self.take_server(i)?;
                self.begin_bulk(i, slot, bulk);
            } else if let Some(customer) = station.call(&self.customers) {
                let slot = self.take_server(i)?;
                self.begin(i, slot, customer);
            }
        }
    }

    /// As many as wait and fit are served together.
    fn begin_bulk(&mut self, i: usize, slot: usize, bulk: &BulkPlan) {
        let mut together = Chain::EMPTY;
        let mut service = 0.0;
        for nth in 0..bulk.most {
            let Some(customer) = self.stations[i].call(&self.customers) else { break };
            self.stop_waiting(i, customer);
            together.push(&mut self.customers, customer);
            if nth == 0 {
                service = self.draw_service(i, customer);
            }
            if let Some((each, mean, variance)) = &bulk.each {
                let station = &mut self.stations[i];
                let more = each.draw(&mut station.stream);
                service += more;
                station.work += more;
                station.expected += mean;
                station.variance += variance;
            }
        }
        self.stations[i].busy += 1;
        self.slots[slot].customer = together.first();
        self.calendar.set(slot, self.now + service);
    }

    /// A service is done.
    #[inline(always)]
    pub(super) fn done(&mut self, i: usize, slot: usize, customer: u32) -> Flow {
        let station = &mut self.stations[i];
        station.pass(self.now);
        if station.kind != Kind::Plain {
            return self.done_other(i, slot, customer);
        }
        station.inside -= 1;
        station.left += 1;
        station.response += self.now - self.customers[customer].arrived;
        match station.queue.pop(&self.customers) {
            Some(next) => {
                self.slots[slot].customer = next;
                let done = station.begin_plain(&mut self.customers[next], self.now);
                self.calendar.set(slot, done);
            }
            None => {
                station.busy -= 1;
                station.rest(slot, &mut self.slots[slot]);
                self.calendar.cancel(slot);
            }
        }
        let node = station.to.draw(&mut station.stream);
        self.forward(customer, node)
    }

    #[inline(never)]
    fn done_other(&mut self, i: usize, slot: usize, first: u32) -> Flow {
        if self.stations[i].kind == Kind::Sharing {
            return self.done_sharing(i);
        }
        let station = &mut self.stations[i];
        station.busy -= 1;
        station.rest(slot, &mut self.slots[slot]);
        self.calendar.cancel(slot);
        let mut customer = first;
        while customer != NOBODY {
            station.served -= 1;
            station.let_go(self.now - self.customers[customer].arrived);
            customer = self.customers[customer].next;
        }
        // The server goes on before those who were served do.
        self.serve_waiting(i)?;
        self.fall_asleep_if_idle(i);
        let mut customer = first;
        while customer != NOBODY {
            let next = self.customers[customer].next;
            let station = &mut self.stations[i];
            let node = station.to.draw(&mut station.stream);
            self.forward(customer, node)?;
            customer = next;
        }
        Ok(())
    }

    /// Service that was begun and is not finished, seconds.
    pub(super) fn unfinished(&self, i: usize) -> f64 {
        let station = &self.stations[i];
        if let Some(sharing) = &station.sharing {
            return sharing.unfinished();
        }
        let pending = station.all.iter().map(|slot| self.calendar.time(*slot as usize));
        let served: f64 = pending.filter(|time| time.is_finite()).map(|time| time - self.now).sum();
        served + station.interrupted(&self.customers)
    }

    /// Everybody at the station: how many, and the sum of the times since they arrived.
    pub(super) fn present(&self, i: usize) -> (u64, f64) {
        let station = &self.stations[i];
        let mut present = (0, 0.0);
        let mut see = |customer: u32| {
            present.0 += 1;
            present.1 += self.now - self.customers[customer].arrived;
        };
        let queues = station.levels.iter().chain([&station.queue]);
        queues.flat_map(|queue| queue.iter(&self.customers)).for_each(&mut see);
        if let Some(sharing) = &station.sharing {
            sharing.customers().for_each(&mut see);
            return present;
        }
        let busy = station.all.iter().filter(|slot| self.calendar.time(**slot as usize).is_finite());
        for first in busy.map(|slot| self.slots[*slot as usize].customer) {
            match station.plan.bulk {
                None => see(first),
                Some(_) => Chain::of(first).iter(&self.customers).for_each(&mut see),
            }
        }
        present
    }
}
