//! The ends of a channel for tasks of a tokio runtime.
//!
//! A task of its own drives each end: it takes what has come, wakes who waits for it, and lets the others run; when nothing comes it looks for as long as
//! a wake-up costs, giving way each time, says that the end sleeps, looks once more, and awaits the descriptor that tells that its bell was rung (an epoll
//! instance of the other end's eventfd, within tokio's). While it is awake it wakes the other end for all that was written since its last turn; when it
//! sleeps, whoever writes does so.
//!
//! Dropped with the last handle, or with the runtime, it tells who waits.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use ::tokio::io::Interest;
use ::tokio::io::unix::AsyncFd;
use ::tokio::task::{AbortHandle, spawn, spawn_blocking, yield_now};
use tollway_core::{Error, Result};

use super::doorbell::{Doorbell, Notice, Wakers};
use super::greeting;
use super::meeting::{self, Met};
use super::shared::Shared as Memory;
use super::{Limits, Options};
use crate::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::coroutine::{self, Calls, Incoming, Lost, Shared, Stopped, Together};
use crate::ring::{Watched, client, server};
use crate::wait::{Patience, Platform, Use};

/// The end that asks, shared by tasks: each has a clone, or a reference.
#[derive(Clone)]
pub struct Client {
    calls: Calls<Memory, Together>,
    end: Arc<End>,
    _driving: Arc<Driving>,
}

impl core::fmt::Debug for Client {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Client").field("counts", &self.counts()).finish_non_exhaustive()
    }
}

/// The end that answers one client, shared by tasks.
#[derive(Clone)]
pub struct Server {
    incoming: Incoming<Memory, Together>,
    end: Arc<End>,
    _driving: Arc<Driving>,
}

impl core::fmt::Debug for Server {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Server").field("counts", &self.counts()).finish_non_exhaustive()
    }
}

/// How often an end did what costs a call of the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// It woke the other end.
    pub notices: u64,
    /// It slept.
    pub sleeps: u64,
}

/// What tasks have of an end beside the rings.
struct End {
    doorbell: Doorbell,
    /// Whether the task that drives it has another turn before it sleeps, in which it wakes the other end if that is to be woken.
    is_awake: AtomicBool,
    /// How far the other end was looked after; changed while the rings are locked.
    flushed: AtomicU64,
    notices: AtomicU64,
    sleeps: AtomicU64,
}

impl End {
    /// Wakes the other end if it sleeps and something was written for it since the last time.
    fn flushes(&self, shared: &impl Shared) {
        let is_due = shared.with(|end| {
            let written = end.written();
            self.flushed.swap(written, Ordering::Relaxed) != written && end.theirs().answer()
        });
        if is_due {
            self.notices.fetch_add(1, Ordering::Relaxed);
            shared.with(|end| self.doorbell.wake(end.theirs().0));
        }
    }

    /// Something was written, the rings being locked meanwhile. Who finds the driver awake leaves the rest to it: it locks them after it has said that it
    /// sleeps, and wakes the other end then.
    fn wrote(&self, shared: &impl Shared) {
        if !self.is_awake.load(Ordering::SeqCst) {
            self.flushes(shared);
        }
    }

    fn counts(&self) -> Counts {
        Counts { notices: self.notices.load(Ordering::Relaxed), sleeps: self.sleeps.load(Ordering::Relaxed) }
    }
}

/// The task that drives an end, which ends with this.
struct Driving(AbortHandle);

impl Drop for Driving {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Client {
    /// Connects to the server that listens at that path. Ends are woken by [eventfds](Notice::Eventfd), whatever the options say.
    ///
    /// # Panics
    /// Outside of a runtime that has I/O enabled.
    ///
    /// # Errors
    /// As [`linux::Client::connect`](super::Client::connect).
    pub async fn connect(path: impl AsRef<Path>, options: &Options) -> Result<Client> {
        meeting::checked(options)?;
        let path = path.as_ref().to_owned();
        let within = options.within;
        let link = blocking(move || greeting::connected(&path, within)).await?;
        Client::over(link, options).await
    }

    /// Meets the server at the other end of a socket.
    ///
    /// # Panics
    /// Outside of a runtime that has I/O enabled.
    ///
    /// # Errors
    /// As [`connect`](Client::connect).
    pub async fn over(link: UnixStream, options: &Options) -> Result<Client> {
        let options = Options { notice: Notice::Eventfd, ..*options };
        let (met, patience) = met(link, options.patience, move |link| meeting::ask(link, &options)).await?;
        let calls = Calls::over(client::Client::new(met.memory, met.geometry));
        let (end, _driving) = driven(&calls, met.doorbell, patience)?;
        Ok(Client { calls, end, _driving })
    }

