//! What brings the tasks of a thread what the other process has written.

use std::os::fd::OwnedFd;
use std::time::Duration;

use tollway_core::Error;

use super::connection::{Connection, Counts};
use crate::coroutine::{Driven, Driver, Rouser, Shared};
use crate::ring::Violation;
use crate::wait::Gone;

/// Brings tasks their requests or replies, and waits where there are none. Dropped, it tells who waits.
pub struct Dispatcher<S: Shared> {
    shared: Driven<S>,
    connection: Connection,
}

impl<S: Shared> core::fmt::Debug for Dispatcher<S> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Dispatcher").field("counts", &self.counts()).finish_non_exhaustive()
    }
}

impl<S: Shared> Dispatcher<S> {
    pub(super) fn new(shared: S, connection: Connection) -> Dispatcher<S> {
        Dispatcher { shared: Driven(shared), connection }
    }

    /// What tasks share, and the way to the other end.
    pub(super) fn apart(self) -> (Driven<S>, Connection) {
        (self.shared, self.connection)
    }

    /// What wakes this thread when it waits: for [`Executor::new`](crate::coroutine::Executor::new).
    pub fn rouser(&self) -> Rouser {
        self.connection.doorbell().rouser()
    }

    /// Where this thread waits for something else besides: it sleeps until that descriptor (the last one named) can be read, too. `is_ready` of
    /// [`wait`](Driver::wait) looks whether there is something.
    ///
    /// # Errors
    /// [`Error::Input`] where ends are not woken by an [eventfd](super::Notice::Eventfd).
    pub fn sleeps_on(&mut self, descriptor: OwnedFd) -> Result<(), Error> {
        self.connection.doorbell_mut().sleeps_on(descriptor)
    }

    /// For how long it sleeps at the most, each time from now on; without end if that is not said. Only an end that is woken by an
    /// [eventfd](super::Notice::Eventfd) wakes up by itself.
    pub fn sleeps_for(&mut self, at_most: Option<Duration>) {
        self.connection.doorbell_mut().sleeps_for(at_most);
    }

    /// How it waited, and how often it woke the other end.
    pub fn counts(&self) -> Counts {
        self.connection.counts()
    }
}

impl<S: Shared> Driver for Dispatcher<S> {
    fn turn(&mut self) -> Result<bool, Violation> {
        let came = self.shared.turn().inspect_err(|violation| self.shared.ends((*violation).into()))?;
        self.shared.with(|end| self.connection.flush(end));
        let is_over = self.connection.is_over_after(came, &*self.shared);
        if is_over {
            self.shared.ends(Gone.into());
        }
        Ok(came || is_over)
    }

    fn wait(&mut self, is_ready: &mut dyn FnMut() -> bool) -> Result<(), Gone> {
        let waited = self.shared.with(|end| self.connection.wait(end, is_ready));
        waited.inspect_err(|gone| self.shared.ends((*gone).into()))
    }
}
