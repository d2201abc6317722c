//! Customers on their way: into the system, from part to part, out of it.

use super::Engine;
use crate::SimError;
use crate::customers::{Customer, NOBODY};
use crate::stream::Stream;
use crate::system::{Gaps, Node, Route};

impl Route {
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
    pub(super) fn enter(&mut self, source: usize) -> Result<(), SimError> {
        let customer = Customer {
            entered: self.now,
            arrived: self.now,
            since: self.now,
            waited: 0.0,
            delayed: 0.0,
            left: 0.0,
            next: NOBODY,
            source: source as u32,
            slot: NOBODY,
            class: self.sources[source].class,
            begun: false,
            has_waited: false,
        };
        match self.customers.insert(customer) {
            Some(customer) => self.admit(source, customer),
            None => Err(self.overflow()),
        }
    }

    /// A customer who has thought enough enters again.
    pub(super) fn come_back(&mut self, customer: u32) -> Result<(), SimError> {
        let now = self.now;
        let returning = &mut self.customers[customer];
        (returning.entered, returning.waited, returning.delayed) = (now, 0.0, 0.0);
        let source = returning.source as usize;
        self.admit(source, customer)
    }

    #[inline(always)]
    fn admit(&mut self, source: usize, customer: u32) -> Result<(), SimError> {
        if self.inside == 0 {
            self.idle += self.now - self.idle_since;
        }
        self.inside += 1;
        self.entered += 1;
        if let Some(class) = self.classes.get_mut(usize::from(self.customers[customer].class)) {
            class.pass(self.now);
            class.entered += 1;
        }
        if let Some(kind) = self.kinds.get_mut(source) {
            kind.pass(self.now);
            kind.entered += 1;
        }
        let source = &mut self.sources[source];
        let node = source.to.draw(&mut source.stream);
        self.forward(customer, node)
    }

    /// The customer goes there: at once to a station or out, after this event to where a circle could begin.
    #[inline(always)]
    pub(super) fn forward(&mut self, customer: u32, node: Node) -> Result<(), SimError> {
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
    pub(super) fn leave(&mut self, customer: u32) -> Result<(), SimError> {
        let leaving = &self.customers[customer];
        let response = self.now - leaving.entered;
        let (waited, delayed) = (leaving.waited, leaving.delayed);
        let (class, source) = (usize::from(leaving.class), leaving.source as usize);
        self.left += 1;
        self.last_leaving = self.events;
        self.wait += waited;
        self.waited += u64::from(waited > 0.0);
        self.response += response;
        self.waits.add(waited);
        self.responses.add(response);
        if let Some(delays) = &mut self.delays {
            self.delay += delayed;
            delays.add(delayed);
        }
        if let Some(record) = &mut self.record {
            record.push(response);
        }
        for kind in self.classes.get_mut(class).into_iter().chain(self.kinds.get_mut(source)) {
            kind.pass(self.now);
            kind.left += 1;
            kind.wait += waited;
            kind.waited += u64::from(waited > 0.0);
            kind.response += response;
            kind.delay += delayed;
        }
        self.depart(customer, source)
    }

    /// The customer found no place.
    #[cold]
    pub(super) fn lose(&mut self, customer: u32) -> Result<(), SimError> {
        let lost = &self.customers[customer];
        let (class, source) = (usize::from(lost.class), lost.source as usize);
        self.lost += 1;
        for kind in self.classes.get_mut(class).into_iter().chain(self.kinds.get_mut(source)) {
            kind.pass(self.now);
            kind.lost += 1;
        }
        self.depart(customer, source)
    }

    /// The customer is no longer inside: gone, or thinking.
    #[inline(always)]
    fn depart(&mut self, customer: u32, source: usize) -> Result<(), SimError> {
        self.inside -= 1;
        if self.inside == 0 {
            self.idle_since = self.now;
        }
        let source = &mut self.sources[source];
        match source.gaps {
            Gaps::Closed { think: Some(think), .. } => {
                let slot = self.customers[customer].slot as usize;
                self.calendar.set(slot, self.now + think.draw(&mut source.stream));
            }
            Gaps::Closed { think: None, .. } => {
                // Back at once; through `settle`, so that a circle is no recursion.
                self.returning.push_back(customer);
            }
            _ => self.customers.remove(customer),
        }
        Ok(())
    }
}
