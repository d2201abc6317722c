//! One thread at another process's channel and at the kernel: a server whose tasks ask the kernel, a client whose tasks do.
//!
//! It sleeps in one place for both: before it does, the ring is given an operation that completes when the channel's bell is rung. By a futex that is
//! IORING_OP_FUTEX_WAIT, which the kernel compares with what stands in the bell's word as futex(2) does; by an eventfd it is IORING_OP_POLL_ADD
//! of what tells of it. The order is that of every end: it says that it sleeps, looks once more at the channel and at the ring, and sleeps.
//! An operation that was not completed stays with the kernel for the next time: whoever rings then completes it.

use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use io_uring::opcode;
use io_uring::squeue::Entry;
use io_uring::types::Fd;
use tollway_core::{Error, Result};

use super::{Counts, Kernel, Offer, Ring};
use crate::atomic::AtomicU64;
use crate::coroutine::{Driven, Driver, Rouser, Shared, Stopped};
use crate::linux::connection::Connection;
use crate::linux::dispatcher::Dispatcher;
use crate::linux::doorbell::{Doorbell, Wakers};
use crate::ring::Violation;
use crate::ring::bell::{ASLEEP, Bell};
use crate::rouse::DOWN;
use crate::wait::{Gone, Platform};

/// The bells of a sleeping thread beside the ring's own, which is 0.
const BELL: usize = 1;
const OWN: usize = 2;

/// Of a futex of 32 bits (futex(2), FUTEX2_SIZE_U32).
const SIZE_U32: u32 = 2;

/// Of a futex that no other process sees (FUTEX2_PRIVATE).
const PRIVATE: u32 = 128;

/// Any waker of a futex wakes it (FUTEX_BITSET_MATCH_ANY).
const ANY: u64 = u32::MAX as u64;

/// Drives an executor whose tasks ask another process, or answer it, and ask the kernel.
///
/// Where the other process is gone, or breaks the rules, its tasks are told, and the others run on; [`Executor::run`](crate::coroutine::Executor::run)
/// ends for it when none of them asks the kernel any more.
pub struct Both<S: Shared> {
    /// Dropped first: the kernel looks at the bells until then.
    ring: Ring,
    shared: Driven<S>,
    connection: Connection<AtBoth>,
    stopped: Option<Stopped>,
    /// Whether nothing is left to be done, and who runs this is to be told why.
    is_over: bool,
    bell: Arc<AtomicU64>,
}

impl<S: Shared> core::fmt::Debug for Both<S> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Both")
            .field("counts", &self.counts())
            .field("stopped", &self.stopped)
            .finish_non_exhaustive()
    }
}

/// Where it sleeps.
struct AtBoth {
    doorbell: Doorbell,
    kernel: Kernel,
}

impl AtBoth {
    /// What completes when the end whose bell that is is woken, and when the other is gone.
    fn entries(&self, bell: &AtomicU64) -> [(usize, Entry); 2] {
        let word = |word: &AtomicU32, value: u64, flags| {
            opcode::FutexWait::new(word.as_ptr().cast_const(), value, ANY, flags).build()
        };
        let event = |number: i32, event: i16| opcode::PollAdd::new(Fd(number), event as u32).build();
        match self.doorbell.wakers(bell) {
            Wakers::Words(bell, own) => {
                [(BELL, word(bell, ASLEEP, SIZE_U32)), (OWN, word(own, DOWN.into(), SIZE_U32 | PRIVATE))]
            }
            Wakers::Descriptors(rung, link) => [
                (BELL, event(rung.as_raw_fd(), libc::POLLIN)),
                (OWN, event(link.as_raw_fd(), libc::POLLRDHUP)),
            ],
        }
    }
}

impl Platform for AtBoth {
    #[inline]
    fn now(&self) -> u64 {
        self.doorbell.now()
    }

    #[inline]
    fn relax(&self) {
        self.doorbell.relax();
    }

    #[inline]
    fn give_way(&self) {
        self.doorbell.give_way();
    }

