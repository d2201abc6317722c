//! The operations whose crossings are priced, each usable on its own.
//!
//! An [`Operation`] crosses a boundary alone; an [`Exchange`] has two ends, a [`Caller`] and a [`Server`], which live
//! in two processes (or two threads) and hold nothing in common but descriptors.

pub mod atomics;
pub mod call;
pub mod clocks;
pub mod counter;
pub mod disk;
pub mod entropy_draw;
pub mod exit_inside;
pub mod faults;
pub mod mappings;
pub mod memory_copy;
pub mod nops;
pub mod pipe;
pub mod region;
pub mod scratch;
pub mod signal;
pub mod start;
pub mod syscalls;
mod thread_faults;

use std::os::fd::OwnedFd;

use tollway_core::{Error, Params, Place, Result, Tally};

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
pub trait Exchange: 'static {
    /// The end that asks.
    type Caller: Caller;
    /// The end that answers.
    type Server: Server;

    /// Makes the caller, and the descriptors that the server is made of.
    fn caller(params: &Params) -> Result<(Self::Caller, Vec<OwnedFd>)>;

    /// Makes the server of what the caller sent.
    fn server(params: &Params, descriptors: Vec<OwnedFd>) -> Result<Self::Server>;
}

/// The asking end of an exchange.
pub trait Caller: Send + 'static {
    /// One round trip. What goes wrong is remembered for [`Caller::verify`].
    fn ask(&mut self);

    /// Makes the server leave its loop.
    fn stop(&mut self) -> Result<()>;

    /// Checks what came back in `asked` round trips.
    fn verify(&mut self, asked: u64) -> Result<()>;
}

/// The answering end of an exchange.
pub trait Server: Send + 'static {
    /// Answers until it is told to stop; returns how many it answered.
    fn serve(&mut self) -> Result<u64>;
}

/// Exactly `N` descriptors, as an exchange's server expects them.
pub(crate) fn exactly<const N: usize>(descriptors: Vec<OwnedFd>) -> Result<[OwnedFd; N]> {
    descriptors.try_into().map_err(|got: Vec<OwnedFd>| Error::Tenant {
        tenant: "caller".into(),
        reason: format!("it sent {} descriptors, {N} were expected", got.len()),
    })
}
