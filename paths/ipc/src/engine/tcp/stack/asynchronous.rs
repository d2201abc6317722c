//! The stack over rings: a task for each connection, whose requests are futures, and one thread that has frames, tasks and rings.
//!
//! The thread sleeps when neither a frame nor a reply is there, by one poll(2) on the packet socket and on the channel's notice, for no
//! longer than the stack's timers allow.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

use tollway_channel::coroutine::{Calls, Driver, Executor, Lost, Rouser};
use tollway_channel::linux::{Client, Dispatcher, Notice, Options, Shared};
use tollway_channel::ring::Violation;
use tollway_channel::wait::{Gone, Patience};
use tollway_core::{Error, Result};

use super::{Counts, Stack};
use crate::engine::tcp::message::{BYTES, Message};

/// A stack and its channel.
pub(super) struct Asynchronous {
    stack: Stack,
    calls: Calls<Shared>,
    dispatcher: Dispatcher<Calls<Shared>>,
}

impl Asynchronous {
    /// Meets the application at the other end of that link.
    pub(super) fn over(stack: Stack, link: UnixStream, patience: Option<Patience>) -> Result<Asynchronous> {
        let options = Options {
            slots: stack.connections(),
            bytes: BYTES,
            notice: Notice::Eventfd,
            patience,
            ..Options::default()
        };
        let (calls, mut dispatcher) = Client::over(link, &options)?.into_calls();
        dispatcher.sleeps_on(stack.descriptor()?)?;
        Ok(Asynchronous { stack, calls, dispatcher })
    }

    /// What wakes its thread, after `stop` was set.
    pub(super) fn rouser(&self) -> Rouser {
        self.dispatcher.rouser()
    }

    /// Serves until it is stopped. What it did, and how it ended.
    pub(super) fn run(self, stop: &AtomicBool) -> (Counts, Result<()>) {
        let Asynchronous { stack, calls, dispatcher } = self;
        let connections = stack.connections();
        let (stack, lost) = (RefCell::new(stack), Cell::new(None));
        let mut executor = Executor::new(connections, dispatcher.rouser());
        for connection in 0..connections {
            executor.spawn(0, serves(&stack, &calls, connection, &lost));
        }
        let mut work = Work { stack: &stack, dispatcher, stop, fault: None, sleeps: 0 };
        let ran = executor.run(&mut work);
        drop(executor);
        let Work { dispatcher, fault, sleeps, .. } = work;
        let ended = match (fault, ran) {
            (Some(fault), _) => Err(fault),
            _ if stop.load(Ordering::SeqCst) => Ok(()),
            (None, ran) => {
                let lost = ran.err().map(Lost::Stopped).or(lost.get());
                let reason = lost.map_or_else(|| "it ended".into(), |lost| lost.to_string());
                Err(Error::Tenant { tenant: "application".into(), reason })
            }
        };
        let mut stack = stack.into_inner();
        if ended.is_err() {
            // Where the interface is gone there is nobody to be told.
            let _ = stack.resets_all();
        }
        let notices = dispatcher.counts().notices;
        (Counts { sleeps, notices, ..stack.counts() }, ended)
    }
}

/// One connection after the other in one place: hears a message, asks the application, says its reply. A connection that ends meanwhile
/// keeps its place until the reply has come. Ends when there are no replies any more, and says why.
async fn serves(stack: &RefCell<Stack>, calls: &Calls<Shared>, connection: usize, lost: &Cell<Option<Lost>>) {
    loop {
        let request = message(stack, connection).await;
        let mut reply = [0; BYTES];
        match calls.call(connection as u16, &request, &mut reply).await {
            Ok((says, bytes)) => stack.borrow_mut().say(connection, says.into(), &reply[..bytes]),
            Err(why) => return lost.set(Some(why)),
        }
    }
}

/// The next message of a connection.
pub(super) async fn message(stack: &RefCell<Stack>, connection: usize) -> Message {
    poll_fn(|context| {
        let mut stack = stack.borrow_mut();
        match stack.hear(connection) {
            Some(message) => Poll::Ready(message),
            None => {
                stack.wakes(connection, context.waker());
                Poll::Pending
            }
        }
    })
    .await
}

/// What brings the tasks what they wait for: frames and replies.
struct Work<'s> {
    stack: &'s RefCell<Stack>,
    dispatcher: Dispatcher<Calls<Shared>>,
    stop: &'s AtomicBool,
    fault: Option<Error>,
    sleeps: u64,
}

impl Driver for Work<'_> {
    fn turn(&mut self) -> std::result::Result<bool, Violation> {
        if self.fault.is_some() || self.stop.load(Ordering::Relaxed) {
            return Ok(false);
        }
        let replies = self.dispatcher.turn()?;
        match self.stack.borrow_mut().turn() {
            Ok(frames) => Ok(frames || replies),
            Err(fault) => {
                self.fault = Some(fault);
                Ok(false)
            }
        }
    }

    fn wait(&mut self, is_ready: &mut dyn FnMut() -> bool) -> std::result::Result<(), Gone> {
        if self.fault.is_some() {
            return Err(Gone);
        }
        let due = self.stack.borrow_mut().due();
        let left = due.map(|due| due.saturating_duration_since(Instant::now()));
        if left != Some(Duration::ZERO) {
            self.dispatcher.sleeps_for(left);
            let before = self.dispatcher.counts().waits.asleep;
            self.dispatcher.wait(&mut || {
                is_ready()
                    || self.stack.borrow().has_frames()
                    || self.stop.load(Ordering::SeqCst)
                    || due.is_some_and(|due| due <= Instant::now())
            })?;
            self.sleeps += self.dispatcher.counts().waits.asleep - before;
        }
        if self.stop.load(Ordering::SeqCst) { Err(Gone) } else { Ok(()) }
    }
}
