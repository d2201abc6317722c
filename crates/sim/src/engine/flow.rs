//! Customers on their way: into the system, from part to part, out of it.

use super::Engine;
use crate::customers::{Customer, NOBODY};
use crate::error::Flow;
use crate::stream::Stream;
use crate::system::{Gaps, Node, Route};

/// A route, at hand.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exits<'s> {
    always: Node,
    shares: &'s [(f64, Node)],
}

impl<'s> Exits<'s> {
    pub(super) fn of(route: &'s Route) -> Self {
        Exits { always: route.always, shares: &route.shares }
    }

    /// Where the next customer goes.
    #[inline(always)]
    pub(super) fn draw(&self, stream: &mut Stream) -> Node {
        if self.shares.is_empty() { self.always } else { self.draw_share(stream) }
    }

    #[inline(never)]
    fn draw_share(&self, stream: &mut Stream) -> Node {
        let chosen = stream.uniform();
        let nth = self.shares.partition_point(|(cumulative, _)| *cumulative < chosen);
        self.shares.get(nth).map_or(self.always, |(_, node)| *node)
    }
}

impl Engine<'_> {
    /// A new customer of the source enters.
    #[inline(always)]
    pub(super) fn enter(&mut self, source: usize) -> Flow {
        let customer = Customer::new(self.now, source as u32, self.sources[source].class, NOBODY);
        match self.customers.insert(customer) {
            Some(customer) => self.admit(source, customer),
            None => Err(self.overflow()),
        }
    }

    /// A customer who has thought enough enters again.
    pub(super) fn come_back(&mut self, customer: u32) -> Flow {
        let now = self.now;
        let returning = &mut self.customers[customer];
        (returning.entered, returning.waited, returning.delayed) = (now, 0.0, 0.0);
        let source = returning.source as usize;
        self.admit(source, customer)
    }

    #[inline(always)]
    fn admit(&mut self, source: usize, customer: u32) -> Flow {
        self.sums.enter(self.now);
        if self.several {
            self.count_entry(source, customer);
        }
        let source = &mut self.sources[source];
        let node = source.to.draw(&mut source.stream);
        self.forward(customer, node)
    }

    fn count_entry(&mut self, source: usize, customer: u32) {
        let class = usize::from(self.customers[customer].class);
        for kind in self.classes.get_mut(class).into_iter().chain(self.kinds.get_mut(source)) {
            kind.entered += 1;
        }
        if let Some(area) = self.areas.get_mut(class) {
            area.change(self.now, 1.0);
        }
    }

    /// The customer goes there: at once to a station or out, after this event to where a circle could begin.
    #[inline(always)]
    pub(super) fn forward(&mut self, customer: u32, node: Node) -> Flow {
        match node {
            Node::Exit => self.leave(customer),
            Node::Station(station) => self.arrive(station as usize, customer),
            Node::Coalescer(coalescer) => {
                self.moves.push_back((customer, coalescer));
                Ok(())
            }
        }
    }

    /// The customer leaves as he should.
    #[inline(always)]
    pub(super) fn leave(&mut self, customer: u32) -> Flow {
        let leaving = &self.customers[customer];
        let response = self.now - leaving.entered;
        let (waited, slot) = (leaving.waited, leaving.slot);
        self.sums.leave(self.now, response, waited);
        self.waits.add(waited);
        self.responses.add(response);
        if let Some(delays) = &mut self.delays {
            self.sums.delay += leaving.delayed;
            delays.add(leaving.delayed);
        }
        if let Some(record) = &mut self.record {
            record.push(response);
        }
        if self.several {
            self.count_leaving(customer);
        }
        self.depart(customer, slot)
    }

    fn count_leaving(&mut self, customer: u32) {
        let leaving = &self.customers[customer];
        let (class, source) = (usize::from(leaving.class), leaving.source as usize);
        for kind in self.classes.get_mut(class).into_iter().chain(self.kinds.get_mut(source)) {
            kind.leave(leaving, self.now - leaving.entered);
        }
        if let Some(area) = self.areas.get_mut(class) {
            area.change(self.now, -1.0);
        }
    }

    /// The customer found no place.
    #[cold]
    pub(super) fn lose(&mut self, customer: u32) -> Flow {
        let lost = &self.customers[customer];
        let (class, source) = (usize::from(lost.class), lost.source as usize);
        self.sums.lose(self.now);
        for kind in self.classes.get_mut(class).into_iter().chain(self.kinds.get_mut(source)) {
            kind.lost += 1;
        }
        if let Some(area) = self.areas.get_mut(class) {
            area.change(self.now, -1.0);
        }
        let slot = self.customers[customer].slot;
        self.depart(customer, slot)
    }

    /// The customer is gone, or of a closed population.
    #[inline(always)]
    fn depart(&mut self, customer: u32, slot: u32) -> Flow {
        if slot == NOBODY {
            self.customers.remove(customer);
        } else {
            self.think(customer, slot as usize);
        }
        Ok(())
    }

    /// The customer comes back, now or later.
    fn think(&mut self, customer: u32, slot: usize) {
        let source = &mut self.sources[self.customers[customer].source as usize];
        match source.gaps {
            Gaps::Closed { think: Some(think), .. } => {
                self.calendar.set(slot, self.now + think.draw(&mut source.stream));
            }
            // Through `settle`, so that a circle is no recursion.
            _ => self.returning.push_back(customer),
        }
    }
}
