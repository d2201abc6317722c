//! The driver's side of a split queue (VIRTIO 1.2, 2.7), over memory handed in: it needs no socket, no system call, and after it
//! was made no allocation, so that a micro-guest can drive one, too.

use std::num::Wrapping;
use std::sync::atomic::{Ordering, fence};

use tollway_core::{Error, Result};
use virtio_bindings::bindings::virtio_ring::VRING_USED_F_NO_NOTIFY;

use super::Layout;
use crate::area::{Area, Span};
use crate::descriptor::{DESCRIPTOR, Descriptor, INDIRECT, NEXT, WRITE};

/// What both sides have agreed upon.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Agreed {
    /// VIRTIO_F_EVENT_IDX.
    pub event_index: bool,
    /// VIRTIO_F_INDIRECT_DESC.
    pub indirect: bool,
}

/// A buffer that came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// What it was submitted under.
    pub token: u64,
    /// Bytes that the device says it wrote; no more than the buffer has.
    pub written: u32,
}

/// A buffer that is with the device.
#[derive(Clone, Copy, Debug)]
struct Flight {
    token: u64,
    writable: u32,
    descriptors: u16,
}

/// No descriptor follows.
const END: u16 = u16::MAX;

/// The driver's side of a queue, in memory that the device sees too. Nothing that it needs again is only there: the device may
/// have overwritten it.
#[derive(Debug)]
pub struct Queue {
    area: Area,
    layout: Layout,
    /// Where the device sees the area's first byte.
    guest: u64,
    agreed: Agreed,
    /// Buffers submitted, those that the device was shown, and up to where it was kicked.
    submitted: Wrapping<u16>,
    shown: Wrapping<u16>,
    kicked: Wrapping<u16>,
    /// Buffers taken, and how many were there at the last look.
    taken: Wrapping<u16>,
    there: Wrapping<u16>,
    /// The first free descriptor, how many there are, and which one follows which, free or not.
    free: u16,
    left: u16,
    links: Vec<u16>,
    /// By their first descriptor.
    flights: Vec<Option<Flight>>,
}

impl Queue {
    /// An empty one. `guest`: where the device sees the area's first byte.
    ///
    /// # Errors
    /// [`Error::Input`] if the layout lies outside of the area.
    pub fn new(area: Area, layout: Layout, guest: u64, agreed: Agreed) -> Result<Queue> {
        if layout.end > area.len() || guest.checked_add(area.len() as u64).is_none() {
            return Err(Error::Input {
                place: "a queue of a process tenant".into(),
                reason: format!("it ends at byte {} of {}, seen at {guest:#x}", layout.end, area.len()),
                remedy: "hand in more memory, or at another address".into(),
            });
        }
        let (size, zero) = (usize::from(layout.size), Wrapping(0));
        let mut queue = Queue {
            area,
            layout,
            guest,
            agreed,
            submitted: zero,
            shown: zero,
            kicked: zero,
            taken: zero,
            there: zero,
            free: 0,
            left: 0,
            links: vec![END; size],
            flights: vec![None; size],
        };
        queue.reset(agreed);
        Ok(queue)
    }

    /// Empty rings, as for a device that knows nothing of what was before. Returns the tokens of the buffers that were with the
    /// device, or that it has given back and nobody has taken.
    pub fn reset(&mut self, agreed: Agreed) -> Vec<u64> {
        let lost = self.flights.iter_mut().filter_map(|flight| flight.take().map(|it| it.token)).collect();
        let zero = Wrapping(0);
        (self.submitted, self.shown, self.kicked, self.taken, self.there) = (zero, zero, zero, zero, zero);
        self.agreed = agreed;
        (self.free, self.left) = (0, self.layout.size);
        for (number, link) in self.links.iter_mut().enumerate() {
            *link = if number + 1 < usize::from(self.layout.size) { number as u16 + 1 } else { END };
        }
        for at in (self.layout.descriptors..self.layout.tables).step_by(2) {
            self.area.store(at, 0);
        }
        lost
    }

    /// The memory.
    pub fn area(&self) -> &Area {
        &self.area
    }

    /// Where things are in it.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Where the device sees the area's first byte.
    pub fn guest(&self) -> u64 {
        self.guest
    }

    /// How many buffers are with the device, or were given back and not taken.
    pub fn in_flight(&self) -> usize {
        usize::from((self.submitted - self.taken).0)
    }

    /// Adds a buffer of pieces that the device may read and others that it may write, which it does not see until
    /// [`show`](Queue::show) or [`wants_kick`](Queue::wants_kick). Whether there was room for it: where indirect tables were
    /// agreed upon, a buffer takes one descriptor, if it has no more pieces than a table.
    ///
    /// # Errors
    /// [`Error::Input`] if it is empty, has empty pieces, has more than there are descriptors, or lies outside of the area.
    pub fn submit(&mut self, token: u64, readable: &[Span], writable: &[Span]) -> Result<bool> {
        let pieces = readable.len() + writable.len();
        let room = self.check(readable)?.checked_add(self.check(writable)?);
        let is_indirect = self.agreed.indirect && pieces > 1 && pieces <= self.layout.entries;
        let needed = if is_indirect { 1 } else { pieces };
        if pieces == 0 || needed > usize::from(self.layout.size) || room.is_none_or(|all| all >= 1 << 32) {
            return Err(
                self.wrong(format!("{pieces} pieces of {room:?} bytes"), "submit fewer, at least one")
            );
        }
        if needed > usize::from(self.left) {
            return Ok(false);
        }
        let head = self.free;
        if is_indirect {
            let table = self.layout.table(head);
            self.describe(readable, writable, |number| (table + DESCRIPTOR * number, number as u16 + 1));
            let (address, bytes) = (self.guest + table as u64, (DESCRIPTOR * pieces) as u32);
            let place = self.layout.descriptors + DESCRIPTOR * usize::from(head);
            self.area.put_descriptor(place, Descriptor { address, bytes, flags: INDIRECT, next: 0 });
            self.free = self.links[usize::from(head)];
        } else {
            let (first, mut last) = (self.layout.descriptors, head);
            let links = &self.links;
            let mut free = head;
            self.describe(readable, writable, |_| {
                (last, free) = (free, links[usize::from(free)]);
                (first + DESCRIPTOR * usize::from(last), free)
            });
            self.free = free;
        }
        self.left -= needed as u16;
        let bytes = writable.iter().map(|span| span.bytes).sum();
        self.flights[usize::from(head)] = Some(Flight { token, writable: bytes, descriptors: needed as u16 });
        let at = usize::from(self.submitted.0 % self.layout.size);
        self.area.store(self.layout.available + 4 + 2 * at, head);
        self.submitted += 1;
        Ok(true)
    }

