//! The ways out of a micro-guest, one operation each.
//!
//! `once` runs in the guest, everything else outside. Whether an exit really reached the program the tenant counts, and
//! `verify` compares.

use std::sync::atomic::{AtomicU64, Ordering};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tollway_core::{Error, Exits, Params, Place, Result};
use tollway_payload::crossing::{self, Hypercall};

use super::Operation;
use super::doorbell::Bell;
use super::eventfd::take;

/// A byte written to a port, which the program that runs the guest sees.
pub struct PortOutput(Exits);

impl Operation for PortOutput {
    fn prepare(_: &Params, place: &Place) -> Result<Self> {
        exits(place).map(PortOutput)
    }

    #[inline]
    fn once(&mut self) {
        // SAFETY: the place gave the port for this, so `once` runs in a guest whose program continues it after.
        unsafe { crossing::port_out(self.0.port, 1) };
    }

    fn verify(&mut self, done: u64) -> Result<()> {
        all_seen(&self.0.seen.port, done)
    }
}

/// A store to an address without memory, which the program that runs the guest sees.
pub struct MmioStore(Exits);

impl Operation for MmioStore {
    fn prepare(_: &Params, place: &Place) -> Result<Self> {
        exits(place).map(MmioStore)
    }

    #[inline]
    fn once(&mut self) {
        // SAFETY: the place gave the address for this, and its tenant has nothing else there.
        unsafe { crossing::mmio_store(self.0.store_to, 1) };
    }

    fn verify(&mut self, done: u64) -> Result<()> {
        all_seen(&self.0.seen.mmio, done)
    }
}

/// A store to a doorbell: the kernel sees it, adds one to an eventfd that nobody waits for, and resumes the guest.
pub struct Ring(Bell);

impl Operation for Ring {
    fn prepare(_: &Params, place: &Place) -> Result<Self> {
        Bell::of(place).map(Ring)
    }

    #[inline]
    fn once(&mut self) {
        self.0.ring();
    }

    /// Every ring is in the counter.
    fn verify(&mut self, done: u64) -> Result<()> {
        let failed = |e| Error::system("reading a doorbell's eventfd", e);
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        let anything =
            poll(&mut [PollFd::new(self.0.rings(), PollFlags::IN)], Some(&now)).map_err(failed)? > 0;
        let rung = if anything { take(self.0.rings()).map_err(failed)? } else { 0 };
        if rung == done {
            Ok(())
        } else {
            Err(Error::Wrong(format!("{done} rings were made and {rung} counted")))
        }
    }
}

/// CPUID of leaf 0, which always leaves a guest; the kernel answers.
pub struct Cpuid {
    expected: [u32; 4],
    wrong: u64,
}

impl Operation for Cpuid {
    fn prepare(_: &Params, _: &Place) -> Result<Self> {
        Ok(Cpuid { expected: crossing::cpuid(0, 0), wrong: 0 })
    }

    /// The vendor's name is compared, not the number of leaves: a guest may be shown fewer.
    #[inline]
    fn once(&mut self) {
        let [_, vendor @ ..] = crossing::cpuid(0, 0);
        self.wrong += u64::from(vendor != self.expected[1..]);
    }

    fn verify(&mut self, done: u64) -> Result<()> {
        match self.wrong {
            0 => Ok(()),
            n => Err(Error::Wrong(format!("{n} of {done} answers named another vendor"))),
        }
    }
}

/// KVM's hypercall 1 (KVM_HC_VAPIC_POLL_IRQ), which does nothing.
pub struct Vmcall {
    by: Hypercall,
    wrong: u64,
}

/// What KVM answers to a hypercall that it carries out, and to one from ring 3 (-KVM_EPERM).
const ANSWERS: [u64; 2] = [0, -1i64 as u64];

impl Operation for Vmcall {
    fn prepare(_: &Params, _: &Place) -> Result<Self> {
        Ok(Vmcall { by: Hypercall::of_this_processor(), wrong: 0 })
    }

    #[inline]
    fn once(&mut self) {
        // SAFETY: the variant lives in a micro-guest, where the instruction leaves it and the guest is resumed.
        let answer = unsafe { crossing::hypercall(self.by, 1) };
        self.wrong += u64::from(!ANSWERS.contains(&answer));
    }

    fn verify(&mut self, done: u64) -> Result<()> {
        match self.wrong {
            0 => Ok(()),
            n => Err(Error::Wrong(format!("{n} of {done} hypercalls were answered by something else"))),
        }
    }
}

/// Whether the program saw as many exits as the guest made.
fn all_seen(seen: &AtomicU64, made: u64) -> Result<()> {
    let seen = seen.load(Ordering::Relaxed);
    if seen == made { Ok(()) } else { Err(Error::Wrong(format!("{made} exits were made and {seen} seen"))) }
}

fn exits(place: &Place) -> Result<Exits> {
    place
        .exits
        .clone()
        .ok_or_else(|| Error::Tenant { tenant: "caller".into(), reason: "it was given no way out".into() })
}
