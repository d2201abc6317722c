//! Waits for kicks of many tenants at once, in any number of threads.
//!
//! Kick eventfds are watched edge by edge and never read: each write to an eventfd is an edge (epoll(7)), and a read
//! could wait for a peer that reads its own eventfd in between.

use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::event::{EventfdFlags, Timespec, eventfd};
use rustix::io::Errno;
use tollway_core::{Error, Result};

/// What tells a thread's own bell from a tenant's kick.
const BELL: u64 = u64::MAX;

/// A set of kicks to wait for.
#[derive(Debug)]
pub struct Kicks {
    epoll: OwnedFd,
    bell: OwnedFd,
}

impl Kicks {
    /// An empty one.
    ///
    /// # Errors
    /// [`Error::System`] if the kernel has no descriptors left.
    pub fn new() -> Result<Kicks> {
        let failed = |e: Errno| Error::system("making an epoll for kicks", e);
        let epoll = epoll::create(CreateFlags::CLOEXEC).map_err(failed)?;
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map_err(failed)?;
        // Level by level: who wakes up reads it.
        epoll::add(&epoll, &bell, EventData::new_u64(BELL), EventFlags::IN).map_err(failed)?;
        Ok(Kicks { epoll, bell })
    }

    /// Wakes one thread that waits, or the next that would.
    pub fn ring(&self) {
        // Full: it rings already.
        let _ = rustix::io::write(&self.bell, &1u64.to_ne_bytes());
    }

    /// Waits until there are kicks, the bell rings, or the time is over; `None` waits without end. Adds who kicked to
    /// `kicked`: tenant and queue.
    ///
    /// # Errors
    /// [`Error::System`] if the kernel refuses.
    pub fn wait(&self, kicked: &mut Vec<(usize, usize)>, most: Option<Duration>) -> Result<()> {
        let mut events = Vec::with_capacity(64);
        let most = most.map(|most| Timespec {
            tv_sec: i64::try_from(most.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(most.subsec_nanos()),
        });
        match epoll::wait(&self.epoll, spare_capacity(&mut events), most.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(Error::system("waiting for kicks", error)),
        }
        for event in &events {
            match event.data.u64() {
                BELL => {
                    let mut count = [0; 8];
                    let _ = rustix::io::read(&self.bell, &mut count);
                }
                key => kicked.push(((key >> 8) as usize, (key & 0xff) as usize)),
            }
        }
        Ok(())
    }

    /// As [`wait`](Kicks::wait); since when those who kicked may have been waiting: since the last look, where they were there
    /// at once, else since now. `looked` is when that was, here or by the caller, who sets it where it looks at the queues
    /// themselves; `now` tells the time in the same nanoseconds.
    ///
    /// # Errors
    /// As [`wait`](Kicks::wait).
    pub fn wait_since(
        &self,
        kicked: &mut Vec<(usize, usize)>,
        most: Option<Duration>,
        looked: &mut u64,
        now: impl Fn() -> u64,
    ) -> Result<u64> {
        /// A wait that takes longer has slept, in nanoseconds.
        const SLEPT: u64 = 20_000;
        let before = now();
        self.wait(kicked, most)?;
        let after = now();
        let last = std::mem::replace(looked, after);
        Ok(if after - before > SLEPT { after } else { last })
    }

    pub(crate) fn watch(&self, kick: impl AsFd, tenant: usize, queue: usize) -> Result<(), Errno> {
        let key = EventData::new_u64((tenant as u64) << 8 | queue as u64);
        epoll::add(&self.epoll, kick, key, EventFlags::IN | EventFlags::ET)
    }

    pub(crate) fn forget(&self, kick: impl AsFd) {
        // Fails only for what is not watched.
        let _ = epoll::delete(&self.epoll, kick);
    }
}
