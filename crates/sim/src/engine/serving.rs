//! Customers at a station: who comes is served at once or waits, who is served goes and makes room for the next one.

use super::station::{Kind, Station};
use super::{Cause, Engine};
use crate::customers::{Customer, Customers, NOBODY};
use crate::error::Flow;

impl Station<'_> {
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

    /// The customer waits, behind those of his level.
    pub(super) fn join(&mut self, customers: &mut Customers, customer: u32) {
        let level = self.level(customers[customer].class);
        match self.levels.get_mut(level) {
            None => self.queue.push(customers, customer),
            Some(queue) => queue.push(customers, customer),
        }
    }

    /// Who is served next.
    pub(super) fn call(&mut self, customers: &Customers) -> Option<u32> {
        if self.levels.is_empty() {
            return self.queue.pop(customers);
        }
        self.levels.iter_mut().find_map(|queue| queue.pop(customers))
    }

    /// The level of the queue that the class waits in.
    pub(super) fn level(&self, class: u16) -> usize {
        self.plan.levels.get(usize::from(class)).map_or(0, |level| usize::from(*level))
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

    /// A server who has nothing to do: the slot of the one who stopped last, or a new one.
    #[inline(always)]
    pub(super) fn take_server(&mut self, i: usize) -> Flow<usize> {
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
    pub(super) fn begin(&mut self, i: usize, slot: usize, customer: u32) {
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
    pub(super) fn stop_waiting(&mut self, i: usize, customer: u32) {
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
}
