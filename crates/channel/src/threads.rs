//! Several threads at one client's end, each of which asks and waits for its own reply.
//!
//! One of those that wait leads: it looks for replies on behalf of all, and sleeps where there are none; the others sleep until it wakes them.
//! When the leader's own reply has come it hands the lead on to one that waits still. So whoever is alone waits as the end itself does, and however
//! many there are, one of them at a time looks at the other process's memory. (D. C. Schmidt, C. O'Ryan, M. Kircher, I. Pyarali,
//! "Leader/Followers", PLoP 2000.)
//!
//! The end's own state is behind a lock, which is held while a message is copied, never while somebody waits or the kernel is called.

use alloc::boxed::Box;
use core::mem;
use core::time::Duration;

use super::atomic::{AtomicBool, AtomicU64, Ordering};
use super::failed::Failed;
use super::ring::bell::Bell;
use super::ring::client::{Client, Refused, Reply};
use super::ring::{Memory, Violation, Watched};
use super::sync::{Condvar, Mutex, MutexGuard};
use super::time_limit::TimeLimit;
use super::wait::{Gone, Patience, Platform, Waiter, Waits};

/// A client's end for several threads: shared by reference, or in an `Arc`.
pub struct Caller<M, P> {
    memory: M,
    platform: P,
    /// How long a call waits.
    timeout: Option<Duration>,
    inner: Mutex<Inner<M, P>>,
    /// Where the owner of each slot's request sleeps, while another leads.
    beds: Box<[Condvar]>,
    /// Where those sleep that wait until a slot is free.
    room: Condvar,
    /// Whether there is a slot for the leader, if it leads for that.
    has_room: AtomicBool,
    notices: AtomicU64,
}

impl<M, P> core::fmt::Debug for Caller<M, P> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Caller")
            .field("timeout", &self.timeout)
            .field("notices", &self.notices)
            .finish_non_exhaustive()
    }
}

struct Inner<M, P> {
    client: Client<M>,
    seats: Box<[Seat]>,
    /// Which seats' owners sleep: a bit each.
    asleep: Box<[u64]>,
    /// How many wait until a slot is free.
    crowd: usize,
    /// By what the leader waits; none while somebody leads.
    waiter: Option<Waiter<P>>,
    /// Whether the leader waits until a slot is free.
    leads_for_room: bool,
    waits: Waits,
    /// Why no reply comes any more.
    stopped: Option<Failed>,
}

/// Of the request in a slot.
enum Seat {
    /// It is with the server.
    Sent,
    /// The reply is there.
    Came(Reply),
    /// There is none, or nobody wants its reply any more.
    Left,
}

impl<M: Memory + Clone, P: Platform + Clone> Caller<M, P> {
    /// For the threads that have it: an end, and what its leader waits by. Replies to requests that are on their way already are dropped.
    pub fn new(client: Client<M>, platform: P, patience: Patience) -> Caller<M, P> {
        let slots = client.geometry().slots();
        let inner = Inner {
            seats: (0..slots).map(|_| Seat::Left).collect(),
            asleep: (0..slots.div_ceil(64)).map(|_| 0).collect(),
            crowd: 0,
            waiter: Some(Waiter::new(platform.clone(), patience)),
            leads_for_room: false,
            waits: Waits::default(),
            stopped: None,
            client,
        };
        Caller {
            memory: inner.client.memory().clone(),
            platform,
            timeout: None,
            inner: Mutex::new(inner),
            beds: (0..slots).map(|_| Condvar::new()).collect(),
            room: Condvar::new(),
            has_room: AtomicBool::new(false),
            notices: AtomicU64::new(0),
        }
    }

    /// The same, whose calls wait for a slot and a reply together up to this time limit; for as long as the
    /// server lives if there is no such time.
    #[must_use]
    pub fn with_timeout(self, timeout: Option<Duration>) -> Caller<M, P> {
        Caller { timeout, ..self }
    }

