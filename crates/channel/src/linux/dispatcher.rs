//! What brings the tasks of a thread what the other process has written.

use super::connection::{Connection, Counts};
use crate::coroutine::{Driver, Rouser, Shared};
use crate::ring::Violation;
use crate::wait::Gone;

/// Brings tasks their requests or replies, and waits where there are none.
pub struct Dispatcher<S> {
    shared: S,
    connection: Connection,
}

impl<S: Shared> Dispatcher<S> {
    pub(super) fn new(shared: S, connection: Connection) -> Dispatcher<S> {
        Dispatcher { shared, connection }
    }

    /// What tasks share, and the way to the other end.
    pub(super) fn apart(self) -> (S, Connection) {
        (self.shared, self.connection)
    }

    /// What wakes this thread when it waits: for [`Executor::new`](crate::coroutine::Executor::new).
    pub fn rouser(&self) -> Rouser {
        self.connection.doorbell().rouser()
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
        Ok(came)
    }

    fn wait(&mut self, is_ready: &mut dyn FnMut() -> bool) -> Result<(), Gone> {
        let waited = self.shared.with(|end| self.connection.wait(end, is_ready));
        waited.inspect_err(|gone| self.shared.ends((*gone).into()))
    }
}