    /// How many bytes they are.
    fn check(&self, spans: &[Span]) -> Result<u64> {
        match spans.iter().find(|span| span.bytes == 0 || !self.area.holds(**span)) {
            Some(span) => {
                Err(self.wrong(format!("{span:?}"), "let each piece have bytes, all of them in the area"))
            }
            None => Ok(spans.iter().map(|span| u64::from(span.bytes)).sum()),
        }
    }

    #[cold]
    fn wrong(&self, reason: String, remedy: &str) -> Error {
        Error::Input { place: "a buffer for a queue".into(), reason, remedy: remedy.into() }
    }

    /// Writes the descriptors of a buffer; `place` tells of each one where it is, and the number of the next.
    #[inline]
    fn describe(&self, readable: &[Span], writable: &[Span], mut place: impl FnMut(usize) -> (usize, u16)) {
        let last = readable.len() + writable.len() - 1;
        let mut number = 0;
        for (spans, flags) in [(readable, 0), (writable, WRITE)] {
            for span in spans {
                let (at, next) = place(number);
                let (flags, next) = if number < last { (flags | NEXT, next) } else { (flags, 0) };
                let address = self.guest + span.at as u64;
                self.area.put_descriptor(at, Descriptor { address, bytes: span.bytes, flags, next });
                number += 1;
            }
        }
    }

    /// Has the device see what was submitted, if it looks.
    #[inline]
    pub fn show(&mut self) {
        if self.shown != self.submitted {
            self.shown = self.submitted;
            self.area.store(self.layout.available + 2, self.submitted.0);
        }
    }

    /// Has the device see what was submitted; whether it wants to be kicked for what it was not kicked for yet.
    pub fn wants_kick(&mut self) -> bool {
        self.show();
        let (old, new) = (self.kicked, self.shown);
        if old == new {
            return false;
        }
        fence(Ordering::SeqCst);
        self.kicked = new;
        if self.agreed.event_index {
            // VIRTIO 1.2, 2.7.10: `avail_event`, after the used ring.
            let event = Wrapping(self.area.load(self.layout.used + 4 + 8 * usize::from(self.layout.size)));
            return new - event - Wrapping(1) < new - old;
        }
        u32::from(self.area.load(self.layout.used)) & VRING_USED_F_NO_NOTIFY == 0
    }

    /// Takes a buffer that came back, if there is one.
    ///
    /// # Errors
    /// [`Error::Wrong`] if the device gave back what it had not been given.
    #[inline]
    pub fn take(&mut self) -> Result<Option<Completion>> {
        if self.there == self.taken {
            self.there = Wrapping(self.area.load(self.layout.used + 2));
            if self.there == self.taken {
                return Ok(None);
            }
        }
        let at = self.layout.used + 4 + 8 * usize::from(self.taken.0 % self.layout.size);
        let element = self.area.get(at);
        let (id, written) = (element as u32, (element >> 32) as u32);
        let flight = self.flights.get_mut(id as usize).and_then(Option::take);
        let known = flight.filter(|flight| {
            written <= flight.writable && (self.there - self.taken).0 <= (self.shown - self.taken).0
        });
        let Some(Flight { token, descriptors, .. }) = known else {
            let there = (self.there - self.taken).0;
            let reason = format!("{there} used, and buffer {id} with {written} bytes, submitted: {flight:?}");
            return Err(Error::Wrong(format!("the device gave back what it was not given: {reason}")));
        };
        let mut last = id as u16;
        for _ in 1..descriptors {
            last = self.links[usize::from(last)];
        }
        self.links[usize::from(last)] = self.free;
        self.free = id as u16;
        self.left += descriptors;
        self.taken += 1;
        Ok(Some(Completion { token, written }))
    }

    /// Whether a buffer came back that was not taken.
    #[inline]
    pub fn has_some(&self) -> bool {
        self.area.load(self.layout.used + 2) != self.taken.0
    }

    /// Asks the device to call for the next buffer that it gives back, or not to call. Whether there is one already.
    pub fn want_call(&mut self, wanted: bool) -> bool {
        let Layout { size, available, .. } = self.layout;
        if self.agreed.event_index {
            // `used_event`, after the available ring: far behind says never, for as long as 2^15 buffers take.
            let event = self.taken - Wrapping(if wanted { 0 } else { 1 << 15 });
            self.area.store(available + 4 + 2 * usize::from(size), event.0);
        } else {
            self.area.store(available, u16::from(!wanted));
        }
        fence(Ordering::SeqCst);
        self.has_some()
    }
}
