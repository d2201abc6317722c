//! Processor sharing: all customers are served at once, each by an equal share of the servers, none by more than one.
//!
//! A clock runs at the speed at which each of them is served. Who comes is done when the clock has gone on by his
//! service, whatever happens meanwhile; so only the first of them needs a place in the calendar.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::Engine;
use super::station::Station;
use crate::error::Flow;

#[derive(Clone, Debug, Default)]
pub(super) struct Sharing {
    clock: f64,
    /// The bits of the clock at which customers are done, in which order they came, and who.
    done: BinaryHeap<Reverse<(u64, u64, u32)>>,
    came: u64,
}

impl Sharing {
    /// Time passes with so many inside.
    pub(super) fn pass(&mut self, time: f64, inside: u32, servers: u32) {
        if inside > 0 {
            self.clock += time * speed(inside, servers);
        }
    }

    /// Everybody who is served.
    pub(super) fn customers(&self) -> impl Iterator<Item = u32> {
        self.done.iter().map(|Reverse((.., customer))| *customer)
    }

    /// Service that is left to all who are here, seconds.
    pub(super) fn unfinished(&self) -> f64 {
        self.done.iter().map(|Reverse((bits, ..))| f64::from_bits(*bits) - self.clock).sum()
    }
}

/// Seconds of service that each customer gets in a second.
fn speed(inside: u32, servers: u32) -> f64 {
    (f64::from(servers) / f64::from(inside)).min(1.0)
}

impl Engine<'_> {
    /// The customer joins those who are served.
    pub(super) fn share(&mut self, i: usize, customer: u32) {
        let service = self.draw_service(i, customer);
        let station = &mut self.stations[i];
        let Some(sharing) = &mut station.sharing else { return };
        if sharing.done.is_empty() {
            sharing.clock = 0.0;
        }
        sharing.came += 1;
        sharing.done.push(Reverse(((sharing.clock + service).to_bits(), sharing.came, customer)));
        station.share_begins();
        self.schedule_sharing(i);
    }

    /// Sets the time at which the first of them is done.
    fn schedule_sharing(&mut self, i: usize) {
        let station = &self.stations[i];
        let Some(sharing) = &station.sharing else { return };
        match sharing.done.peek() {
            None => self.calendar.cancel(station.server),
            Some(Reverse((bits, ..))) => {
                let ahead = (f64::from_bits(*bits) - sharing.clock).max(0.0);
                let time = self.now + ahead / speed(station.inside, station.plan.servers);
                self.calendar.set(station.server, time);
            }
        }
    }

    /// The first of them is done.
    pub(super) fn done_sharing(&mut self, i: usize) -> Flow {
        let station = &mut self.stations[i];
        let Some(sharing) = &mut station.sharing else { return Ok(()) };
        let Some(Reverse((bits, _, customer))) = sharing.done.pop() else { return Ok(()) };
        sharing.clock = f64::from_bits(bits);
        station.let_go(self.now - self.customers[customer].arrived);
        station.share_ends();
        self.schedule_sharing(i);
        let station = &mut self.stations[i];
        let node = station.to.draw(&mut station.stream);
        self.forward(customer, node)
    }
}

impl Station<'_> {
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
}
