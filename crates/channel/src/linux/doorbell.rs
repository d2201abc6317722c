//! How a sleeping end is woken, and learns that the other is gone.
//!
//! - By a **futex**: the bell's word itself. That the other end is gone it learns from a thread that sleeps in poll(2) on the socket between
//!   them.
//! - By an **eventfd**, for who sleeps on other descriptors as well. An end writes only to eventfds of its own, of which the other has no more than an
//!   epoll(7) instance that tells each write once (EPOLLET): it can neither fill the counter nor clear O_NONBLOCK, either of which would
//!   have the writer wait for it.

use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::thread::futex;
use tollway_core::{Clock, Error, Result};
use tollway_host::clock::RunClock;
use tollway_host::watch::Watch;

use super::Shared;
use crate::atomic::AtomicU64;
use crate::coroutine::Rouser;
use crate::ring::bell::{ASLEEP, Bell};
use crate::wait::{Gone, Platform};

/// By what a sleeping end is woken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Notice {
    /// A futex: the cheapest.
    #[default]
    Futex,
    /// An eventfd: where an end sleeps on other descriptors as well.
    Eventfd,
}

/// What one end has to wake the other, and to be woken.
pub struct Doorbell {
    clock: RunClock,
    memory: Shared,
    /// The word of the memory in which this end says that it sleeps.
    own: usize,
    way: Way,
}

enum Way {
    Futex { is_gone: Arc<AtomicBool>, _watch: Watch },
    Eventfd { rings: OwnedFd, rung: OwnedFd, roused: Arc<OwnedFd>, link: UnixStream, besides: Besides },
}

/// What else a sleep ends by.
#[derive(Default)]
struct Besides {
    /// That this can be read.
    descriptor: Option<OwnedFd>,
    /// That it has lasted for so long.
    at_most: Option<Timespec>,
}

impl Doorbell {
    /// By a futex: the end's own word is that one of the memory.
    pub(super) fn by_futex(link: &UnixStream, memory: Shared, own: usize) -> Result<Doorbell> {
        let is_gone = Arc::new(AtomicBool::new(false));
        let release = {
            let (is_gone, memory) = (is_gone.clone(), memory.clone());
            move || {
                is_gone.store(true, Ordering::SeqCst);
                // Whoever says after this that it sleeps sees the above; whoever did before does not sleep on.
                memory[own].swap(0, Ordering::SeqCst);
                wake(&memory[own]);
            }
        };
        let _watch = Watch::over(link, Box::new(release))?;
        Ok(Doorbell { clock: RunClock::chosen(), memory, own, way: Way::Futex { is_gone, _watch } })
    }

    /// By eventfds: `rings` is this end's own, and `rung` what the other end gave ([`told_by_edges`]).
    pub(super) fn by_eventfd(
        link: UnixStream,
        memory: Shared,
        own: usize,
        [rings, rung]: [OwnedFd; 2],
    ) -> Result<Doorbell> {
        let roused = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map_err(|e| Error::system("making an eventfd", e))?;
        let way = Way::Eventfd { rings, rung, roused: Arc::new(roused), link, besides: Besides::default() };
        Ok(Doorbell { clock: RunClock::chosen(), memory, own, way })
    }

    /// Sleeps end as well when that descriptor can be read.
    pub(super) fn sleeps_on(&mut self, descriptor: OwnedFd) -> Result<()> {
        match &mut self.way {
            Way::Eventfd { besides, .. } => {
                besides.descriptor = Some(descriptor);
                Ok(())
            }
            Way::Futex { .. } => Err(Error::Input {
                place: "an end that sleeps on another descriptor as well".into(),
                reason: "it is woken by a futex, which is no descriptor".into(),
                remedy: "ask for a channel with Notice::Eventfd".into(),
            }),
        }
    }

    /// Sleeps end after that time as well.
    pub(super) fn sleeps_for(&mut self, at_most: Option<Duration>) {
        if let Way::Eventfd { besides, .. } = &mut self.way {
            besides.at_most = at_most.and_then(|time| Timespec::try_from(time).ok());
        }
    }