    /// Asks: sends `request`, of which `tag` is said, as soon as there is a slot, and copies as much of the reply as `reply` has room for; what the server
    /// says of it, and how many bytes were copied. Dropped before that, it leaves its slot with the server until the reply has come, which nobody reads.
    ///
    /// # Errors
    /// [`Lost`] if there will be no reply.
    pub async fn call(
        &self,
        tag: u16,
        request: &[u8],
        reply: &mut [u8],
    ) -> std::result::Result<(u16, usize), Lost> {
        let mut call = pin!(self.calls.call(tag, request, reply));
        std::future::poll_fn(|context| {
            let polled = call.as_mut().poll(context);
            if polled.is_pending() {
                self.end.wrote(&self.calls);
            }
            polled
        })
        .await
    }

    /// What this end did.
    pub fn counts(&self) -> Counts {
        self.end.counts()
    }
}

impl Server {
    /// Meets the client at the other end of a socket, within a second or two. But descriptors that it should not have sent are closed here, and one of a file
    /// of FUSE for as long as whoever serves that likes: clients that may be hostile can occupy as many of the runtime's threads for blocking.
    ///
    /// # Panics
    /// Outside of a runtime that has I/O enabled.
    ///
    /// # Errors
    /// As [`linux::Server::over`](super::Server::over), and if the client's end is not woken by an [eventfd](Notice::Eventfd).
    pub async fn over(link: UnixStream, limits: &Limits) -> Result<Server> {
        let limits = Limits { notice: Some(Notice::Eventfd), ..*limits };
        let (met, patience) = met(link, limits.patience, move |link| meeting::answer(link, &limits)).await?;
        let incoming = Incoming::over(server::Server::new(met.memory, met.geometry));
        let (end, _driving) = driven(&incoming, met.doorbell, patience)?;
        Ok(Server { incoming, end, _driving })
    }

    /// The next request; none when no more can come.
    pub async fn next(&self) -> Option<Request> {
        let request = self.incoming.next().await?;
        Some(Request { request, end: self.end.clone() })
    }

    /// Copies the beginning of a request, as far as there is room; how many bytes that were.
    ///
    /// # Panics
    /// If the request came to another end.
    pub fn read(&self, request: &Request, into: &mut [u8]) -> usize {
        self.incoming.read(&request.request, into)
    }

    /// Answers a request ([`answer`](server::Server::answer)).
    ///
    /// # Panics
    /// If the request came to another end; its client hears that it has no answer.
    pub fn answer(&self, mut request: Request, tag: u16, bytes: &[u8]) -> usize {
        let copied = self.incoming.answer_to(&mut request.request, tag, bytes);
        self.end.wrote(&self.incoming);
        copied
    }

    /// What this end did.
    pub fn counts(&self) -> Counts {
        self.end.counts()
    }
}

/// A request, to be [answered](Server::answer). Dropped without that, also by a task that panics or is
/// aborted, it is [given up](server::Server::give_up): its client is told that there is no answer, and has
/// its slot back.
#[must_use = "dropped, it has no answer"]
pub struct Request {
    request: coroutine::Request<Memory, Together>,
    end: Arc<End>,
}

impl core::fmt::Debug for Request {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.request.fmt(f)
    }
}

impl Request {
    /// Its slot: no two that are not answered have the same.
    pub fn slot(&self) -> u16 {
        self.request.slot()
    }

    /// What the client says of it.
    pub fn tag(&self) -> u16 {
        self.request.tag()
    }

    /// How many bytes it has.
    pub fn bytes(&self) -> usize {
        self.request.bytes()
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        if self.request.give_up() {
            self.end.wrote(self.request.incoming());
        }
    }
}

/// Does what blocks where that holds up nobody.
async fn blocking<T: Send + 'static>(does: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    spawn_blocking(does).await.map_err(|e| Error::system("meeting the other end", e))?
}

/// The meeting, and for how long to look before sleeping.
async fn met(
    link: UnixStream,
    patience: Option<Patience>,
    meets: impl FnOnce(UnixStream) -> Result<Met> + Send + 'static,
) -> Result<(Met, Patience)> {
    blocking(move || {
        let met = meets(link)?;
        Ok((met, patience.unwrap_or_else(Patience::measured)))
    })
    .await
}

/// Has a task drive that end.
fn driven<S: Shared + Clone + Send + 'static>(
    shared: &S,
    doorbell: Doorbell,
    patience: Patience,
) -> Result<(Arc<End>, Arc<Driving>)> {
    let ears = Ears::of(&doorbell)?;
    let end = Arc::new(End {
        doorbell,
        is_awake: AtomicBool::new(true),
        flushed: AtomicU64::new(u64::MAX),
        notices: AtomicU64::new(0),
        sleeps: AtomicU64::new(0),
    });
    let driver = Driver { shared: shared.clone(), end: end.clone(), ears, why: Stopped::Gone };
    let task = spawn(driver.run(patience));
    Ok((end, Arc::new(Driving(task.abort_handle()))))
}

