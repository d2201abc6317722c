//! A micro-guest rings; a process that sleeps is woken and answers through memory.
//!
//! The guest's store to the doorbell leaves the guest but not the kernel, which adds one to an eventfd and resumes it.
//! The answer needs no exit: the guest watches for it in memory that both share.

use std::hint::spin_loop;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tollway_core::{Error, Params, Place, Result};
use tollway_host::watch::Release;
use tollway_payload::crossing::mmio_store;

use super::eventfd::{add, take};
use super::sequence::{STOP, Sequence};
use super::shared::Shared;
use super::{Caller, Exchange, Server};

/// A doorbell and the counter of its rings.
pub struct Bell {
    store_to: usize,
    rings: Arc<OwnedFd>,
}

impl Bell {
    /// The first doorbell of a place.
    pub fn of(place: &Place) -> Result<Bell> {
        let Some(bell) = place.doorbells.first() else {
            return Err(Error::Tenant { tenant: "guest".into(), reason: "it was given no doorbell".into() });
        };
        // SAFETY: `Doorbell` says that the descriptor is open as long as the actor lives, which is being made ready
        // now; it is borrowed for this call only.
        let rings = unsafe { BorrowedFd::borrow_raw(bell.wakes) }
            .try_clone_to_owned()
            .map_err(|e| Error::system("sharing a doorbell's eventfd", e))?;
        Ok(Bell { store_to: bell.store_to, rings: Arc::new(rings) })
    }

    /// Rings. Only where the place says that the actor runs: in the guest.
    #[inline(always)]
    pub fn ring(&self) {
        // SAFETY: the place gave the address for being stored to, and its tenant has nothing else there.
        unsafe { mmio_store(self.store_to, 1) };
    }

    /// The counter: every ring adds one.
    pub fn rings(&self) -> &OwnedFd {
        &self.rings
    }
}

/// A doorbell rung, a process woken, and its answer seen in memory.
pub struct DoorbellExchange;

/// The end in the guest.
pub struct DoorbellCaller {
    shared: Arc<Shared>,
    bell: Bell,
    /// The last answer, as it was read: what it is now may already be the word that says that the server is gone.
    seen: u32,
    sequence: Sequence,
}

/// The end that sleeps until the doorbell rings.
pub struct DoorbellServer {
    shared: Arc<Shared>,
    rings: Arc<OwnedFd>,
}

impl Exchange for DoorbellExchange {
    type Caller = DoorbellCaller;
    type Server = DoorbellServer;

    fn caller(_: &Params, place: &Place) -> Result<(DoorbellCaller, Vec<OwnedFd>)> {
        let bell = Bell::of(place)?;
        let (shared, memory) = Shared::create()?;
        let rings = bell.rings().try_clone().map_err(|e| Error::system("sharing a doorbell's eventfd", e))?;
        let caller =
            DoorbellCaller { shared: Arc::new(shared), bell, seen: 0, sequence: Sequence::default() };
        Ok((caller, vec![memory, rings]))
    }

    fn server(_: &Params, descriptors: Vec<OwnedFd>) -> Result<DoorbellServer> {
        let [memory, rings] = super::exactly(descriptors)?;
        Ok(DoorbellServer { shared: Arc::new(Shared::adopt(memory)?), rings: Arc::new(rings) })
    }
}

impl Caller for DoorbellCaller {
    #[inline]
    fn ask(&mut self) {
        let Some(number) = self.sequence.next() else { return };
        self.shared.request.store(number, Ordering::Release);
        self.bell.ring();
        let mut answer = self.shared.reply.load(Ordering::Acquire);
        while answer == self.seen {
            spin_loop();
            answer = self.shared.reply.load(Ordering::Acquire);
        }
        self.seen = answer;
        match answer {
            STOP => self.sequence.end(),
            answer => self.sequence.note(answer == number),
        }
    }

    fn stop(&mut self) -> Result<()> {
        self.shared.request.store(STOP, Ordering::Release);
        self.bell.ring();
        Ok(())
    }

    fn verify(&mut self, asked: u64, served: u64) -> Result<()> {
        self.sequence.verify(asked, served)
    }

    fn release(&self) -> Release {
        let shared = self.shared.clone();
        Box::new(move || shared.reply.store(STOP, Ordering::Release))
    }
}

impl Server for DoorbellServer {
    /// Every ring is one request: the guest rings again only when it has been answered.
    fn serve(&mut self) -> Result<u64> {
        let mut served = 0;
        loop {
            take(&self.rings).map_err(|e| Error::system("waiting for the doorbell", e))?;
            match self.shared.request.load(Ordering::Acquire) {
                STOP => return Ok(served),
                number => self.shared.reply.store(number, Ordering::Release),
            }
            served += 1;
        }
    }

    fn release(&self) -> Release {
        let (shared, rings) = (self.shared.clone(), self.rings.clone());
        Box::new(move || {
            shared.request.store(STOP, Ordering::Release);
            add(&rings, 1);
        })
    }
}