    fn sleep(&self, bell: &AtomicU64) -> Result<(), Gone> {
        if !self.doorbell.own().lies_down()? {
            return Ok(());
        }
        let slept = self.kernel.sleeps(|queue| {
            queue.arms_roused();
            for (bell, entry) in self.entries(bell) {
                // SAFETY: polls point to nothing. Of the two words the kernel looks at while an operation waits, the bell lies in the channel's memory, which
                // `shared` keeps, and the other in the doorbell: both live until the ring of this is closed.
                unsafe { queue.arms(bell, entry) };
            }
        });
        self.doorbell.hears();
        self.doorbell.own().rises();
        slept
    }

    #[inline]
    fn wake(&self, bell: &AtomicU64) {
        self.doorbell.wake(bell);
    }

    fn is_gone(&self) -> bool {
        self.doorbell.is_gone()
    }
}

impl<S: Shared> Both<S> {
    /// At both. What else the dispatcher was told to [sleep on](Dispatcher::sleeps_on), and for how long, does not hold here: tasks have
    /// [`Kernel::poll`] and [`Kernel::timeout`] for that. Nor does its rouser wake who sleeps here: an executor has [this one's](Both::rouser).
    ///
    /// # Errors
    /// [`Error::Missing`] if this kernel cannot have a ring wait for what the channel's ends are woken by.
    pub fn new(ring: Ring, dispatcher: Dispatcher<S>) -> Result<Both<S>> {
        let (shared, connection) = dispatcher.apart();
        if matches!(connection.doorbell().wakers(&AtomicU64::new(0)), Wakers::Words(..)) {
            ring.offers(Offer::Futex).map_err(Error::Missing)?;
        }
        let (kernel, bell) = (ring.kernel(), ring.bell());
        let connection = connection.moved(|doorbell| AtBoth { doorbell, kernel });
        Ok(Both { ring, shared, connection, stopped: None, is_over: false, bell })
    }

    /// By what tasks ask the kernel.
    pub fn kernel(&self) -> Kernel {
        self.ring.kernel()
    }

    /// What wakes this thread when it waits: for [`Executor::new`](crate::coroutine::Executor::new).
    pub fn rouser(&self) -> Rouser {
        self.ring.rouser()
    }

    /// How it waited at both, and how often it woke the other end.
    pub fn counts(&self) -> crate::linux::Counts {
        self.connection.counts()
    }

    /// What was counted of the ring; its waits are those after the other end was gone.
    pub fn kernel_counts(&self) -> Counts {
        self.ring.counts()
    }

    /// The other end is of no use any more: who waits for it is told.
    #[cold]
    fn ends(&mut self, why: Stopped) {
        self.stopped = Some(why);
        self.shared.ends(why);
    }
}

impl<S: Shared> Driver for Both<S> {
    fn turn(&mut self) -> Result<bool, Violation> {
        let mut came = self.ring.turn()?;
        match self.stopped {
            Some(Stopped::Broken(violation)) if self.is_over && !came => return Err(violation),
            Some(_) => return Ok(came),
            None => {}
        }
        match self.shared.turn() {
            Ok(any) => came |= any,
            Err(violation) => {
                self.ends(violation.into());
                came = true;
            }
        }
        self.shared.with(|end| self.connection.flush(end));
        let is_over = self.connection.is_over_after(came, &*self.shared);
        if is_over {
            self.ends(Stopped::Gone);
        }
        Ok(came || is_over)
    }

    fn wait(&mut self, is_ready: &mut dyn FnMut() -> bool) -> Result<(), Gone> {
        if let Some(why) = self.stopped {
            if self.ring.kernel().in_flight() > 0 || is_ready() {
                self.is_over = false;
                return self.ring.wait(is_ready);
            }
            self.is_over = true;
            return if why == Stopped::Gone { Err(Gone) } else { Ok(()) };
        }
        // Other threads of this process ring the ring's own bell: it is looked at by the ring after this was said.
        Bell(&self.bell).ask();
        let kernel = &self.connection.doorbell().kernel.clone();
        let waited = self.shared.with(|end| self.connection.wait(end, || kernel.has_some() || is_ready()));
        Bell(&self.bell).withdraw();
        if waited.is_err() {
            self.ends(Stopped::Gone);
        }
        Ok(())
    }
}
