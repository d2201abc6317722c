//! The operations whose crossings are priced, each usable on its own.
//!
//! An [`Operation`] crosses a boundary alone; an [`Exchange`] has two ends, a [`Caller`] and a [`Server`], which live
//! in two processes (or two threads) and hold nothing in common but descriptors.

pub mod asleep;
pub mod atomics;
pub mod cache_line;
pub mod call;
pub mod clocks;
pub mod contended;
pub mod counter;
pub mod disk;
pub mod doorbell;
pub mod echo;
pub mod entropy_draw;
pub mod eventfd;
pub mod exec;
pub mod exit_inside;
pub mod exits;
pub mod faults;
pub mod futex;
pub mod hand_over;
pub mod mappings;
pub mod memory_copy;
pub mod passing;
pub mod pipe;
mod processor_time;
pub mod queue;
pub mod region;
pub mod ring;
pub mod scratch;
mod sequence;
pub mod shared;
pub mod signal;
pub mod single;
pub mod sockets;
pub mod start;
pub mod syscalls;
pub mod thread_end;
mod thread_faults;
pub mod yielding;

use std::os::fd::OwnedFd;

use tollway_core::{Error, Params, Place, Recorder, Result, Tally, Window};
use tollway_host::clock::RunClock;
use tollway_host::watch::Release;
use tollway_load::repeat;

/// Something that one actor does over and over.
pub trait Operation: Send + Sized + 'static {
    /// Everything that must not be timed: files opened, memory mapped and touched.
    fn prepare(params: &Params, place: &Place) -> Result<Self>;

    /// The operation. Must not panic or allocate; what goes wrong is remembered for [`Operation::verify`].
    fn once(&mut self);

    /// How many operations one call of [`once`](Operation::once) is. Where it is more than one, the calls are timed
    /// and the figure is per operation: a sample of `n` calls is recorded as a batch of `n` times so many operations.
    fn operations(&self) -> u32 {
        1
    }

    /// Whether a call of [`once`](Operation::once) uses something up that has to be renewed before the next.
    /// [`restock`](Operation::restock) is then called before every call, untimed, and every call is a sample.
    fn uses_up(&self) -> bool {
        false
    }

    /// Makes ready what the next call uses up: pages given back, sources flushed from the caches.
    fn restock(&mut self) {}

    /// Checks that all of the `done` operations really happened: calls times [`operations`](Operation::operations).
    /// Called on the thread that ran them.
    fn verify(&mut self, done: u64) -> Result<()>;

    /// What was counted while it ran.
    fn tally(&self, done: u64) -> Tally {
        Tally::default().counter("operations", done)
    }
}

/// Two ends that pass something to each other.
///
/// They hold nothing in common but what the caller makes and passes on as descriptors, and distrust each other: neither
/// can make the other fault, or loop without end once the socket between their actors is closed.
pub trait Exchange: 'static {
    /// The end that asks.
    type Caller: Caller;
    /// The end that answers.
    type Server: Server;

    /// Makes the caller, and the descriptors that the server is made of.
    fn caller(params: &Params, place: &Place) -> Result<(Self::Caller, Vec<OwnedFd>)>;

    /// Makes the server of what the caller sent.
    fn server(params: &Params, descriptors: Vec<OwnedFd>) -> Result<Self::Server>;
}

/// The asking end of an exchange.
///
/// Where an exchange is played from a micro-guest, [`begin`](Caller::begin), [`ask`](Caller::ask) and
/// [`stop`](Caller::stop) run in the guest: they must then make no system call, not allocate and touch no thread-local
/// storage. Everything else runs outside.
pub trait Caller: Send + 'static {
    /// Called once before the first [`Caller::ask`], untimed: waits for the server where asking does not.
    fn begin(&mut self) {}

    /// One round trip. Must not panic; what goes wrong is remembered for [`Caller::verify`].
    fn ask(&mut self);

    /// Asks over and over in a window; says how often. An end whose round trip is not all that is to be timed, or not by the
    /// clock, does it in its own way.
    #[inline]
    fn repeat(&mut self, window: &Window, recorder: &mut Recorder) -> u64 {
        repeat(RunClock::chosen(), window, recorder, &mut || self.ask())
    }

    /// Makes the server leave its loop.
    fn stop(&mut self) -> Result<()>;

    /// Checks what came back in `asked` round trips, of which the server says that it `served` so many.
    fn verify(&mut self, asked: u64, served: u64) -> Result<()>;

    /// What makes [`Caller::ask`] return when the server is gone: it is called from another thread, once, after the
    /// last answer.
    fn release(&self) -> Release;

    /// What was counted while it ran.
    fn tally(&self, asked: u64) -> Tally {
        Tally::default().counter("asked", asked)
    }
}

/// The answering end of an exchange.
pub trait Server: Send + 'static {
    /// Answers until it is told to stop; returns how many it answered.
    fn serve(&mut self) -> Result<u64>;

    /// What makes [`Server::serve`] return when the caller is gone: it is called from another thread, once, after the
    /// last request.
    fn release(&self) -> Release;
}

/// Exactly `N` descriptors, as an exchange's server expects them.
pub(crate) fn exactly<const N: usize>(descriptors: Vec<OwnedFd>) -> Result<[OwnedFd; N]> {
    descriptors.try_into().map_err(|got: Vec<OwnedFd>| Error::Tenant {
        tenant: "caller".into(),
        reason: format!("it sent {} descriptors, {N} were expected", got.len()),
    })
}
