//! A queue that runs: takes buffers out of the available ring, puts them into the used ring, calls the driver.
//!
//! The rings are looked up once, when the queue starts, so that each lies in one region of the memory; from then on they are
//! reached by nothing but loads and stores there (VIRTIO 1.2, 2.7).

use std::num::Wrapping;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering, fence};

use virtio_bindings::bindings::virtio_ring::{VRING_AVAIL_F_NO_INTERRUPT, VRING_USED_F_NO_NOTIFY};
use vm_memory::{Address, GuestAddress};

use super::eventfd::Eventfd;
use super::{Chain, Kicks, Memory, Refused};
use crate::area::Area;
use crate::descriptor::{DESCRIPTOR, INDIRECT};

/// How a queue begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Start {
    pub(crate) size: u16,
    pub(crate) descriptors: GuestAddress,
    pub(crate) available: GuestAddress,
    pub(crate) used: GuestAddress,
    /// The index of the available ring at which it goes on.
    pub(crate) base: u16,
    /// Whether VIRTIO_F_EVENT_IDX was agreed upon.
    pub(crate) event_index: bool,
    /// Whether VIRTIO_F_INDIRECT_DESC was.
    pub(crate) indirect: bool,
}

/// A queue that runs. Buffers are given back in the order in which they were taken.
#[derive(Debug)]
pub struct Ring {
    memory: Arc<Memory>,
    size: u16,
    /// The table, and the rings (2.7.5, 2.7.6, 2.7.8).
    descriptors: Area,
    available: Area,
    used: Area,
    pub(super) kick: Option<Arc<Eventfd>>,
    pub(super) call: Option<Eventfd>,
    pub(super) error: Option<Eventfd>,
    event_index: bool,
    indirect: bool,
    broken: bool,
    /// The buffer that is taken next, and up to which there were buffers at the last look.
    next: Wrapping<u16>,
    there: Wrapping<u16>,
    /// Taken and not yet given back.
    taken: u16,
    /// Buffers given back, and up to which of them it was asked whether to call.
    given: Wrapping<u16>,
    asked: Wrapping<u16>,
    generation: u64,
}

static GENERATIONS: AtomicU64 = AtomicU64::new(0);

/// Where the index of either ring is, and its first entry.
const INDEX: usize = 2;
const ENTRIES: usize = 4;

impl Ring {
    pub(crate) fn new(memory: Arc<Memory>, start: &Start) -> Result<Ring, Refused> {
        let n = usize::from(start.size);
        if !start.size.is_power_of_two() {
            return Err(Refused::Rings(format!("a queue of {n} descriptors: no power of two")));
        }
        let part = |what: &str, address: GuestAddress, aligned: u64, len: usize| {
            let address = address.raw_value();
            if !address.is_multiple_of(aligned) {
                return Err(Refused::Rings(format!(
                    "its {what} at {address:#x} is not aligned to {aligned} bytes"
                )));
            }
            let found = memory
                .area(address, len)
                .filter(|area| area.as_ptr().addr().is_multiple_of(aligned as usize));
            let reason = format!("its {what} at {address:#x} is not in one region of the memory shared");
            found.ok_or(Refused::Rings(reason))
        };
        let descriptors = part("table of descriptors", start.descriptors, 16, DESCRIPTOR * n)?;
        let available = part("available ring", start.available, 2, ENTRIES + 2 * n + 2)?;
        let used = part("used ring", start.used, 4, ENTRIES + 8 * n + 2)?;
        let (given, next) = (Wrapping(used.load(INDEX)), Wrapping(start.base));
        let generation = GENERATIONS.fetch_add(1, Ordering::Relaxed);
        Ok(Ring {
            memory,
            size: start.size,
            descriptors,
            available,
            used,
            kick: None,
            call: None,
            error: None,
            event_index: start.event_index,
            indirect: start.indirect,
            broken: false,
            next,
            there: next,
            taken: 0,
            given,
            asked: given,
            generation,
        })
    }