    /// Sends a request, as soon as there is a slot, and waits for its reply, of which as much is copied as there is room for: what the server says of
    /// it, and how many bytes were copied.
    ///
    /// # Errors
    /// [`Failed`].
    pub fn call(&self, tag: u16, request: &[u8], reply: &mut [u8]) -> Result<(u16, usize), Failed> {
        self.is_own()?;
        let mut limit = TimeLimit::new(self.timeout);
        let mut inner = self.lock();
        let mut is_late = false;
        let slot = loop {
            match inner.sends(tag, request) {
                Err(Failed::Refused(Refused::Full)) if is_late => break Err(Failed::TimedOut),
                Err(Failed::Refused(Refused::Full)) => {
                    (inner, is_late) = self.waits(inner, None, &mut limit);
                }
                sent => break sent,
            }
        };
        match slot {
            Ok(slot) => Pending { caller: self, slot }.receives(self.rings(inner), reply, limit),
            Err(failed) => {
                self.hands_on(&mut inner);
                Err(failed)
            }
        }
    }

    /// Sends a request if there is a slot, and does not wait: the server is woken if it sleeps.
    ///
    /// # Errors
    /// [`Failed`]; nothing was sent then.
    pub fn send(&self, tag: u16, request: &[u8]) -> Result<Pending<'_, M, P>, Failed> {
        self.is_own()?;
        let mut inner = self.lock();
        let slot = match inner.sends(tag, request) {
            Err(Failed::Refused(Refused::Full)) => {
                inner = self.looks_after(inner);
                inner.sends(tag, request)?
            }
            sent => sent?,
        };
        drop(self.rings(inner));
        Ok(Pending { caller: self, slot })
    }

    /// How often the server was woken: a call of the kernel each.
    pub fn notices(&self) -> u64 {
        self.notices.load(Ordering::Relaxed)
    }

    /// How the waits of those who led ended.
    pub fn waits_of_leaders(&self) -> Waits {
        self.lock().waits
    }

    /// Before anything is locked: what fork(2) copied may be locked for ever.
    #[inline]
    fn is_own(&self) -> Result<(), Failed> {
        if self.memory.is_own() { Ok(()) } else { Err(Failed::Broken(Violation::Forked)) }
    }

    /// No user's code runs while it is held: nobody leaves it half done.
    fn lock(&self) -> MutexGuard<'_, Inner<M, P>> {
        self.inner.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Wakes the server if it sleeps.
    fn rings<'g>(&'g self, inner: MutexGuard<'g, Inner<M, P>>) -> MutexGuard<'g, Inner<M, P>> {
        if !inner.client.theirs().answer() {
            return inner;
        }
        let bell = inner.client.geometry().bell(super::ring::layout::End::Server);
        drop(inner);
        self.platform.wake(&self.memory.words()[bell]);
        self.notices.fetch_add(1, Ordering::Relaxed);
        self.lock()
    }

    /// Waits for whatever comes first: as the leader if there is none, else until the leader says so. `mine` is the slot whose reply is waited for;
    /// without one it is a free slot. Whether time was over.
    fn waits<'g>(
        &'g self,
        mut inner: MutexGuard<'g, Inner<M, P>>,
        mine: Option<u16>,
        limit: &mut TimeLimit,
    ) -> (MutexGuard<'g, Inner<M, P>>, bool) {
        if let Some(waiter) = inner.waiter.take() {
            inner.leads_for_room = mine.is_none();
            return self.leads(inner, waiter, limit);
        }
        match mine {
            Some(slot) => {
                let (word, bit) = (usize::from(slot) / 64, 1 << (slot % 64));
                inner.asleep[word] |= bit;
                let (mut inner, is_late) = follows(&self.beds[usize::from(slot)], inner, limit);
                inner.asleep[word] &= !bit;
                (inner, is_late)
            }
            None => {
                inner.crowd += 1;
                let (mut inner, is_late) = follows(&self.room, inner, limit);
                inner.crowd -= 1;
                (inner, is_late)
            }
        }
    }

    fn leads<'g>(
        &'g self,
        inner: MutexGuard<'g, Inner<M, P>>,
        waiter: Waiter<P>,
        limit: &mut TimeLimit,
    ) -> (MutexGuard<'g, Inner<M, P>>, bool) {
        let ahead = inner.client.ahead();
        drop(inner);
        let mut lead = Lead { caller: self, waiter: Some(waiter) };
        let words = self.memory.words();
        let waited = match &mut lead.waiter {
            Some(waiter) => {
                let is_called = || self.has_room.load(Ordering::Acquire);
                let bell = Bell(&words[ahead.bell()]);
                waiter.wait_within(bell, || ahead.has_some(words) || is_called(), || limit.left())
            }
            None => Ok(true),
        };
        let mut inner = self.lock();
        lead.ends(&mut inner);
        self.takes(&mut inner, waited == Err(Gone));
        (inner, waited == Ok(false))
    }

    /// Takes what has come where nobody leads, who would: of requests that were dropped, slots are free then.
    fn looks_after<'g>(&'g self, inner: MutexGuard<'g, Inner<M, P>>) -> MutexGuard<'g, Inner<M, P>> {
        drop(inner);
        let is_gone = self.platform.is_gone();
        let mut inner = self.lock();
        if inner.waiter.is_some() {
            self.takes(&mut inner, is_gone);
        }
        inner
    }

    /// Takes what has come. Where that is nothing, and the server was gone before, nothing comes any more.
    fn takes(&self, inner: &mut Inner<M, P>, was_gone: bool) {
        let mut any = false;
        loop {
            match inner.client.take() {
                Ok(Some(reply)) => {
                    any = true;
                    self.arrives(inner, reply);
                }
                Ok(None) => break,
                Err(violation) => return self.stops(inner, Failed::Broken(violation)),
            }
        }
        if was_gone && !any && inner.stopped.is_none() {
            self.stops(inner, Failed::Gone);
        }
    }

    fn arrives(&self, inner: &mut Inner<M, P>, reply: Reply) {
        let slot = usize::from(reply.slot());
        match inner.seats[slot] {
            Seat::Left => self.frees(inner, reply),
            _ => {
                inner.seats[slot] = Seat::Came(reply);
                self.wakes(inner, slot);
            }
        }
    }

    /// Wakes the owner of that slot's request if it sleeps.
    fn wakes(&self, inner: &Inner<M, P>, slot: usize) {
        if inner.asleep[slot / 64] >> (slot % 64) & 1 == 1 {
            self.beds[slot].notify_one();
        }
    }

    /// A reply is not needed any more: there is a slot for one that waits. The leader is one, and has one slot: the next is for another.
    fn frees(&self, inner: &mut Inner<M, P>, reply: Reply) {
        inner.client.release(reply);
        let leads_for_room = inner.leads_for_room && inner.waiter.is_none();
        if leads_for_room && !self.has_room.swap(true, Ordering::Release) {
            self.platform.rouse();
        } else if inner.crowd > 0 {
            self.room.notify_one();
        }
    }

    /// Nothing comes any more: all who wait are told.
    fn stops(&self, inner: &mut Inner<M, P>, why: Failed) {
        inner.stopped.get_or_insert(why);
        for slot in 0..self.beds.len() {
            self.wakes(inner, slot);
        }
        self.room.notify_all();
    }

    /// Who leaves while nobody leads wakes one that waits, to lead: without a leader nobody is told anything.
    fn hands_on(&self, inner: &mut Inner<M, P>) {
        if inner.waiter.is_none() {
            return;
        }
        match inner.asleep.iter().position(|word| *word != 0) {
            Some(word) => self.beds[word * 64 + inner.asleep[word].trailing_zeros() as usize].notify_one(),
            None if inner.crowd > 0 => self.room.notify_one(),
            None => {}
        }
    }
}