/// What tokio watches.
struct Ears {
    rung: AsyncFd<OwnedFd>,
    link: AsyncFd<OwnedFd>,
}

impl Ears {
    fn of(doorbell: &Doorbell) -> Result<Ears> {
        let no_bell = AtomicU64::new(0);
        let Wakers::Descriptors(rung, link) = doorbell.wakers(&no_bell) else {
            return Err(Error::Input {
                place: "a client's greeting".into(),
                reason: "its end is to be woken by a futex, which tokio cannot await".into(),
                remedy: "have it ask for a channel with Notice::Eventfd".into(),
            });
        };
        let watched = |descriptor: io::Result<OwnedFd>| {
            const DOING: &str = "having tokio watch a channel";
            let descriptor = descriptor.map_err(|e| Error::system(DOING, e))?;
            // SAFETY: the AsyncFd owns the descriptor, which stays open and the same for as long.
            unsafe { AsyncFd::register_with_interest(descriptor, Interest::READABLE) }
                .map_err(|e| Error::system(DOING, e))
        };
        Ok(Ears { rung: watched(rung.try_clone())?, link: watched(link.try_clone().map(OwnedFd::from))? })
    }

    /// Until the bell was rung, or the other end has gone; whether this can go on.
    fn poll(&self, context: &mut Context<'_>) -> Poll<bool> {
        loop {
            let mut told = false;
            let mut is_rung = false;
            for (ear, rings) in [(&self.rung, true), (&self.link, false)] {
                match ear.poll_read_ready(context) {
                    Poll::Ready(Ok(mut guard)) => {
                        // Of what a client may write to the link nothing is read, and nothing is told but that it has ended.
                        is_rung |= rings || guard.ready().is_read_closed();
                        told = true;
                        guard.clear_ready();
                    }
                    // The runtime ends.
                    Poll::Ready(Err(_)) => return Poll::Ready(false),
                    Poll::Pending => {}
                }
            }
            match (told, is_rung) {
                (_, true) => return Poll::Ready(true),
                (true, false) => {}
                (false, false) => return Poll::Pending,
            }
        }
    }
}

/// After so many turns in vain it asks whether the other end is gone, a call of the kernel: who looks without end is told too.
const VAIN: u32 = 1 << 10;

/// What drives an end. Dropped, it tells who waits.
struct Driver<S: Shared> {
    shared: S,
    end: Arc<End>,
    ears: Ears,
    why: Stopped,
}

impl<S: Shared> Drop for Driver<S> {
    fn drop(&mut self) {
        self.shared.ends(self.why);
    }
}

impl<S: Shared> Driver<S> {
    async fn run(mut self, patience: Patience) {
        let mut looking = Use::default();
        while self.looks(&mut looking, patience).await && self.sleeps().await {}
    }

    /// Takes what comes until nothing has come for a while; whether more can.
    async fn looks(&mut self, looking: &mut Use, patience: Patience) -> bool {
        let doorbell = &self.end.doorbell;
        let is_tried = looking.is_tried();
        let mut vain_since = None;
        let mut vain = 0u32;
        loop {
            match self.shared.turn() {
                Err(violation) => {
                    self.why = violation.into();
                    return false;
                }
                Ok(true) => {
                    if vain_since.take().is_some() {
                        looking.had(true);
                    }
                }
                Ok(false) if doorbell.own().is_ended() => return false,
                Ok(false) => {
                    vain = vain.wrapping_add(1);
                    if vain.is_multiple_of(VAIN) {
                        // Seen in the next turn: it may have left something.
                        doorbell.is_gone();
                    }
                    let now = doorbell.now();
                    let since = *vain_since.get_or_insert(now);
                    if !is_tried || now.wrapping_sub(since) >= patience.spin {
                        looking.had(false);
                        return true;
                    }
                }
            }
            self.end.flushes(&self.shared);
            yield_now().await;
        }
    }

    /// Says that it sleeps, looks once more, and sleeps; whether this can go on.
    async fn sleeps(&mut self) -> bool {
        let end = &self.end;
        end.is_awake.store(false, Ordering::SeqCst);
        end.flushes(&self.shared);
        let is_there = self.shared.with(|ring| {
            ring.bell().ask();
            ring.has_some()
        });
        let mut goes_on = true;
        if !is_there {
            end.sleeps.fetch_add(1, Ordering::Relaxed);
            goes_on = std::future::poll_fn(|context| self.ears.poll(context)).await;
            end.doorbell.hears();
        }
        self.shared.with(|ring| ring.bell().withdraw());
        end.is_awake.store(true, Ordering::SeqCst);
        goes_on
    }
}
