//! What both ends do alike: wake the other, and wait for it.

use super::doorbell::Doorbell;
use crate::atomic::Ordering;
use crate::coroutine::Shared;
use crate::ring::Watched;
use crate::ring::bell::ASLEEP;
use crate::time_limit::TimeLimit;
use crate::wait::{Gone, Patience, Platform, Waiter, Waits};

/// After so many turns in vain it asks whether the other end is gone, which may be a call of the kernel: tasks that never let it wait are told too.
const VAIN: u32 = 1 << 12;

/// What stands in the bell of an end that was nudged: it has nothing to take.
const NUDGED: u64 = 2;

/// The way to the other end.
pub struct Connection<P = Doorbell> {
    waiter: Waiter<P>,
    woken: u64,
    /// How far its end had come in writing when it last looked after the other.
    flushed: Option<u64>,
    /// Turns since one brought something.
    vain: u32,
}

/// How an end waited, and how often it woke the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// How often it woke the other end: a call of the kernel each.
    pub notices: u64,
    /// How its waits ended.
    pub waits: Waits,
}

impl Connection {
    pub(super) fn new(doorbell: Doorbell, patience: Option<Patience>) -> Connection {
        let patience = patience.unwrap_or_else(Patience::measured);
        Connection { waiter: Waiter::new(doorbell, patience), woken: 0, flushed: None, vain: 0 }
    }

    pub(super) fn doorbell_mut(&mut self) -> &mut Doorbell {
        self.waiter.platform_mut()
    }
}

impl<P: Platform> Connection<P> {
    /// The same, of an end that sleeps in another way.
    pub(super) fn moved<Q: Platform>(self, to: impl FnOnce(P) -> Q) -> Connection<Q> {
        let Connection { waiter, woken, flushed, vain } = self;
        Connection { waiter: waiter.moved(to), woken, flushed, vain }
    }

    /// Whether the other end is known to be no more.
    pub(super) fn is_gone(&self) -> bool {
        self.waiter.platform().is_gone()
    }

    /// A turn of those who share an end has come to nothing, or to something. Now and then, when nothing comes, it is asked: whether the other end is gone
    /// and has left nothing.
    #[inline]
    pub(super) fn is_over_after(&mut self, came: bool, shared: &impl Shared) -> bool {
        self.vain = if came { 0 } else { self.vain.wrapping_add(1) };
        !came && self.vain.is_multiple_of(VAIN) && self.is_gone() && !shared.with(|end| end.has_some())
    }

    /// Wakes the other end if it sleeps and something was written for it since the last time: what was written before, it saw when it looked once
    /// more, or was woken for.
    #[inline]
    pub(super) fn flush(&mut self, ring: &impl Watched) {
        let written = Some(ring.written());
        if written == self.flushed {
            return;
        }
        self.flushed = written;
        if ring.theirs().answer() {
            self.wakes(ring);
        }
    }

    /// As [`flush`](Connection::flush), if it is plain to see that the other end sleeps. That is not always so.
    #[inline]
    pub(super) fn hint(&mut self, ring: &impl Watched) {
        if ring.theirs().is_asked() {
            self.flush(ring);
        }
    }

    #[cold]
    fn wakes(&mut self, ring: &impl Watched) {
        self.waiter.platform().wake(ring.theirs().0);
        self.woken += 1;
    }

    /// Wakes the other end if it sleeps, and waits until there is something, or `or` says so.
    #[inline]
    pub(super) fn wait(&mut self, ring: &impl Watched, mut or: impl FnMut() -> bool) -> Result<(), Gone> {
        self.flush(ring);
        let Some(next) = ring.next() else { return Ok(()) };
        self.waiter.wait(ring.bell(), || next.is_there() || or())
    }

    /// The same within a time limit; whether there is something.
    #[inline]
    pub(super) fn wait_within(&mut self, ring: &impl Watched, limit: &mut TimeLimit) -> Result<bool, Gone> {
        self.flush(ring);
        let Some(next) = ring.next() else { return Ok(true) };
        self.waiter.wait_within(ring.bell(), || next.is_there(), || limit.left())
    }

    /// Nudges the other end, and wakes it if it sleeps: with nothing in the rings, for who measures what that takes.
    pub(super) fn nudges(&mut self, ring: &impl Watched) {
        if ring.next().is_some() && ring.theirs().0.swap(NUDGED, Ordering::SeqCst) == ASLEEP {
            self.wakes(ring);
        }
    }

    /// Sleeps until the other end has [nudged](Self::nudges) this one, unless it has already.
    pub(super) fn is_nudged(&self, ring: &impl Watched) -> Result<(), Gone> {
        // Of an end that is no more this process' neither bell is.
        if ring.next().is_none() {
            return Err(Gone);
        }
        let bell = ring.bell();
        // What else may stand there is a nudge: nobody but this end says that it sleeps.
        if bell.0.compare_exchange(0, ASLEEP, Ordering::SeqCst, Ordering::SeqCst).is_ok() {
            while bell.is_asked() {
                if let Err(gone) = self.waiter.platform().sleep(bell.0) {
                    bell.withdraw();
                    return Err(gone);
                }
            }
        }
        bell.withdraw();
        Ok(())
    }

    pub(super) fn doorbell(&self) -> &P {
        self.waiter.platform()
    }

    pub(super) fn into_parts(self) -> (P, Patience) {
        self.waiter.into_parts()
    }

    pub(super) fn counts(&self) -> Counts {
        Counts { notices: self.woken, waits: self.waiter.waits() }
    }
}
