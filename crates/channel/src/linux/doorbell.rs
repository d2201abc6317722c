//! How a sleeping end is woken, and learns that the other is gone.
//!
//! - By a **futex**: the bell's word itself, and a word of its own process beside it (futex_waitv(2)). By the latter other threads wake it, and one that
//!   sleeps in poll(2) on the socket between the ends, and so learns that the other is gone.
//! - By an **eventfd**, for who sleeps on other descriptors as well. An end writes only to eventfds of its own, of which the other has no more than an
//!   epoll(7) instance that tells each write once (EPOLLET): it can neither fill the counter nor clear O_NONBLOCK, either of which would
//!   have the writer wait for it.

use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::Errno;
use tollway_core::{Clock, Error, Result};
use tollway_host::clock::RunClock;
use tollway_host::watch::Watch;

use super::shared::Shared;
use super::words::{self, half};
use crate::atomic::{self, AtomicU64};
use crate::coroutine::Rouser;
use crate::ring::Memory;
use crate::ring::bell::ASLEEP;
use crate::rouse::{DOWN, Rouse};
use crate::wait::{Gone, Platform};

/// For who looks and does not wait.
const AT_ONCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

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
    own: Arc<Rouse>,
    way: Way,
}

impl core::fmt::Debug for Doorbell {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Doorbell")
            .field("notice", &self.notice())
            .field("own", &self.own)
            .finish_non_exhaustive()
    }
}

enum Way {
    Futex { beside: Beside, _watch: Watch },
    Eventfd { rings: OwnedFd, rung: OwnedFd, roused: Arc<OwnedFd>, link: UnixStream, also: Also },
}

/// What else a sleep ends by.
#[derive(Default)]
struct Also {
    /// That this can be read.
    descriptor: Option<OwnedFd>,
    /// That it has lasted for so long.
    at_most: Option<Timespec>,
}

impl Doorbell {
    fn notice(&self) -> Notice {
        match self.way {
            Way::Futex { .. } => Notice::Futex,
            Way::Eventfd { .. } => Notice::Eventfd,
        }
    }

    /// By a futex: the end's bell is that word of the memory.
    pub(super) fn by_futex(link: &UnixStream, memory: Shared, bell: usize) -> Result<Doorbell> {
        let own = Arc::new(Rouse::new());
        let beside: Beside = (!words::can_be_two()).then_some((memory, bell));
        let release = {
            let (own, beside) = (own.clone(), beside.clone());
            move || {
                if own.ends() {
                    wake_here(&own, &beside);
                }
            }
        };
        let _watch = Watch::over(link, Box::new(release))?;
        Ok(Doorbell { clock: RunClock::chosen(), own, way: Way::Futex { beside, _watch } })
    }

    /// By eventfds: `rings` is this end's own, and `rung` what the other end gave ([`told_by_edges`]).
    ///
    /// # Errors
    /// [`Error::Input`] if that is something else: what another process serves (FUSE) might keep whoever looks at it waiting.
    pub(super) fn by_eventfd(link: UnixStream, [rings, rung]: [OwnedFd; 2]) -> Result<Doorbell> {
        if !is_epoll(&rung, &rings) {
            return Err(Error::Input {
                place: "the descriptor by which the other end is to wake this one".into(),
                reason: "it is no epoll instance".into(),
                remedy: "pass an epoll instance that tells of an eventfd, or ask for a futex".into(),
            });
        }
        let roused = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map_err(|e| Error::system("making an eventfd", e))?;
        let way = Way::Eventfd { rings, rung, roused: Arc::new(roused), link, also: Also::default() };
        Ok(Doorbell { clock: RunClock::chosen(), own: Arc::new(Rouse::new()), way })
    }

    /// Sleeps end as well when that descriptor can be read.
    pub(super) fn sleeps_on(&mut self, descriptor: OwnedFd) -> Result<()> {
        match &mut self.way {
            Way::Eventfd { also, .. } => {
                also.descriptor = Some(descriptor);
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
        if let Way::Eventfd { also, .. } = &mut self.way {
            also.at_most = at_most.and_then(|time| Timespec::try_from(time).ok());
        }
    }

    /// What wakes this end from another thread of its process, if it sleeps. What stands in shared memory has no part in it.
    pub(super) fn rouser(&self) -> Rouser {
        let own = self.own.clone();
        match &self.way {
            Way::Futex { beside, .. } => {
                let beside = beside.clone();
                Box::new(move || {
                    if own.rouse() {
                        wake_here(&own, &beside);
                    }
                })
            }
            Way::Eventfd { roused, .. } => {
                let roused = roused.clone();
                Box::new(move || {
                    if own.rouse() {
                        add_one(&roused);
                    }
                })
            }
        }
    }
}

/// What an end is woken by that sleeps at something else as well.
pub(super) enum Wakers<'a> {
    /// The half of its bell in which [`ASLEEP`] stands, a futex that others see; and beside it [`DOWN`] in the word of this process.
    Words(&'a AtomicU32, &'a AtomicU32),
    /// What tells that it was rung, by POLLIN; and that the other end is gone, by POLLRDHUP. [Heard](Doorbell::hears) afterwards.
    Descriptors(&'a OwnedFd, &'a UnixStream),
}

impl Doorbell {
    /// By what the end is woken whose bell that is; not by its [rouser](Doorbell::rouser) where it has descriptors.
    pub(super) fn wakers<'a>(&'a self, bell: &'a AtomicU64) -> Wakers<'a> {
        match &self.way {
            Way::Futex { .. } => Wakers::Words(half(bell), whole(self.own.word())),
            Way::Eventfd { rung, link, .. } => Wakers::Descriptors(rung, link),
        }
    }