impl<M: Memory, P> Inner<M, P> {
    fn sends(&mut self, tag: u16, request: &[u8]) -> Result<u16, Failed> {
        if let Some(stopped) = self.stopped {
            return Err(stopped);
        }
        let slot = self.client.send(tag, request)?;
        self.seats[usize::from(slot)] = Seat::Sent;
        Ok(slot)
    }
}

/// Sleeps there until somebody says so, or time is over; whether it was.
fn follows<'g, T>(
    bed: &Condvar,
    inner: MutexGuard<'g, T>,
    limit: &mut TimeLimit,
) -> (MutexGuard<'g, T>, bool) {
    match limit.left() {
        None => (bed.wait(inner).unwrap_or_else(|poisoned| poisoned.into_inner()), false),
        Some(left) => {
            let waited = bed.wait_timeout(inner, left);
            let (inner, waited) = waited.unwrap_or_else(|poisoned| poisoned.into_inner());
            (inner, waited.timed_out())
        }
    }
}

/// Who leads. If it does not come to the end of that, another leads.
struct Lead<'c, M: Memory + Clone, P: Platform + Clone> {
    caller: &'c Caller<M, P>,
    waiter: Option<Waiter<P>>,
}

impl<M: Memory + Clone, P: Platform + Clone> Lead<'_, M, P> {
    fn ends(&mut self, inner: &mut Inner<M, P>) {
        if let Some(waiter) = self.waiter.take() {
            self.caller.has_room.store(false, Ordering::Relaxed);
            inner.waits = waiter.waits();
            inner.waiter = Some(waiter);
        }
    }
}

