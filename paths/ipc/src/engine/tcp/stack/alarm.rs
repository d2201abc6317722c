//! How the thread that has the frames sleeps, and how threads that have replies wake it: the protocol of the channels' ends (says that it
//! sleeps, looks once more, sleeps), within one process.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use tollway_channel::coroutine::Rouser;
use tollway_channel::ring::bell::Bell;
use tollway_channel::wait::{Gone, Platform};
use tollway_core::{Clock, Error, Result};
use tollway_host::clock::RunClock;

/// What wakes the thread.
pub(super) struct Alarm {
    asleep: AtomicU64,
    rings: OwnedFd,
}

impl Alarm {
    pub(super) fn new() -> Result<Arc<Alarm>> {
        let rings = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map_err(|e| Error::system("making an eventfd", e))?;
        Ok(Arc::new(Alarm { asleep: AtomicU64::new(0), rings }))
    }

    /// Wakes the thread if it sleeps, after something was laid where it looks; whether it did.
    pub(super) fn ring(&self) -> bool {
        let asleep = self.bell().answer();
        if asleep {
            // It would be full after 2^64 - 1 of these.
            let _ = rustix::io::write(&self.rings, &1u64.to_ne_bytes());
        }
        asleep
    }

    pub(super) fn bell(&self) -> Bell<'_> {
        Bell(&self.asleep)
    }

    /// What rings it.
    pub(super) fn rouser(self: &Arc<Alarm>) -> Rouser {
        let alarm = self.clone();
        Box::new(move || {
            alarm.ring();
        })
    }
}

/// Where the thread sleeps: until it is woken, a frame comes, or it is time.
pub(super) struct Bed {
    alarm: Arc<Alarm>,
    frames: OwnedFd,
    at_most: Option<Timespec>,
    clock: RunClock,
}

impl Bed {
    pub(super) fn new(alarm: Arc<Alarm>, frames: OwnedFd) -> Bed {
        Bed { alarm, frames, at_most: None, clock: RunClock::chosen() }
    }

    /// Sleeps last no longer than that from now on.
    pub(super) fn sleeps_for(&mut self, at_most: Option<Duration>) {
        self.at_most = at_most.and_then(|time| Timespec::try_from(time).ok());
    }
}

impl Platform for Bed {
    fn now(&self) -> u64 {
        self.clock.now()
    }

    fn relax(&self) {
        std::hint::spin_loop();
    }

    fn give_way(&self) {
        std::thread::yield_now();
    }

    fn sleep(&self, _: &AtomicU64) -> std::result::Result<(), Gone> {
        let mut both =
            [PollFd::new(&self.alarm.rings, PollFlags::IN), PollFd::new(&self.frames, PollFlags::IN)];
        // An error is an interruption, or that memory is short: looked at again.
        let _ = poll(&mut both, self.at_most.as_ref());
        if !both[0].revents().is_empty() {
            let _ = rustix::io::read(&self.alarm.rings, &mut [0; 8]);
        }
        Ok(())
    }

    fn wake(&self, _: &AtomicU64) {
        self.alarm.ring();
    }
}
