//! The loop of plain systems: single customers from outside, stations with one queue whose servers are always awake, no
//! classes, no coalescers. It does what [`Engine::step`] does, event by event on the same state, but has its hands free:
//! what a step may need is at hand, and nothing else can happen.

use tollway_model::spec::Order;

use super::station::READY;
use super::{CHUNK, Cause, Engine};
use crate::customers::{Customer, NOBODY};
use crate::error::Flow;
use crate::system::{Gaps, Node, System};

impl System {
    /// Whether [`Engine::run_plain`] can do everything that happens.
    pub(super) fn is_plain(&self) -> bool {
        let source = |gaps: &Gaps| !matches!(gaps, Gaps::Closed { .. });
        self.classes.is_empty()
            && self.coalescers.is_empty()
            && self.sources.iter().all(|s| s.batch.is_empty() && source(&s.gaps))
            && self
                .stations
                .iter()
                .all(|s| s.order == Order::Fcfs && s.servers <= READY && s.bulk.is_none() && s.wake.is_none())
    }
}

impl Engine<'_> {
    /// A chunk of events, or fewer if enough customers have left.
    pub(super) fn run_plain(&mut self, target: u64) -> Flow {
        let (calendar, customers, record) = (&mut self.calendar, &mut self.customers, &mut self.record);
        let (slots, sources, stations) = (&mut self.slots[..], &mut self.sources[..], &mut self.stations[..]);
        let (kinds, waits, responses) = (&mut self.kinds[..], &mut self.waits, &mut self.responses);
        let mut sums = self.sums;
        let mut now = self.now;
        let mut events = 0;
        let mut overflow = false;
        while events < CHUNK && sums.left < target {
            let (time, slot) = calendar.next();
            now = time;
            events += 1;
            let owner = &mut slots[slot];
            let part = owner.part as usize;
            let (customer, node) = if owner.cause == Cause::Source {
                let source = &mut sources[part];
                let comes = source.comes;
                let (gap, next_comes) = source.tick();
                source.comes = next_comes;
                calendar.set(slot, now + gap);
                if !comes {
                    continue;
                }
                let Some(customer) = customers.insert(Customer::new(now, part as u32, 0, NOBODY)) else {
                    overflow = true;
                    break;
                };
                sums.enter(now);
                if let Some(kind) = kinds.get_mut(part) {
                    kind.entered += 1;
                }
                (customer, source.to.draw(&mut source.stream))
            } else {
                let station = &mut stations[part];
                let customer = owner.customer;
                station.pass_plain(now);
                station.let_go(now - customers[customer].arrived);
                match station.queue.pop(customers) {
                    Some(next) => {
                        owner.customer = next;
                        calendar.set(slot, station.begin_plain(&mut customers[next], now));
                    }
                    None => {
                        station.busy -= 1;
                        station.rest(slot, owner);
                        calendar.cancel(slot);
                    }
                }
                (customer, station.to.draw(&mut station.stream))
            };
            let Node::Station(station) = node else {
                let leaving = &customers[customer];
                let response = now - leaving.entered;
                sums.leave(now, response, leaving.waited);
                waits.add(leaving.waited);
                responses.add(response);
                if let Some(kind) = kinds.get_mut(leaving.source as usize) {
                    kind.leave(leaving, response);
                }
                if let Some(record) = record {
                    record.push(response);
                }
                customers.remove(customer);
                continue;
            };
            let station = &mut stations[station as usize];
            station.pass_plain(now);
            if station.inside >= station.capacity {
                station.lost += 1;
                sums.lose(now);
                if let Some(kind) = kinds.get_mut(customers[customer].source as usize) {
                    kind.lost += 1;
                }
                customers.remove(customer);
                continue;
            }
            station.inside += 1;
            station.arrived += 1;
            customers[customer].arrived = now;
            match station.idle_server(slots) {
                None => station.queue.push(customers, customer),
                Some(server) => {
                    station.busy += 1;
                    slots[server].customer = customer;
                    calendar.set(server, station.begin_plain(&mut customers[customer], now));
                }
            }
        }
        self.sums = sums;
        self.now = now;
        self.events += u64::from(events);
        if overflow { Err(self.overflow()) } else { Ok(()) }
    }
}
