//! A stack at work in a thread of its own, until it is stopped or the application is gone.

use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SendError, channel};
use std::thread::{Builder, JoinHandle};

use tollway_channel::coroutine::Rouser;
use tollway_channel::linux::plain;
use tollway_channel::wait::Patience;
use tollway_core::{Error, Result};

use super::asynchronous::Asynchronous;
use super::itself::{Answers, Itself, Tasks};
use super::synchronous::{Ask, Synchronous};
use super::{Counts, Stack};
use crate::engine::tcp::message::BYTES;

/// How the application is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// By rings: requests are futures, one thread asks for all connections.
    Asynchronous,
    /// By synchronous requests of that kind: a thread for each connection, and a channel.
    Synchronous(plain::Way),
}

impl Style {
    /// How many links to the application it takes for so many connections.
    pub fn links(self, connections: usize) -> usize {
        match self {
            Style::Asynchronous => 1,
            Style::Synchronous(_) => connections,
        }
    }
}

/// A stack at work. Dropped, it is stopped.
pub struct Running {
    stop: Arc<AtomicBool>,
    rouse: Rouser,
    thread: Option<JoinHandle<Outcome>>,
}

impl Running {
    /// Has a stack serve over links to the application, of which `connects` makes one after the other ([`Style::links`] says how many).
    ///
    /// # Errors
    /// That of `connects`; [`Error::Input`] if the application does not agree; [`Error::System`] if it says nothing, or the kernel refuses.
    pub fn start(
        stack: Stack,
        style: Style,
        mut connects: impl FnMut() -> Result<UnixStream> + Send + 'static,
        patience: Option<Patience>,
    ) -> Result<Running> {
        Running::with(move || match style {
            Style::Asynchronous => Ok(asynchronous(Asynchronous::over(stack, connects()?, patience)?)),
            Style::Synchronous(way) => {
                let links = 0..style.links(stack.connections());
                let links = links.map(|_| asks(connects()?, way, patience)).collect::<Result<Vec<_>>>()?;
                Ok(synchronous(Synchronous::over(stack, links, patience)?))
            }
        })
    }

    /// Has a stack answer by itself, without an application.
    ///
    /// # Errors
    /// [`Error::System`] if the kernel refuses.
    pub fn alone(stack: Stack, itself: Itself, patience: Option<Patience>) -> Result<Running> {
        Running::with(move || match itself {
            Itself::Tasks => {
                let stack = Tasks::of(stack, patience)?;
                Ok(Begun { rouse: stack.rouser(), runs: Box::new(|stop| stack.run(stop)) })
            }
            Itself::Threads => {
                let one = |_| (None, Box::new(Answers) as Box<dyn Ask>);
                let all = (0..stack.connections()).map(one).collect();
                Ok(synchronous(Synchronous::over(stack, all, patience)?))
            }
        })
    }

    fn with(begins: impl FnOnce() -> Result<Begun> + Send + 'static) -> Result<Running> {
        let stop = Arc::new(AtomicBool::new(false));
        let (tell, told) = channel();
        let stops = stop.clone();
        let thread = Builder::new()
            .name("network stack".into())
            .spawn(move || serves(begins, &stops, |rouser| tell.send(rouser)))
            .map_err(|e| Error::system("starting the network stack's thread", e))?;
        match told.recv() {
            Ok(rouse) => Ok(Running { stop, rouse, thread: Some(thread) }),
            // It has ended without a word: why, it says at its end.
            Err(_) => match thread.join() {
                Ok((_, Err(error))) => Err(error),
                _ => Err(Error::system("starting the network stack", "its thread ended")),
            },
        }
    }

    /// Whether it has ended by itself: the application is gone, or the interface.
    pub fn is_over(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Stops it. What it did.
    ///
    /// # Errors
    /// Why it had ended before: [`Error::Tenant`] if the application is gone or broke the rules.
    pub fn stop(mut self) -> Result<Counts> {
        match self.ends() {
            Some((counts, ended)) => ended.map(|()| counts),
            None => Err(Error::Tenant { tenant: "network stack".into(), reason: "it panicked".into() }),
        }
    }

    fn ends(&mut self) -> Option<Outcome> {
        self.stop.store(true, Ordering::SeqCst);
        (self.rouse)();
        self.thread.take()?.join().ok()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.ends();
    }
}

/// What a stack did, and how it ended.
type Outcome = (Counts, Result<()>);

/// A stack that is about to work.
struct Begun {
    rouse: Rouser,
    runs: Box<dyn FnOnce(&AtomicBool) -> Outcome>,
}

fn asynchronous(stack: Asynchronous) -> Begun {
    Begun { rouse: stack.rouser(), runs: Box::new(|stop| stack.run(stop)) }
}

fn synchronous(stack: Synchronous) -> Begun {
    Begun { rouse: stack.rouser(), runs: Box::new(|stop| stack.run(stop)) }
}

fn serves(
    begins: impl FnOnce() -> Result<Begun>,
    stop: &AtomicBool,
    tells: impl FnOnce(Rouser) -> std::result::Result<(), SendError<Rouser>>,
) -> Outcome {
    let begun = begins().and_then(|Begun { rouse, runs }| {
        // Who starts it waits for this word.
        tells(rouse).map_err(|_| Error::system("starting the network stack", "nobody waits"))?;
        Ok(runs(stop))
    });
    begun.unwrap_or_else(|error| (Counts::default(), Err(error)))
}

/// What asks by that link, and the link besides, to be shut.
fn asks(
    link: UnixStream,
    way: plain::Way,
    patience: Option<Patience>,
) -> Result<(Option<UnixStream>, Box<dyn Ask>)> {
    let again = link.try_clone().map_err(|e| Error::system("passing on a link", e))?;
    let options = plain::Options { way, bytes: BYTES, patience, ..plain::Options::default() };
    Ok((Some(again), Box::new(plain::Client::over(link, &options)?)))
}

impl Ask for plain::Client {
    fn ask(&mut self, says: u16, request: &[u8], reply: &mut [u8]) -> Result<(u16, usize)> {
        self.call(says, request, reply)
            .map_err(|failed| Error::Tenant { tenant: "application".into(), reason: failed.to_string() })
    }

    fn notices(&self) -> u64 {
        self.counts().notices
    }
}