    /// A queue in memory of this process that nobody calls, for tests: of `size` buffers, with its descriptors at 0,
    /// and the available and the used ring where VIRTIO 1.2, 2.7.2, would have them.
    ///
    /// # Errors
    /// If the size is no power of two, or the memory too small.
    #[doc(hidden)]
    pub fn alone(memory: Arc<Memory>, size: u16, indirect: bool, event_index: bool) -> Result<Ring, Refused> {
        let layout = crate::frontend::Layout::new(0, size, 0).map_err(|e| Refused::Rings(e.to_string()))?;
        let at = |offset: usize| GuestAddress(offset as u64);
        let start = Start {
            size,
            descriptors: at(layout.descriptors),
            available: at(layout.available),
            used: at(layout.used),
            base: 0,
            event_index,
            indirect,
        };
        Ring::new(memory, &start)
    }

    /// Differs from that of every other queue that ever ran in this process: what was taken out of another is not
    /// this one's.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// The guest's memory.
    pub fn memory(&self) -> &Arc<Memory> {
        &self.memory
    }

    /// Whether the driver has offered something that was not taken.
    #[inline]
    pub fn has_some(&self) -> bool {
        self.offered() != 0
    }

    /// How many buffers the driver has offered that were not taken, as it says.
    #[inline]
    pub fn offered(&self) -> u16 {
        if self.broken { 0 } else { (Wrapping(self.available.load(INDEX)) - self.next).0 }
    }

    /// Takes the next buffer, if there is one. A queue in which anything is wrong gives none any more until it is set
    /// up anew.
    ///
    /// # Errors
    /// What is wrong with it, once.
    #[inline]
    pub fn take(&mut self, chain: &mut Chain) -> Result<bool, Refused> {
        self.take_first(chain, usize::MAX)
    }

    /// Takes the next buffer, of which only the first `most` pieces (one at least) are looked at: for a device that need
    /// not use all of a buffer, and does not want to be kept by long ones.
    ///
    /// # Errors
    /// What is wrong with it, once.
    #[inline]
    pub fn take_first(&mut self, chain: &mut Chain, most: usize) -> Result<bool, Refused> {
        if self.broken {
            return Ok(false);
        }
        if self.next == self.there {
            self.there = Wrapping(self.available.load(INDEX));
            let ahead = (self.there - self.next).0;
            // Also those that were taken are still the device's: no driver offers more than the queue has.
            if ahead.checked_add(self.taken).is_none_or(|all| all > self.size) {
                return Err(self.give_up(Refused::AvailableIndex(ahead)));
            }
            if ahead == 0 {
                return Ok(false);
            }
        }
        let head = self.available.load(ENTRIES + 2 * usize::from(self.next.0 % self.size));
        self.next += 1;
        self.taken += 1;
        let copied = chain.copy(&self.memory, &self.descriptors, self.size, head, self.indirect, most);
        self.fetch_next();
        copied.map(|()| true).map_err(|refused| self.give_up(refused))
    }

    /// Has the processor fetch the indirect table of the buffer that comes next while this one is worked on: the driver wrote it,
    /// on another core as a rule. Nothing that is seen here is believed.
    #[inline]
    fn fetch_next(&mut self) {
        if self.next == self.there {
            // What is wrong with an index is told when a buffer is taken.
            let there = Wrapping(self.available.load(INDEX));
            let ahead = (there - self.next).0;
            if ahead == 0 || ahead.checked_add(self.taken).is_none_or(|all| all > self.size) {
                return;
            }
            self.there = there;
        }
        let head = self.available.load(ENTRIES + 2 * usize::from(self.next.0 % self.size));
        if head < self.size {
            let descriptor = self.descriptors.descriptor(DESCRIPTOR * usize::from(head));
            if descriptor.has(INDIRECT) {
                self.memory.fetch(descriptor.address, descriptor.bytes as usize);
            }
        }
    }

