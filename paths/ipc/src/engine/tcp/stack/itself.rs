//! The stack without an application: it answers by itself what that would, so that what it takes for a message can be told from what the
//! requests to another process take.
//!
//! By tasks it is the stack that has rings but for these; by threads a message is handed to its connection's thread and comes back, as where
//! that thread asks.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tollway_channel::coroutine::{Driver, Executor, Rouser};
use tollway_channel::ring::Violation;
use tollway_channel::wait::{Gone, Patience, Waiter};
use tollway_core::{Error, Result};

use super::alarm::{Alarm, Bed};
use super::asynchronous::message;
use super::synchronous::Ask;
use super::{Counts, Stack};
use crate::engine::tcp::message::{BYTES, answer};

/// In what a stack answers that has no application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Itself {
    /// In a task for each connection, all in one thread.
    Tasks,
    /// In a thread for each connection.
    Threads,
}

/// Answers where an application would be asked.
pub(super) struct Answers;

impl Ask for Answers {
    fn ask(&mut self, says: u16, request: &[u8], reply: &mut [u8]) -> Result<(u16, usize)> {
        Ok((says, answer(request, reply)))
    }

    fn notices(&self) -> u64 {
        0
    }
}

/// A stack whose tasks answer.
pub(super) struct Tasks {
    stack: Stack,
    alarm: Arc<Alarm>,
    waiter: Waiter<Bed>,
}

impl Tasks {
    pub(super) fn of(stack: Stack, patience: Option<Patience>) -> Result<Tasks> {
        let alarm = Alarm::new()?;
        let bed = Bed::new(alarm.clone(), stack.descriptor()?);
        let waiter = Waiter::new(bed, patience.unwrap_or_else(Patience::measured));
        Ok(Tasks { stack, alarm, waiter })
    }

    /// What wakes its thread, after `stop` was set.
    pub(super) fn rouser(&self) -> Rouser {
        self.alarm.rouser()
    }

    /// Serves until it is stopped. What it did, and how it ended.
    pub(super) fn run(self, stop: &AtomicBool) -> (Counts, Result<()>) {
        let rouser = self.rouser();
        let Tasks { stack, alarm, waiter } = self;
        let connections = stack.connections();
        let stack = RefCell::new(stack);
        let mut executor = Executor::new(connections, rouser);
        for connection in 0..connections {
            executor.spawn(0, serves(&stack, connection));
        }
        let mut work = Work { stack: &stack, alarm, waiter, stop, fault: None };
        // Its tasks have no end: it is stopped, or has a fault.
        let _ = executor.run(&mut work);
        drop(executor);
        let Work { waiter, fault, .. } = work;
        let mut stack = stack.into_inner();
        if fault.is_some() {
            // Where the interface is gone there is nobody to be told.
            let _ = stack.resets_all();
        }
        (Counts { sleeps: waiter.waits().asleep, ..stack.counts() }, fault.map_or(Ok(()), Err))
    }
}

/// One connection after the other in one place: hears a message, says its reply.
async fn serves(stack: &RefCell<Stack>, connection: usize) {
    loop {
        let request = message(stack, connection).await;
        let mut reply = [0; BYTES];
        let bytes = answer(&request, &mut reply);
        stack.borrow_mut().say(connection, connection, &reply[..bytes]);
    }
}

/// What brings the tasks frames.
struct Work<'s> {
    stack: &'s RefCell<Stack>,
    alarm: Arc<Alarm>,
    waiter: Waiter<Bed>,
    stop: &'s AtomicBool,
    fault: Option<Error>,
}

impl Driver for Work<'_> {
    fn turn(&mut self) -> std::result::Result<bool, Violation> {
        if self.fault.is_some() || self.stop.load(Ordering::Relaxed) {
            return Ok(false);
        }
        Ok(self.stack.borrow_mut().turn().unwrap_or_else(|fault| {
            self.fault = Some(fault);
            false
        }))
    }

    fn wait(&mut self, is_ready: &mut dyn FnMut() -> bool) -> std::result::Result<(), Gone> {
        if self.fault.is_some() {
            return Err(Gone);
        }
        let due = self.stack.borrow_mut().due();
        let left = due.map(|due| due.saturating_duration_since(Instant::now()));
        if left != Some(Duration::ZERO) {
            let (stack, stop) = (self.stack, self.stop);
            self.waiter.platform_mut().sleeps_for(left);
            self.waiter.wait(self.alarm.bell(), || {
                is_ready()
                    || stack.borrow().has_frames()
                    || stop.load(Ordering::SeqCst)
                    || due.is_some_and(|due| due <= Instant::now())
            })?;
        }
        if self.stop.load(Ordering::SeqCst) { Err(Gone) } else { Ok(()) }
    }
}