    /// What wakes this end from another thread of its process, if it sleeps.
    pub(super) fn rouser(&self) -> Rouser {
        let (memory, own) = (self.memory.clone(), self.own);
        let roused = match &self.way {
            Way::Futex { .. } => None,
            Way::Eventfd { roused, .. } => Some(roused.clone()),
        };
        Box::new(move || {
            if Bell(&memory[own]).answer() {
                match &roused {
                    None => wake(&memory[own]),
                    Some(roused) => add_one(roused),
                }
            }
        })
    }
}

/// An eventfd, and what its reader is given of it.
pub(super) fn told_by_edges() -> Result<(OwnedFd, OwnedFd)> {
    let failed = |e| Error::system("making an eventfd and what tells of it", e);
    let rings = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map_err(failed)?;
    let told = epoll::create(CreateFlags::CLOEXEC).map_err(failed)?;
    epoll::add(&told, &rings, EventData::new_u64(0), EventFlags::IN | EventFlags::ET).map_err(failed)?;
    Ok((rings, told))
}

impl Platform for Doorbell {
    #[inline]
    fn now(&self) -> u64 {
        self.clock.now()
    }

    #[inline]
    fn relax(&self) {
        std::hint::spin_loop();
    }

    #[inline]
    fn give_way(&self) {
        std::thread::yield_now();
    }

    fn sleep(&self, bell: &AtomicU64) -> Result<(), Gone> {
        match &self.way {
            Way::Futex { is_gone, .. } => {
                if is_gone.load(Ordering::SeqCst) {
                    return Err(Gone);
                }
                // Woken, interrupted, or no longer asleep: looked at again in each case.
                let _ = futex::wait(half(bell), futex::Flags::empty(), ASLEEP as u32, None);
                Ok(())
            }
            Way::Eventfd { rung, roused, link, besides, .. } => {
                let mut all = [
                    PollFd::new(rung, PollFlags::IN),
                    PollFd::new(&**roused, PollFlags::IN),
                    PollFd::new(link, PollFlags::RDHUP),
                    PollFd::from_borrowed_fd(
                        besides.descriptor.as_ref().map_or(link.as_fd(), AsFd::as_fd),
                        PollFlags::IN,
                    ),
                ];
                let asked = if besides.descriptor.is_some() { all.len() } else { all.len() - 1 };
                // An error is an interruption, or that memory is short: looked at again.
                let _ = poll(&mut all[..asked], besides.at_most.as_ref());
                let [rang, is_roused, ended, _] = all.map(|one| !one.revents().is_empty());
                if is_roused {
                    let _ = rustix::io::read(&**roused, &mut [0; 8]);
                }
                if rang {
                    let mut event = [MaybeUninit::uninit(); 1];
                    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
                    let _ = epoll::wait(rung, &mut event[..], Some(&at_once));
                }
                if ended { Err(Gone) } else { Ok(()) }
            }
        }
    }

    #[inline]
    fn wake(&self, bell: &AtomicU64) {
        match &self.way {
            Way::Futex { .. } => wake(bell),
            Way::Eventfd { rings, .. } => {
                add_one(rings);
            }
        }
    }
}

/// Adds to an eventfd of this process's own, which would be full after 2^64 - 1 of these.
fn add_one(eventfd: &OwnedFd) {
    let _ = rustix::io::write(eventfd, &1u64.to_ne_bytes());
}

/// Without FUTEX_PRIVATE_FLAG: the sleeper may be another process.
fn wake(bell: &AtomicU64) {
    // That nobody sleeps is no error, and the word is mapped: there is no other.
    let _ = futex::wake(half(bell), futex::Flags::empty(), 1);
}

/// The half of a bell's word that the kernel compares: what stands in it is less than 2^32, and x86-64 has the low half first.
fn half(bell: &AtomicU64) -> &AtomicU32 {
    // SAFETY: the word is 8 bytes, aligned to as many, and borrowed for as long as its half is. Of this process nobody accesses the half: its address
    // goes to the kernel.
    unsafe { AtomicU32::from_ptr(bell.as_ptr().cast()) }
}
