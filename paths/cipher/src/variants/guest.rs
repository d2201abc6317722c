//! What a tenant in a micro-guest has instead of system calls: doorbells that kick the card, a place to idle until the card calls,
//! and somebody to ask what processor time it has had. A doorbell and a place to idle are exits, and each exit is counted twice:
//! by who makes it, and by who sees it.

use std::hint::spin_loop;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::atomic::Ordering;
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use tollway_core::{Clock, Error, Exits, Place, Result, TenantKind};
use tollway_host::clock::RunClock;
use tollway_payload::crossing;

use super::load::{Load, PATIENCE};
use crate::engine::driver::{Handle, Sessions};
use crate::engine::protocol::Status;

/// Doorbells of such a tenant: one kicks its data queue, the other its control queue.
pub(super) const BELLS: u32 = 2;

/// The numbers of its queues.
const DATA: usize = 0;
const CONTROL: usize = 1;

/// The ways out that a task has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ways {
    bell: usize,
    idle_at: usize,
    time_at: usize,
}

impl Ways {
    /// Kicks the card.
    #[inline]
    pub(super) fn ring(&self) {
        ring(self.bell);
    }

    /// Sleeps until the card has called since the last time.
    #[inline]
    pub(super) fn idle(&self) {
        // SAFETY: the place gave the address for this, and the task runs in that guest.
        unsafe { crossing::idle(self.idle_at) };
    }

    /// What processor time it has had.
    pub(super) fn processor_time(&self) -> Duration {
        // SAFETY: as above.
        Duration::from_nanos(unsafe { crossing::processor_time(self.time_at) })
    }
}

#[inline]
fn ring(bell: usize) {
    // SAFETY: the place gave the address for being stored to, its tenant has nothing else there, and it is stored to in that guest.
    unsafe { crossing::mmio_store(bell, 1) };
}

/// A tenant's way out of its guest.
pub(super) struct Guest {
    ways: Ways,
    control: usize,
    /// How often the bell of the control queue was rung.
    asked: u64,
    exits: Exits,
    /// What the kernel adds to when the bells are rung.
    rings: [OwnedFd; BELLS as usize],
    clock: RunClock,
    /// Ticks for which an answer is waited.
    patience: u64,
}

impl Guest {
    /// What a place offers; none outside of a micro-guest.
    ///
    /// # Errors
    /// [`Error::Tenant`] if the tenant offers less than a micro-guest must.
    pub(super) fn of(place: &Place, hz: f64) -> Result<Option<Guest>> {
        if place.tenant != TenantKind::MicroGuest {
            return Ok(None);
        }
        let (Some(exits), [data, control]) = (&place.exits, &place.doorbells[..]) else {
            let reason = format!("it was given {} doorbells, or no way out", place.doorbells.len());
            return Err(Error::Tenant { tenant: "tenant".into(), reason });
        };
        let ways = Ways { bell: data.store_to, idle_at: exits.idle_at, time_at: exits.time_at };
        Ok(Some(Guest {
            ways,
            control: control.store_to,
            asked: 0,
            exits: exits.clone(),
            rings: [again(data.wakes)?, again(control.wakes)?],
            clock: RunClock::chosen(),
            patience: (PATIENCE.as_secs_f64() * hz) as u64,
        }))
    }

    /// What its task has of it.
    pub(super) fn ways(&self) -> Ways {
        self.ways
    }

    /// Has the card be kicked by the bells, and call by what ends the idling.
    ///
    /// # Errors
    /// As [`Sessions::wire`].
    pub(super) fn wire(&self, sessions: &mut Sessions) -> Result<()> {
        let call = again(self.exits.woken_by)?;
        sessions.wire(DATA, self.rings[DATA].as_fd(), call.as_fd())?;
        // It is never called for the control queue: it looks.
        let nobody = eventfd(0, EventfdFlags::CLOEXEC).map_err(|e| Error::system("making an eventfd", e))?;
        sessions.wire(CONTROL, self.rings[CONTROL].as_fd(), nobody.as_fd())
    }

    /// Makes the session, in the guest.
    ///
    /// # Errors
    /// [`Error::Wrong`] if the card makes none; and [`Error::System`] if it does not answer.
    pub(super) fn open(&mut self, sessions: &mut Sessions, load: &Load) -> Result<Handle> {
        let named = load.named;
        sessions.begin(named.algorithm, load.key())?;
        self.await_answer(sessions)?;
        sessions.opened(named.algorithm).map_err(|status| super::tenant::no_session(named.name, status))
    }

    /// Closes it, by which the card knows that nothing more will come.
    ///
    /// # Errors
    /// As [`Guest::open`].
    pub(super) fn close(&mut self, sessions: &mut Sessions, session: Handle) -> Result<()> {
        sessions.end(session)?;
        self.await_answer(sessions)?;
        match sessions.closed() {
            Status::Ok => Ok(()),
            status => Err(Error::Wrong(format!("the card does not close a session: {status:?}"))),
        }
    }

    fn await_answer(&mut self, sessions: &mut Sessions) -> Result<()> {
        if sessions.wants_kick() {
            self.asked += 1;
            ring(self.control);
        }
        let until = self.clock.now().saturating_add(self.patience);
        while !sessions.answered()? {
            if self.clock.now() > until {
                return Err(Error::system("asking a crypto device for a session", "it does not answer"));
            }
            spin_loop();
        }
        Ok(())
    }

    /// Whether exits were seen as they were made: so many kicks by the kernel, so many idlings by the program, and no others. Asked
    /// once, outside.
    ///
    /// # Errors
    /// [`Error::Wrong`] with what was made and what was seen.
    pub(super) fn verify(&self, kicks: u64, idlings: u64) -> Result<()> {
        let seen = &self.exits.seen;
        let [port, mmio, idle] =
            [&seen.port, &seen.mmio, &seen.idle].map(|count| count.load(Ordering::Relaxed));
        let rung = [heard(&self.rings[DATA])?, heard(&self.rings[CONTROL])?];
        let (made, seen) = ([kicks, self.asked, idlings, 0], [rung[DATA], rung[CONTROL], idle, port + mmio]);
        if made == seen {
            return Ok(());
        }
        let kinds = "rings of the data queue's bell, of the control queue's, idlings, others";
        Err(Error::Wrong(format!("exits made {made:?}, seen {seen:?} ({kinds})")))
    }
}

/// An eventfd of the place, once more.
fn again(descriptor: RawFd) -> Result<OwnedFd> {
    // SAFETY: `Doorbell` and `Exits` say that it is open as long as the actor lives, which is being made ready now; it is borrowed
    // for this call only.
    let eventfd = unsafe { BorrowedFd::borrow_raw(descriptor) };
    eventfd.try_clone_to_owned().map_err(|e| Error::system("sharing an eventfd of a micro-guest", e))
}

/// How often it was added to.
fn heard(rings: &OwnedFd) -> Result<u64> {
    let failed = |e| Error::system("reading a doorbell's eventfd", e);
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    if poll(&mut [PollFd::new(rings, PollFlags::IN)], Some(&now)).map_err(failed)? == 0 {
        return Ok(0);
    }
    let mut count = [0; 8];
    rustix::io::read(rings, &mut count).map_err(failed)?;
    Ok(u64::from_ne_bytes(count))
}