impl<M: Memory + Clone, P: Platform + Clone> Drop for Lead<'_, M, P> {
    fn drop(&mut self) {
        if self.waiter.is_some() {
            let mut inner = self.caller.lock();
            self.ends(&mut inner);
            self.caller.hands_on(&mut inner);
        }
    }
}

/// A request on its way. If it is dropped the reply is nobody's: its slot is free again when the reply has come.
#[must_use = "nobody has the reply otherwise"]
pub struct Pending<'c, M: Memory + Clone, P: Platform + Clone> {
    caller: &'c Caller<M, P>,
    slot: u16,
}

impl<M: Memory + Clone, P: Platform + Clone> core::fmt::Debug for Pending<'_, M, P> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Pending").field("slot", &self.slot).finish_non_exhaustive()
    }
}

impl<'c, M: Memory + Clone, P: Platform + Clone> Pending<'c, M, P> {
    /// Waits for the reply, of which as much is copied as there is room for: what the server says of it, and how many bytes were copied.
    ///
    /// # Errors
    /// [`Failed`].
    pub fn wait(self, reply: &mut [u8]) -> Result<(u16, usize), Failed> {
        self.caller.is_own()?;
        let inner = self.caller.lock();
        let limit = TimeLimit::new(self.caller.timeout);
        self.receives(inner, reply, limit)
    }

    fn receives(
        self,
        mut inner: MutexGuard<'c, Inner<M, P>>,
        into: &mut [u8],
        mut limit: TimeLimit,
    ) -> Result<(u16, usize), Failed> {
        let (caller, seat) = (self.caller, usize::from(self.slot));
        let mut is_late = false;
        loop {
            match mem::replace(&mut inner.seats[seat], Seat::Left) {
                Seat::Came(reply) => {
                    // Nothing is left to be dropped.
                    mem::forget(self);
                    let answer = if reply.is_unanswered() {
                        Err(Failed::Unanswered)
                    } else {
                        Ok((reply.tag(), inner.client.read(&reply, into)))
                    };
                    caller.frees(&mut inner, reply);
                    caller.hands_on(&mut inner);
                    return answer;
                }
                other => inner.seats[seat] = other,
            }
            if let Some(why) = inner.stopped.or(is_late.then_some(Failed::TimedOut)) {
                drop(inner);
                return Err(why);
            }
            (inner, is_late) = caller.waits(inner, Some(self.slot), &mut limit);
        }
    }
}

impl<M: Memory + Clone, P: Platform + Clone> Drop for Pending<'_, M, P> {
    fn drop(&mut self) {
        if self.caller.is_own().is_err() {
            return;
        }
        let mut inner = self.caller.lock();
        if let Seat::Came(reply) = mem::replace(&mut inner.seats[usize::from(self.slot)], Seat::Left) {
            self.caller.frees(&mut inner, reply);
        }
        self.caller.hands_on(&mut inner);
    }
}