    /// The word by which this end learns that the other is gone.
    pub(super) fn own(&self) -> &Rouse {
        &self.own
    }

    /// Sleeps by that bell, up to this time limit if there is one.
    fn sleeps(&self, bell: &AtomicU64, at_most: Option<Duration>) -> Result<(), Gone> {
        if !self.own.lies_down()? {
            return Ok(());
        }
        match &self.way {
            Way::Futex { beside: None, .. } => {
                words::sleep_by_both((bell, ASLEEP as u32), (whole(self.own.word()), DOWN), at_most);
            }
            Way::Futex { .. } => words::nap_by_one((bell, ASLEEP as u32), at_most),
            Way::Eventfd { rung, roused, link, also, .. } => {
                let mut all = [
                    PollFd::new(rung, PollFlags::IN),
                    PollFd::new(&**roused, PollFlags::IN),
                    PollFd::new(link, PollFlags::RDHUP),
                    PollFd::from_borrowed_fd(
                        also.descriptor.as_ref().map_or(link.as_fd(), AsFd::as_fd),
                        PollFlags::IN,
                    ),
                ];
                let asked = if also.descriptor.is_some() { all.len() } else { all.len() - 1 };
                // An error is an interruption, or that memory is short: looked at again.
                let at_most = at_most.and_then(|time| Timespec::try_from(time).ok());
                let at_most = at_most.into_iter().chain(also.at_most).min();
                let _ = poll(&mut all[..asked], at_most.as_ref());
                let [rang, is_roused, ended, _] = all.map(|one| !one.revents().is_empty());
                if is_roused {
                    let _ = rustix::io::read(&**roused, &mut [0; 8]);
                }
                self.heard(rung, rang, ended);
            }
        }
        // If the other end is gone, that is seen when this one looked once more and would lie down again.
        self.own.rises();
        Ok(())
    }

    /// What the descriptors tell is heard: they tell the next thing then.
    pub(super) fn hears(&self) {
        let Way::Eventfd { rung, link, .. } = &self.way else { return };
        let mut both = [PollFd::new(rung, PollFlags::IN), PollFd::new(link, PollFlags::RDHUP)];
        let _ = poll(&mut both, Some(&AT_ONCE));
        let [rang, ended] = both.map(|one| !one.revents().is_empty());
        self.heard(rung, rang, ended);
    }

    /// Whether it was rung, and whether the other end is gone, as descriptors told it.
    fn heard(&self, rung: &OwnedFd, rang: bool, ended: bool) {
        if rang {
            let mut event = [MaybeUninit::uninit(); 1];
            let _ = epoll::wait(rung, &mut event[..], Some(&AT_ONCE));
        }
        if ended {
            self.own.ends();
        }
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

/// Whether it is an epoll instance, which is asked to forget a descriptor that it cannot know. Of one the kernel says that it did not
/// (ENOENT), of anything else that it is none (EINVAL; epoll_ctl(2), "ERRORS").
fn is_epoll(it: &OwnedFd, unknown: &OwnedFd) -> bool {
    epoll::delete(it, unknown) == Err(Errno::NOENT)
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
        self.sleeps(bell, None)
    }

    fn sleep_for(&self, bell: &AtomicU64, at_most: Duration) -> Result<(), Gone> {
        self.sleeps(bell, Some(at_most))
    }
    #[inline]
    fn wake(&self, bell: &AtomicU64) {
        match &self.way {
            Way::Futex { .. } => words::wake(bell, 1),
            Way::Eventfd { rings, .. } => add_one(rings),
        }
    }

    fn rouse(&self) {
        if !self.own.rouse() {
            return;
        }
        match &self.way {
            Way::Futex { beside, .. } => wake_here(&self.own, beside),
            Way::Eventfd { roused, .. } => add_one(roused),
        }
    }

    fn is_gone(&self) -> bool {
        if let Way::Eventfd { link, .. } = &self.way {
            let mut ended = [PollFd::new(link, PollFlags::RDHUP)];
            if poll(&mut ended, Some(&AT_ONCE)) == Ok(1) {
                self.own.ends();
            }
        }
        self.own.is_ended()
    }
}

/// Adds to an eventfd of this process's own, which would be full after 2^64 - 1 of these.
fn add_one(eventfd: &OwnedFd) {
    let _ = rustix::io::write(eventfd, &1u64.to_ne_bytes());
}

/// Where the kernel cannot have an end wait for two words at once (before Linux 5.16): its bell, by which its own process wakes it then too.
type Beside = Option<(Shared, usize)>;

/// Wakes who sleeps by a word of this process.
fn wake_here(own: &Rouse, beside: &Beside) {
    match beside {
        None => words::wake_own(whole(own.word())),
        Some((memory, bell)) => {
            let bell = &memory.words()[*bell];
            bell.store(0, Ordering::SeqCst);
            words::wake(bell, i32::MAX as u32);
        }
    }
}

/// A word of this process as the kernel's calls want it: the channel's atomics may be others in tests.
fn whole(word: &atomic::AtomicU32) -> &AtomicU32 {
    // SAFETY: an aligned word of 32 bits, borrowed for as long as the reference to it is; all accesses to it are atomic.
    unsafe { AtomicU32::from_ptr(word.as_ptr()) }
}
