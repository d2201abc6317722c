//! The door for tenants of the device's own process: memory, rings and eventfds as at a socket, and no socket.
//!
//! Nothing is believed that is not believed of a peer: the memory is mapped as another process's is, and what stands in it is
//! checked in the same places.

use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tollway_host::shared::SharedPages;
use virtio_bindings::bindings::virtio_ring::{VIRTIO_RING_F_EVENT_IDX, VIRTIO_RING_F_INDIRECT_DESC};
use vm_memory::GuestAddress;

use super::eventfd::Eventfd;
use super::memory::{Region, most_shared};
use super::received::Received;
use super::ring::Start;
use super::{Answer, Device, Event, Kicks, Memory, Port, Refused, Ring};
use crate::frontend::Lane;

/// A tenant's place in a device of this process. A clone is the same place.
#[derive(Clone)]
pub struct Inside(Arc<dyn Door>);

impl std::fmt::Debug for Inside {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a place in a device of this process")
    }
}

impl Inside {
    /// The place of the tenant with that number, whose queues are at `port`.
    pub(crate) fn new<D: Device + 'static>(
        device: Arc<D>,
        kicks: Arc<Kicks>,
        tenant: usize,
        port: Arc<Port>,
    ) -> Inside {
        let (taken, watched, ended) = (AtomicBool::new(false), Mutex::default(), Arc::default());
        Inside(Arc::new(Place { device, kicks, tenant, port, taken, watched, ended }))
    }

    pub(crate) fn door(&self) -> &dyn Door {
        &*self.0
    }
}

struct Place<D> {
    device: Arc<D>,
    kicks: Arc<Kicks>,
    tenant: usize,
    port: Arc<Port>,
    taken: AtomicBool,
    /// What kicks each queue.
    watched: Mutex<Vec<Arc<Eventfd>>>,
    /// Whether the device serves nobody any more.
    ended: Arc<AtomicBool>,
}

/// What a front end does with a device of this process.
pub(crate) trait Door: Send + Sync {
    /// Feature bits that are offered.
    fn features(&self) -> u64;

    /// Has queues start in memory that is seen at `guest`.
    fn enter(&self, pages: &SharedPages, guest: u64, features: u64, lanes: &[Lane]) -> Result<(), Refused>;

    /// See [`Device::answer`].
    fn answer(&self, request: u32, body: &[u8]) -> Option<Answer>;

    /// How many queues there are.
    fn queues(&self) -> usize;

    /// What is set when the device serves nobody any more.
    fn ended(&self) -> Arc<AtomicBool>;

    /// Has all queues stop.
    fn leave(&self);

    /// The device serves nobody any more: whoever waits for it is called.
    fn end(&self);
}

impl<D: Device> Door for Place<D> {
    fn features(&self) -> u64 {
        self.device.features()
    }

    fn enter(&self, pages: &SharedPages, guest: u64, features: u64, lanes: &[Lane]) -> Result<(), Refused> {
        if self.ended.load(Ordering::Acquire) {
            return Err(Refused::Connection("the device has ended".into()));
        }
        if self.taken.swap(true, Ordering::AcqRel) {
            return Err(Refused::Connection("somebody is in there already".into()));
        }
        self.device.event(self.tenant, Event::Connected);
        let started = self.start(pages, guest, features, lanes);
        if started.is_err() {
            self.leave();
        }
        started
    }

    fn answer(&self, request: u32, body: &[u8]) -> Option<Answer> {
        self.device.answer(self.tenant, request, body)
    }

    fn leave(&self) {
        let Place { device, tenant, port, taken, watched, .. } = self;
        let kicks = self.kicks();
        for kick in watched.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            kicks.forget(&*kick);
        }
        let stopped: Vec<_> = port.rings().iter_mut().map(Option::take).collect();
        for (queue, _) in stopped.into_iter().enumerate().filter(|(_, ring)| ring.is_some()) {
            device.event(*tenant, Event::Stopped(queue));
        }
        device.event(*tenant, Event::Gone);
        taken.store(false, Ordering::Release);
    }

    fn queues(&self) -> usize {
        self.device.queues()
    }

    fn ended(&self) -> Arc<AtomicBool> {
        self.ended.clone()
    }

    fn end(&self) {
        self.ended.store(true, Ordering::Release);
        self.port.rings().iter().flatten().for_each(Ring::call_anyway);
    }
}

impl<D: Device> Place<D> {
    fn kicks(&self) -> &Kicks {
        self.device.kicks(self.tenant).unwrap_or(&self.kicks)
    }

    fn start(&self, pages: &SharedPages, guest: u64, features: u64, lanes: &[Lane]) -> Result<(), Refused> {
        let failed = |e: std::io::Error| Refused::Connection(e.to_string());
        let region = Region { guest, size: pages.len() as u64, user: pages.as_ptr() as u64, offset: 0 };
        let file = pages.as_fd().try_clone_to_owned().map_err(failed)?;
        let memory = Memory::map(vec![region], vec![Received::new(file, Arc::default())], most_shared(1))?;
        let memory = Arc::new(memory);
        let queues = self.device.queues();
        if lanes.len() > queues {
            return Err(Refused::Rings(format!("{} of them, of {queues}", lanes.len())));
        }
        for (queue, lane) in lanes.iter().enumerate() {
            let layout = lane.layout();
            let most = self.device.queue_size();
            if layout.size > most {
                return Err(Refused::Rings(format!("a queue's size is a power of two, at most {most}")));
            }
            let at = |offset: usize| GuestAddress(guest + offset as u64);
            let mut ring = Ring::new(
                memory.clone(),
                &Start {
                    size: layout.size,
                    descriptors: at(layout.descriptors),
                    available: at(layout.available),
                    used: at(layout.used),
                    base: 0,
                    event_index: features & 1 << VIRTIO_RING_F_EVENT_IDX != 0,
                    indirect: features & 1 << VIRTIO_RING_F_INDIRECT_DESC != 0,
                },
            )?;
            let [kick, call] = lane.eventfds().map_err(|e| failed(e.into()))?.map(Eventfd::own);
            let kick = Arc::new(kick);
            (ring.kick, ring.call) = (Some(kick.clone()), Some(call));
            let watched = self.kicks().watch(&*kick, self.tenant, queue);
            watched.map_err(|e| Refused::Rings(format!("its kicks cannot be waited for: {e}")))?;
            self.watched.lock().unwrap_or_else(PoisonError::into_inner).push(kick);
            self.port.rings()[queue] = Some(ring);
            self.device.event(self.tenant, Event::Started(queue));
        }
        Ok(())
    }
}
