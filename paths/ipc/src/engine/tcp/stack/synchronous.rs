//! The stack over synchronous requests: who asks waits, so each connection has a thread of its own, with a channel of its own, and one more
//! thread has the frames. It hands a message to its connection's thread, which asks the application and brings the reply back.

use std::mem;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use tollway_channel::coroutine::Rouser;
use tollway_channel::wait::{Patience, Waiter};
use tollway_core::{Error, Result};

use super::alarm::{Alarm, Bed};
use super::{Counts, Stack};
use crate::engine::tcp::message::{BYTES, Message};

/// How long the threads of connections may take to end, once they are told: each has at most one request with the application.
const SOON: Duration = Duration::from_secs(10);

/// Asks the application by one channel, and waits.
pub(super) trait Ask: Send {
    /// Asks with these bytes, of which `says` is said, and lays the reply into `reply`: what is said of that, and how long it is.
    fn ask(&mut self, says: u16, request: &[u8], reply: &mut [u8]) -> Result<(u16, usize)>;

    /// How often the application was woken.
    fn notices(&self) -> u64;
}

/// A stack, and a thread for each connection.
pub(super) struct Synchronous {
    stack: Stack,
    desks: Vec<Desk>,
    back: Arc<Back>,
    /// Ends when the last thread of a connection has.
    over: Receiver<()>,
    patience: Patience,
}

/// Where a connection's messages are taken to its thread.
struct Desk {
    requests: SyncSender<Message>,
    /// By what its thread asks, if it does.
    link: Option<UnixStream>,
    thread: JoinHandle<u64>,
    /// Whether its thread has a request whose reply has not come back.
    is_away: bool,
}

/// Where threads lay what has come back.
struct Back {
    came: Mutex<Vec<Came>>,
    alarm: Arc<Alarm>,
}

/// The reply to a connection's request: what was said of it, its bytes and how many these are, or why there is none.
struct Came {
    connection: usize,
    reply: Result<(u16, Message, usize)>,
}

impl Back {
    fn lock(&self) -> MutexGuard<'_, Vec<Came>> {
        // Nobody panics while it is locked; if somebody did, the list would be whole.
        self.came.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lay(&self, came: Came) {
        self.lock().push(came);
        self.alarm.ring();
    }
}

impl Synchronous {
    /// Over these links, as many as there are connections: each with what asks by it; none where nobody is asked.
    pub(super) fn over(
        stack: Stack,
        links: Vec<(Option<UnixStream>, Box<dyn Ask>)>,
        patience: Option<Patience>,
    ) -> Result<Synchronous> {
        let alarm = Alarm::new()?;
        let back = Arc::new(Back { came: Mutex::new(Vec::with_capacity(links.len())), alarm });
        let (lasts, over) = sync_channel(0);
        let desk = |(connection, (link, ask)): (usize, (Option<UnixStream>, Box<dyn Ask>))| {
            let (requests, asked) = sync_channel(1);
            let (back, lasts) = (back.clone(), lasts.clone());
            let thread = Builder::new()
                .name(format!("connection {connection}"))
                .spawn(move || asks(connection, ask, &asked, &back, lasts))
                .map_err(|e| Error::system("starting a thread for a connection", e))?;
            Ok(Desk { requests, link, thread, is_away: false })
        };
        let desks = links.into_iter().enumerate().map(desk).collect::<Result<Vec<_>>>()?;
        drop(lasts);
        Ok(Synchronous { stack, desks, back, over, patience: patience.unwrap_or_else(Patience::measured) })
    }

    /// What wakes its thread, after `stop` was set.
    pub(super) fn rouser(&self) -> Rouser {
        self.back.alarm.rouser()
    }

    /// Serves until it is stopped. What it did, and how it ended.
    pub(super) fn run(mut self, stop: &AtomicBool) -> (Counts, Result<()>) {
        let mut sleeps = 0;
        let ended = self.serves(stop, &mut sleeps);
        if ended.is_err() {
            // Where the interface is gone there is nobody to be told.
            let _ = self.stack.resets_all();
        }
        let threads = self.desks.into_iter().map(|desk| {
            // One that waits for its turn is told that there will be none; by datagrams, whose link is only what they met by, when the application ends.
            // An error means that the link has been shut.
            let _ = desk.link.map(|link| link.shutdown(Shutdown::Both));
            desk.thread
        });
        let threads: Vec<_> = threads.collect();
        // An application that is stopped in the middle of a request keeps its thread for as long as it is.
        let ended = match (self.over.recv_timeout(SOON), ended) {
            (Err(RecvTimeoutError::Timeout), Ok(())) => {
                Err(gone(format!("it has not answered for {SOON:?}")))
            }
            (_, ended) => ended,
        };
        let over = threads.into_iter().filter(JoinHandle::is_finished);
        let notices = over.filter_map(|thread| thread.join().ok()).sum();
        (Counts { sleeps, notices, ..self.stack.counts() }, ended)
    }

    fn serves(&mut self, stop: &AtomicBool, sleeps: &mut u64) -> Result<()> {
        let bed = Bed::new(self.back.alarm.clone(), self.stack.descriptor()?);
        let mut waiter = Waiter::new(bed, self.patience);
        let mut came = Vec::with_capacity(self.desks.len());
        while !stop.load(Ordering::SeqCst) {
            mem::swap(&mut *self.back.lock(), &mut came);
            let replies = !came.is_empty();
            for Came { connection, reply } in came.drain(..) {
                let (says, reply, bytes) = reply?;
                self.desks[connection].is_away = false;
                self.stack.say(connection, says.into(), &reply[..bytes.min(BYTES)]);
            }
            let frames = self.stack.turn()?;
            if frames || replies {
                self.hands_over()?;
                continue;
            }
            let due = self.stack.due();
            let left = due.map(|due| due.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                continue;
            }
            waiter.platform_mut().sleeps_for(left);
            let (back, stack) = (&self.back, &self.stack);
            // Nobody is at the other end of this but threads of this process.
            let _ = waiter.wait(back.alarm.bell(), || {
                stack.has_frames()
                    || !back.lock().is_empty()
                    || stop.load(Ordering::SeqCst)
                    || due.is_some_and(|due| due <= Instant::now())
            });
            *sleeps = waiter.waits().asleep;
        }
        Ok(())
    }

    /// Takes each connection's next message to its thread, if that has none.
    fn hands_over(&mut self) -> Result<()> {
        for (connection, desk) in self.desks.iter_mut().enumerate() {
            if desk.is_away {
                continue;
            }
            if let Some(message) = self.stack.hear(connection) {
                desk.is_away = true;
                desk.requests
                    .send(message)
                    .map_err(|_| gone(format!("the thread of connection {connection} ended")))?;
            }
        }
        Ok(())
    }
}

/// The life of a connection's thread; how often it woke the application.
fn asks(
    connection: usize,
    mut ask: Box<dyn Ask>,
    requests: &Receiver<Message>,
    back: &Back,
    _lasts: SyncSender<()>,
) -> u64 {
    while let Ok(request) = requests.recv() {
        let mut reply = [0; BYTES];
        let asked = ask.ask(connection as u16, &request, &mut reply);
        let is_over = asked.is_err();
        back.lay(Came { connection, reply: asked.map(|(says, bytes)| (says, reply, bytes)) });
        if is_over {
            break;
        }
    }
    ask.notices()
}

fn gone(reason: String) -> Error {
    Error::Tenant { tenant: "application".into(), reason }
}
