//! How a tenant learns that requests are done: the ways whose costs are compared.

use std::os::fd::OwnedFd;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::Errno;
use tollway_core::{Error, Result};
use tollway_virtio::frontend::{Completion, Lane};

/// A way to learn of completions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Waiting {
    /// It sleeps, and wants to be called for every request.
    #[default]
    Interrupt,
    /// It sleeps in epoll until it is called, then takes whatever is done, and wants no calls until nothing is (the event mode of
    /// QAT's driver).
    Epoll,
    /// It is never called: it sleeps for so long, and looks.
    Periodic(Duration),
    /// It looks for so long, and then sleeps until it is called.
    Hybrid(Duration),
    /// It is never called, and never sleeps.
    Busy,
}

/// What waiting has cost so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Looks {
    /// How often it went to sleep.
    pub sleeps: u64,
    /// How often it was called out of that.
    pub wakes: u64,
    /// How often it looked, and nothing was done.
    pub vain: u64,
}

/// After how long a wait in vain it is asked whether the device is there still.
const LONG: Duration = Duration::from_millis(1);

/// Looks between two looks at the clock.
const LOOKS: u32 = 64;

/// A way at work for one queue.
#[derive(Debug)]
pub(super) struct Waiter {
    pub(super) looks: Looks,
    way: Waiting,
    /// Of [`Waiting::Epoll`].
    epoll: Option<OwnedFd>,
}

impl Waiter {
    pub(super) fn new(way: Waiting, lane: &mut Lane) -> Result<Waiter> {
        let epoll = (way == Waiting::Epoll).then(|| watch(lane)).transpose();
        let epoll = epoll.map_err(|e| Error::system("making an epoll for a queue", e))?;
        lane.want_call(way == Waiting::Interrupt);
        Ok(Waiter { looks: Looks::default(), way, epoll })
    }

    pub(super) fn way(&self) -> Waiting {
        self.way
    }

    /// Takes what is done, if there is something.
    #[inline]
    pub(super) fn take(&mut self, lane: &mut Lane) -> Result<Option<Completion>> {
        let found = lane.take()?;
        if found.is_none() {
            self.looks.vain += 1;
        } else if self.way == Waiting::Interrupt {
            // The next one is to call, too.
            lane.want_call(true);
        }
        Ok(found)
    }

    /// Takes what is done within so long.
    pub(super) fn wait(&mut self, lane: &mut Lane, most: Duration) -> Result<Option<Completion>> {
        if let Some(found) = self.take(lane)? {
            return Ok(Some(found));
        }
        let begun = Instant::now();
        let until = begun + most;
        let found = match self.way {
            Waiting::Busy => self.spin(lane, || Instant::now() >= until)?,
            Waiting::Hybrid(spin) => match self.spin(lane, || Instant::now() >= until.min(begun + spin))? {
                Some(found) => Some(found),
                None => self.sleep(lane, until)?,
            },
            Waiting::Periodic(period) => self.doze(lane, period, until)?,
            Waiting::Interrupt | Waiting::Epoll => self.sleep(lane, until)?,
        };
        // It is a system call, which a short wait is spared.
        let is_long = begun.elapsed() >= LONG;
        if found.is_none() && is_long && !lane.is_connected() && !lane.has_some() {
            return Err(Error::system("waiting for a crypto device", "it is gone"));
        }
        Ok(found)
    }

    /// Waits as [`wait`](Waiter::wait) does, but for the system calls.
    pub(super) fn wait_idle(
        &mut self,
        lane: &mut Lane,
        is_over: impl Fn() -> bool,
        idle: impl FnOnce(),
    ) -> Result<Option<Completion>> {
        let is_busy = self.way == Waiting::Busy;
        if is_busy || matches!(self.way, Waiting::Hybrid(_)) {
            let found = self.spin(lane, || is_busy || is_over())?;
            if is_busy || found.is_some() {
                return Ok(found);
            }
        }
        if !lane.want_call(true) {
            self.looks.sleeps += 1;
            idle();
            self.looks.wakes += 1;
        }
        let found = self.take(lane)?;
        if self.way != Waiting::Interrupt {
            lane.want_call(false);
        }
        Ok(found)
    }

    fn spin(&mut self, lane: &mut Lane, is_over: impl Fn() -> bool) -> Result<Option<Completion>> {
        loop {
            for _ in 0..LOOKS {
                if let Some(found) = self.take(lane)? {
                    return Ok(Some(found));
                }
                std::hint::spin_loop();
            }
            if is_over() {
                return Ok(None);
            }
        }
    }

    fn doze(&mut self, lane: &mut Lane, period: Duration, until: Instant) -> Result<Option<Completion>> {
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            self.looks.sleeps += 1;
            thread::sleep(period.min(left));
            if let Some(found) = self.take(lane)? {
                return Ok(Some(found));
            }
        }
    }

    fn sleep(&mut self, lane: &mut Lane, until: Instant) -> Result<Option<Completion>> {
        let found = loop {
            let left = until.saturating_duration_since(Instant::now());
            // What came before calls were wanted does not call.
            if !lane.want_call(true) {
                self.looks.sleeps += 1;
                let called = match &self.epoll {
                    Some(epoll) => pause(epoll, left)?,
                    None => lane.sleep(left)?,
                };
                self.looks.wakes += u64::from(called);
            }
            let found = self.take(lane)?;
            if found.is_some() || Instant::now() >= until || !(self.epoll.is_none() || lane.is_connected()) {
                break found;
            }
        };
        if self.way != Waiting::Interrupt {
            lane.want_call(false);
        }
        Ok(found)
    }
}

/// An epoll that tells of a queue's calls, each once, and of its device's end.
fn watch(lane: &Lane) -> Result<OwnedFd, Errno> {
    let epoll = epoll::create(CreateFlags::CLOEXEC)?;
    epoll::add(&epoll, lane, EventData::new_u64(0), EventFlags::IN | EventFlags::ET)?;
    if let Some(connection) = lane.connection() {
        epoll::add(&epoll, connection, EventData::new_u64(1), EventFlags::RDHUP | EventFlags::ET)?;
    }
    Ok(epoll)
}

/// Whether there was a call within so long.
fn pause(epoll: &OwnedFd, most: Duration) -> Result<bool> {
    let most = Timespec {
        tv_sec: i64::try_from(most.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(most.subsec_nanos()),
    };
    let mut events = [const { std::mem::MaybeUninit::uninit() }; 2];
    match epoll::wait(epoll, &mut events, Some(&most)) {
        Ok((events, _)) => Ok(events.iter().any(|event| event.data.u64() == 0)),
        Err(Errno::INTR) => Ok(false),
        Err(e) => Err(Error::system("waiting for a crypto device", e)),
    }
}
