//! The driver's side of a split queue (VIRTIO 1.2, 2.7): each buffer is one descriptor, of its own number.

use std::num::Wrapping;
use std::sync::atomic::{Ordering, fence};

use tollway_core::{Error, Result};
use tollway_host::shared::SharedPages;
use virtio_bindings::bindings::virtio_ring::{VRING_DESC_F_WRITE, VRING_USED_F_NO_NOTIFY};
use virtio_queue::desc::split::Descriptor;
use vm_memory::{Bytes, VolatileSlice};

use super::Layout;

/// Where the guest sees the memory's first byte.
pub(super) const GUEST: u64 = 0x4000_0000;

/// A buffer that came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Used {
    /// Its number.
    pub buffer: u16,
    /// Bytes that the device wrote.
    pub bytes: u32,
}

/// The driver's side of a queue, in memory that the device sees too.
#[derive(Debug)]
pub(super) struct Queue {
    pages: SharedPages,
    layout: Layout,
    event_index: bool,
    next_available: Wrapping<u16>,
    /// Up to where the device was kicked.
    kicked: Wrapping<u16>,
    next_used: Wrapping<u16>,
    /// Bytes of each buffer that is with the device.
    offered: Vec<Option<u32>>,
}

impl Queue {
    pub(super) fn new(layout: Layout) -> Result<Queue> {
        let pages = SharedPages::new(layout.end)?;
        let offered = vec![None; usize::from(layout.size)];
        let zero = Wrapping(0);
        Ok(Queue {
            pages,
            layout,
            event_index: false,
            next_available: zero,
            kicked: zero,
            next_used: zero,
            offered,
        })
    }

    pub(super) fn pages(&self) -> &SharedPages {
        &self.pages
    }

    pub(super) fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The memory, as something that changes at any time.
    pub(super) fn memory(&self) -> VolatileSlice<'_> {
        // SAFETY: the pages are mapped for as long as `self` lives, and are only ever reached by volatile accesses.
        unsafe { VolatileSlice::new(self.pages.as_ptr(), self.pages.len()) }
    }

    /// Empty rings, as for a device that knows nothing of what was before; the buffers that were offered and did not
    /// come back.
    pub(super) fn reset(&mut self, event_index: bool) -> Vec<u16> {
        let lost = (0..self.layout.size).filter(|n| self.offered[usize::from(*n)].is_some()).collect();
        self.offered.fill(None);
        (self.next_available, self.kicked, self.next_used) = (Wrapping(0), Wrapping(0), Wrapping(0));
        self.event_index = event_index;
        let rings = self.memory().subslice(0, self.layout.buffers).expect("the rings are in the memory");
        for at in (0..rings.len()).step_by(8) {
            rings.write_obj(0u64, at).expect("the rings are in the memory");
        }
        lost
    }

    fn load(&self, at: usize) -> u16 {
        u16::from_le(self.memory().load(at, Ordering::Acquire).expect("the rings are in the memory"))
    }

    fn store(&self, value: u16, at: usize) {
        self.memory().store(value.to_le(), at, Ordering::Release).expect("the rings are in the memory");
    }

    pub(super) fn offer(&mut self, buffer: u16, bytes: u32) -> Result<()> {
        let most = self.layout.buffer_bytes;
        let slot = self.offered.get_mut(usize::from(buffer)).filter(|slot| slot.is_none());
        let Some(slot) = slot.filter(|_| bytes > 0 && bytes as usize <= most) else {
            return Err(Error::Input {
                place: format!("buffer {buffer} of a queue"),
                reason: format!("it cannot be offered with {bytes} bytes"),
                remedy: format!("offer one that is not with the device, with 1 to {most} bytes"),
            });
        };
        *slot = Some(bytes);
        let address = GUEST + self.layout.buffer(buffer) as u64;
        let descriptor = Descriptor::new(address, bytes, VRING_DESC_F_WRITE as u16, 0);
        let place = self.layout.descriptors + 16 * usize::from(buffer);
        self.memory().write_obj(descriptor, place).expect("the table is in the memory");
        let at = usize::from(self.next_available.0 % self.layout.size);
        self.store(buffer, self.layout.available + 4 + 2 * at);
        self.next_available += 1;
        self.store(self.next_available.0, self.layout.available + 2);
        Ok(())
    }

    /// Whether the device wants to be kicked for what was offered since the last time.
    pub(super) fn wants_kick(&mut self) -> bool {
        fence(Ordering::SeqCst);
        let (old, new) = (self.kicked, self.next_available);
        self.kicked = new;
        if old == new {
            return false;
        }
        let n = usize::from(self.layout.size);
        if self.event_index {
            // VIRTIO 1.2, 2.7.10: `avail_event`, after the used ring.
            let event = Wrapping(self.load(self.layout.used + 4 + 8 * n));
            return new - event - Wrapping(1) < new - old;
        }
        u32::from(self.load(self.layout.used)) & VRING_USED_F_NO_NOTIFY == 0
    }

    pub(super) fn take(&mut self) -> Result<Option<Used>> {
        let there = Wrapping(self.load(self.layout.used + 2)) - self.next_used;
        if there.0 == 0 {
            return Ok(None);
        }
        let at = self.layout.used + 4 + 8 * usize::from(self.next_used.0 % self.layout.size);
        let [id, bytes]: [u32; 2] = [0, 4].map(|more| {
            u32::from_le(self.memory().read_obj(at + more).expect("the used ring is in the memory"))
        });
        let offered = self.offered.get_mut(id as usize).and_then(Option::take);
        if there.0 > self.layout.size || offered.is_none_or(|most| bytes > most) {
            let reason =
                format!("{} used, and buffer {id} with {bytes} bytes, offered: {offered:?}", there.0);
            return Err(Error::Wrong(format!("the device gave back what it was not given: {reason}")));
        }
        self.next_used += 1;
        Ok(Some(Used { buffer: id as u16, bytes }))
    }

    /// Asks the device to call for the next buffer that it gives back, or not to call. Whether there is one already.
    pub(super) fn want_call(&mut self, wanted: bool) -> bool {
        let n = usize::from(self.layout.size);
        if self.event_index {
            // `used_event`, after the available ring: far behind says never, for as long as 2^15 buffers take.
            let event = self.next_used - Wrapping(if wanted { 0 } else { 1 << 15 });
            self.store(event.0, self.layout.available + 4 + 2 * n);
        } else {
            self.store(u16::from(!wanted), self.layout.available);
        }
        fence(Ordering::SeqCst);
        self.load(self.layout.used + 2) != self.next_used.0
    }

    pub(super) fn in_flight(&self) -> usize {
        self.offered.iter().flatten().count()
    }
}