    /// Gives a buffer back into which `written` bytes were written.
    #[inline]
    pub fn give_back(&mut self, chain: &Chain, written: u32) {
        if self.broken {
            return;
        }
        self.taken = self.taken.saturating_sub(1);
        let place = ENTRIES + 8 * usize::from(self.given.0 % self.size);
        self.used.put(place, u64::from(written) << 32 | u64::from(chain.head()));
        self.given += 1;
        self.used.store(INDEX, self.given.0);
    }

    /// Gives the queue up for something that only the device can see: it takes nothing any more until it is set up
    /// anew, and the driver's eventfd for errors is signalled. Returns what it was given.
    #[cold]
    pub fn give_up(&mut self, refused: Refused) -> Refused {
        self.broken = true;
        if let Some(error) = &self.error {
            error.signal();
        }
        refused
    }

    /// Whether it was given up.
    pub fn is_broken(&self) -> bool {
        self.broken
    }

    /// Has its kicks waited for there, too, as those of that tenant's queue. One that was kicked ever counts as kicked.
    pub fn watched_by(&self, kicks: &Kicks, tenant: usize, queue: usize) {
        if let Some(kick) = &self.kick {
            // It fails where they are waited for already.
            let _ = kicks.watch(&**kick, tenant, queue);
        }
    }

    /// Calls the driver, if it wants to hear of what was given back since the last time. Whether it was called.
    pub fn call(&mut self) -> bool {
        !self.broken && self.wants_call() && self.call.as_ref().is_some_and(Eventfd::signal)
    }

    /// As [`call`](Ring::call), where more is given back soon and `call` comes after the last of it: a driver that just now wishes
    /// to be called may be called only then. It costs no fence.
    pub fn call_early(&mut self) -> bool {
        let wanted = !self.broken && self.asked != self.given && self.driver_wishes();
        if wanted {
            self.asked = self.given;
        }
        wanted && self.call.as_ref().is_some_and(Eventfd::signal)
    }

    /// Calls the driver, who may wait for a call that never came: whoever served it before may have been killed when it had
    /// given a buffer back and not called yet. To be called for nothing is nothing to a driver.
    pub(super) fn call_anyway(&self) {
        if let Some(call) = &self.call {
            call.signal();
        }
    }

    fn wants_call(&mut self) -> bool {
        if self.asked == self.given {
            return false;
        }
        // What was given back must be there before the driver's wish is looked at, as it looks again after it wished.
        fence(Ordering::SeqCst);
        let wanted = self.driver_wishes();
        self.asked = self.given;
        wanted
    }

    /// Whether the driver wishes to be called for what was given back since it was asked.
    #[inline]
    fn driver_wishes(&self) -> bool {
        if self.event_index {
            // VIRTIO 1.2, 2.7.7: `used_event`, after the available ring.
            let event = Wrapping(self.available.load(ENTRIES + 2 * usize::from(self.size)));
            return self.given - event - Wrapping(1) < self.given - self.asked;
        }
        u32::from(self.available.load(0)) & VRING_AVAIL_F_NO_INTERRUPT == 0
    }

    /// Asks the driver to kick for new buffers, or not to. Whether there is a buffer already for which it may not
    /// have kicked.
    pub fn want_kicks(&mut self, wanted: bool) -> bool {
        if self.broken {
            return false;
        }
        match (self.event_index, wanted) {
            // 2.7.10: `avail_event`, after the used ring. Left behind it asks for no more kicks.
            (true, true) => self.used.store(ENTRIES + 8 * usize::from(self.size), self.next.0),
            (true, false) => {}
            (false, wanted) => self.used.store(0, if wanted { 0 } else { VRING_USED_F_NO_NOTIFY as u16 }),
        }
        if !wanted {
            return false;
        }
        fence(Ordering::SeqCst);
        self.available.load(INDEX) != self.next.0
    }

    /// The index of the available ring at which another server could go on: what was taken and not given back is
    /// offered again.
    pub(crate) fn base(&self) -> u16 {
        (self.next - Wrapping(self.taken)).0
    }
}
