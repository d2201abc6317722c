//! A queue that runs: takes buffers out of the available ring, puts them into the used ring, calls the driver.

use std::num::Wrapping;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use virtio_bindings::bindings::virtio_ring::VRING_AVAIL_F_NO_INTERRUPT;
use virtio_queue::{Error, Queue, QueueOwnedT, QueueT};
use vm_memory::{Bytes, GuestAddress};

use super::eventfd::Eventfd;
use super::{Chain, Memory, Refused};

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
    queue: Queue,
    memory: Arc<Memory>,
    pub(super) call: Option<Eventfd>,
    pub(super) error: Option<Eventfd>,
    indirect: bool,
    broken: bool,
    /// Taken and not yet given back.
    taken: u16,
    generation: u64,
}

static GENERATIONS: AtomicU64 = AtomicU64::new(0);

impl Ring {
    pub(crate) fn new(memory: Arc<Memory>, start: &Start) -> Result<Ring, Refused> {
        let refused = |e: Error| Refused::Rings(e.to_string());
        let mut queue = Queue::new(start.size).map_err(refused)?;
        queue.try_set_desc_table_address(start.descriptors).map_err(refused)?;
        queue.try_set_avail_ring_address(start.available).map_err(refused)?;
        queue.try_set_used_ring_address(start.used).map_err(refused)?;
        queue.set_event_idx(start.event_index);
        queue.set_ready(true);
        if !queue.is_valid(memory.guest()) {
            return Err(Refused::Rings("its rings are not in the memory shared".into()));
        }
        let used = queue.used_idx(memory.guest(), Ordering::Acquire).map_err(refused)?;
        queue.set_next_used(used.0);
        queue.set_next_avail(start.base);
        let generation = GENERATIONS.fetch_add(1, Ordering::Relaxed);
        Ok(Ring {
            queue,
            memory,
            call: None,
            error: None,
            indirect: start.indirect,
            broken: false,
            taken: 0,
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

    /// Takes the next buffer, if there is one. A queue in which anything is wrong gives none any more until it is set
    /// up anew.
    ///
    /// # Errors
    /// What is wrong with it, once.
    pub fn take(&mut self, chain: &mut Chain) -> Result<bool, Refused> {
        self.take_first(chain, usize::MAX)
    }

    /// Takes the next buffer, of which only the first `most` pieces (one at least) are looked at: for a device that need
    /// not use all of a buffer, and does not want to be kept by long ones.
    ///
    /// # Errors
    /// What is wrong with it, once.
    pub fn take_first(&mut self, chain: &mut Chain, most: usize) -> Result<bool, Refused> {
        if self.broken {
            return Ok(false);
        }
        self.try_take(chain, most).map_err(|refused| self.give_up(refused))
    }

    fn try_take(&mut self, chain: &mut Chain, most: usize) -> Result<bool, Refused> {
        let memory = &self.memory;
        let wrong = |e: Error| Refused::Rings(e.to_string());
        let available = self.queue.avail_idx(memory.guest(), Ordering::Acquire).map_err(wrong)?;
        let ahead = available - Wrapping(self.queue.next_avail());
        // Also those that were taken are still the device's: no driver offers more than the queue has.
        if ahead.0.checked_add(self.taken).is_none_or(|all| all > self.queue.size()) {
            return Err(Refused::AvailableIndex(ahead.0));
        }
        let head = match self.queue.iter(memory.guest()).map_err(wrong)?.next() {
            None => return Ok(false),
            Some(found) => found.head_index(),
        };
        self.taken += 1;
        let table = GuestAddress(self.queue.desc_table());
        chain.copy(memory.guest(), table, self.queue.size(), head, self.indirect, most)?;
        Ok(true)
    }

    /// Gives a buffer back into which `written` bytes were written.
    ///
    /// # Errors
    /// What is wrong with the queue, once.
    pub fn give_back(&mut self, chain: &Chain, written: u32) -> Result<(), Refused> {
        if self.broken {
            return Ok(());
        }
        self.taken = self.taken.saturating_sub(1);
        let done = self.queue.add_used(self.memory.guest(), chain.head, written);
        done.map_err(|e| self.give_up(Refused::Rings(e.to_string())))
    }

    /// Gives the queue up for something that only the device can see: it takes nothing any more until it is set up
    /// anew, and the driver's eventfd for errors is signalled. Returns what it was given.
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

    /// Calls the driver, if it wants to hear of what was given back since the last time. Whether it was called.
    ///
    /// # Errors
    /// What is wrong with the queue, once.
    pub fn call(&mut self) -> Result<bool, Refused> {
        if self.broken {
            return Ok(false);
        }
        let wanted = self.wants_call().map_err(|e| self.give_up(Refused::Rings(e.to_string())))?;
        Ok(wanted && self.call.as_ref().is_some_and(Eventfd::signal))
    }

    /// Calls the driver, who may wait for a call that never came: whoever served it before may have been killed when it had
    /// given a buffer back and not called yet. To be called for nothing is nothing to a driver.
    pub(super) fn call_anyway(&self) {
        if let Some(call) = &self.call {
            call.signal();
        }
    }

    fn wants_call(&mut self) -> Result<bool, Error> {
        let memory = self.memory.guest();
        if !self.queue.needs_notification(memory)? {
            return Ok(false);
        }
        if self.queue.event_idx_enabled() {
            return Ok(true);
        }
        // VIRTIO 1.2, 2.7.7: without event indices, a flag. The library does not look at it, but has put a fence before.
        let flags: u16 = memory
            .load(GuestAddress(self.queue.avail_ring()), Ordering::Relaxed)
            .map_err(Error::GuestMemory)?;
        Ok(u32::from(u16::from_le(flags)) & VRING_AVAIL_F_NO_INTERRUPT == 0)
    }

    /// Asks the driver to kick for new buffers, or not to. Whether there is a buffer already for which it may not
    /// have kicked.
    ///
    /// # Errors
    /// What is wrong with the queue, once.
    pub fn want_kicks(&mut self, wanted: bool) -> Result<bool, Refused> {
        if self.broken {
            return Ok(false);
        }
        let memory = self.memory.guest();
        let done = if wanted {
            self.queue.enable_notification(memory)
        } else {
            self.queue.disable_notification(memory).map(|()| false)
        };
        done.map_err(|e| self.give_up(Refused::Rings(e.to_string())))
    }

    /// The index of the available ring at which another server could go on: what was taken and not given back is
    /// offered again.
    pub(crate) fn base(&self) -> u16 {
        (Wrapping(self.queue.next_avail()) - Wrapping(self.taken)).0
    }
}
