//! Requests as they come, for tasks that answer them.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};

use super::kept::InOrder;
use super::line::{Line, Stands};
use super::{Alone, Shared, Sharing, Stopped};
use crate::ring::server::{self, Server};
use crate::ring::{Memory, Violation};

/// The server's end, shared by the tasks of a thread, or of several.
pub struct Incoming<M, S: Sharing = Alone>(S::Cell<Inner<M>>);

impl<M, S: Sharing> core::fmt::Debug for Incoming<M, S> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Incoming").finish_non_exhaustive()
    }
}

impl<M, S: Sharing> Clone for Incoming<M, S> {
    fn clone(&self) -> Incoming<M, S> {
        Incoming(self.0.clone())
    }
}

pub struct Inner<M> {
    server: Server<M>,
    came: VecDeque<server::Request>,
    waiting: Line,
    /// By which tasks were woken, for a while.
    kept: InOrder,
    is_over: bool,
}

impl<M: Memory> Incoming<M> {
    /// Requests that come to that end, for one thread.
    pub fn new(server: Server<M>) -> Incoming<M> {
        Incoming::over(server)
    }
}

impl<M: Memory, S: Sharing> Incoming<M, S> {
    /// Requests that come to that end.
    pub fn over(server: Server<M>) -> Incoming<M, S> {
        let slots = server.geometry().slots();
        Incoming(S::share(Inner {
            server,
            came: VecDeque::with_capacity(slots),
            waiting: Line::default(),
            kept: InOrder::new(slots),
            is_over: false,
        }))
    }

    /// The next request; none when no more can come.
    pub fn next(&self) -> Next<'_, M, S> {
        Next { incoming: self, ticket: None }
    }

    /// Copies the beginning of a request, as far as there is room; how many bytes that were.
    ///
    /// # Panics
    /// If the request came to another end.
    pub fn read(&self, request: &Request<M, S>, into: &mut [u8]) -> usize {
        let Some(ticket) = &request.ticket else { return 0 };
        S::with(&self.0, |inner| inner.server.read(ticket, into))
    }

    /// Answers a request ([`Server::answer`]).
    ///
    /// # Panics
    /// If the request came to another end; its client hears that it has no answer.
    pub fn answer(&self, mut request: Request<M, S>, tag: u16, bytes: &[u8]) -> usize {
        self.answer_to(&mut request, tag, bytes)
    }

    /// The same; what is left of the request does nothing more.
    pub(crate) fn answer_to(&self, request: &mut Request<M, S>, tag: u16, bytes: &[u8]) -> usize {
        let ticket = &mut request.ticket;
        let answered = S::with(&self.0, |inner| {
            let own = ticket.take_if(|ticket| inner.server.is_of(ticket))?;
            Some(inner.server.answer(own, tag, bytes))
        });
        answered.expect("the request came to another end: answer it there")
    }
}

/// A request that came to an end that tasks share, to be [answered](Incoming::answer). Dropped without that,
/// also by a task that panics or is itself dropped, it is [given up](Server::give_up): its client hears
/// that there is no answer, and has its slot back.
#[must_use = "dropped, it has no answer"]
pub struct Request<M: Memory, S: Sharing = Alone> {
    incoming: Incoming<M, S>,
    /// None when it was answered.
    ticket: Option<server::Request>,
}

impl<M: Memory, S: Sharing> Request<M, S> {
    /// Its slot: no two that are not answered have the same.
    pub fn slot(&self) -> u16 {
        self.ticket.as_ref().map_or(0, server::Request::slot)
    }

    /// What the client says of it.
    pub fn tag(&self) -> u16 {
        self.ticket.as_ref().map_or(0, server::Request::tag)
    }

    /// How many bytes it has.
    pub fn bytes(&self) -> usize {
        self.ticket.as_ref().map_or(0, server::Request::bytes)
    }

    /// Where it came.
    #[cfg(feature = "tokio")]
    pub(crate) fn incoming(&self) -> &Incoming<M, S> {
        &self.incoming
    }

    /// It has no answer, unless it has one already. Whether anything was written for that.
    #[inline]
    pub(crate) fn give_up(&mut self) -> bool {
        let ticket = self.ticket.take();
        ticket.map(|ticket| S::with(&self.incoming.0, |inner| inner.server.give_up(ticket))).is_some()
    }
}

impl<M: Memory, S: Sharing> Drop for Request<M, S> {
    #[inline]
    fn drop(&mut self) {
        self.give_up();
    }
}

impl<M: Memory, S: Sharing> fmt::Debug for Request<M, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.ticket.fmt(f)
    }
}

impl<M: Memory, S: Sharing> Shared for Incoming<M, S> {
    type End = Server<M>;

    fn turn(&self) -> Result<bool, Violation> {
        let (mut any, mut rung) = (false, None);
        loop {
            let kept = rung.take();
            let (drops, taken) = S::with(&self.0, |inner| (inner.keeps(kept), inner.takes(any)));
            drop(drops);
            match taken? {
                Taken::Nothing => return Ok(any),
                Taken::Outdated(waker) => {
                    drop(waker);
                    continue;
                }
                Taken::Unasked => {}
                Taken::Request(waker) => {
                    waker.wake_by_ref();
                    rung = Some(waker);
                }
            }
            any = true;
        }
    }

    fn ends(&self, _: Stopped) {
        let (wakers, kept): (Vec<Waker>, Vec<Waker>) = S::with(&self.0, |inner| {
            inner.is_over = true;
            let wakers = core::iter::from_fn(|| inner.waiting.call()).collect();
            (wakers, core::iter::from_fn(|| inner.kept.drops()).collect())
        });
        drop(kept);
        wakers.into_iter().for_each(Waker::wake);
    }

    fn with<T>(&self, does: impl FnOnce(&Server<M>) -> T) -> T {
        S::with(&self.0, |inner| does(&inner.server))
    }
}

impl<M: Memory> Inner<M> {
    /// Takes the next request, if there is one; whether `any` was taken before in this turn.
    fn takes(&mut self, any: bool) -> Result<Taken, Violation> {
        let Some(request) = self.server.take()? else {
            return Ok(self.kept.outdated(any).map_or(Taken::Nothing, Taken::Outdated));
        };
        self.came.push_back(request);
        Ok(self.waiting.call().map_or(Taken::Unasked, Taken::Request))
    }

    /// Keeps a waker, if it may be of use; the one that is to be dropped for it.
    fn keeps(&mut self, rung: Option<Waker>) -> Option<Waker> {
        let waker = rung?;
        if self.is_over { Some(waker) } else { self.kept.keeps(waker) }
    }

    /// One step of who waits with that ticket: what is to be done when this is not borrowed any more.
    fn step(&mut self, ticket: &mut Option<u64>, context: &Context<'_>, spare: &mut Option<Waker>) -> Step {
        let mut is_called = false;
        if let Some(number) = *ticket {
            match self.waiting.stands(number, context.waker()) {
                Stands::Waits => return Step::Waits(None),
                Stands::Otherwise => {
                    return match spare.take() {
                        Some(waker) => Step::Waits(Some(self.waiting.renew(number, waker))),
                        None => Step::Clones(None),
                    };
                }
                Stands::Called => {
                    *ticket = None;
                    self.waiting.serves();
                    is_called = true;
                }
            }
        }
        if is_called || self.is_over || self.waiting.leaves_one_of(self.came.len()) {
            let came = self.came.pop_front();
            if came.is_some() || self.is_over {
                return Step::Over(came);
            }
        }
        match spare.take().map_or_else(|| self.kept.has(context.waker()), Ok) {
            Ok(waker) => {
                *ticket = Some(self.waiting.join(waker));
                Step::Waits(None)
            }
            Err(drops) => Step::Clones(drops),
        }
    }
}

/// What was taken, and who is to be woken for it.
enum Taken {
    /// Nothing.
    Nothing,
    /// Nothing; but that waker was kept for long enough, and there may be more of them.
    Outdated(Waker),
    /// A request that nobody waits for.
    Unasked,
    /// A request that somebody waits for.
    Request(Waker),
}

/// What is to be done when nothing is borrowed any more: a waker's clone, drop and wake may come back to it.
enum Step {
    /// A clone of the waker is wanted; that other one is not needed.
    Clones(Option<Waker>),
    /// It waits; that waker is not needed.
    Waits(Option<Waker>),
    /// That came, or nothing comes any more.
    Over(Option<server::Request>),
}

/// The next request.
pub struct Next<'i, M: Memory, S: Sharing = Alone> {
    incoming: &'i Incoming<M, S>,
    ticket: Option<u64>,
}

impl<M: Memory, S: Sharing> core::fmt::Debug for Next<'_, M, S> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Next").field("ticket", &self.ticket).finish_non_exhaustive()
    }
}

impl<M: Memory, S: Sharing> Future for Next<'_, M, S> {
    type Output = Option<Request<M, S>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let next = &mut *self;
        let incoming = next.incoming;
        let mut spare: Option<Waker> = None;
        loop {
            match S::with(&incoming.0, |inner| inner.step(&mut next.ticket, context, &mut spare)) {
                Step::Clones(other) => {
                    drop(other);
                    spare = Some(context.waker().clone());
                }
                Step::Waits(waker) => {
                    drop(waker);
                    return Poll::Pending;
                }
                Step::Over(came) => {
                    let request = |ticket| Request { incoming: incoming.clone(), ticket: Some(ticket) };
                    return Poll::Ready(came.map(request));
                }
            }
        }
    }
}

impl<M: Memory, S: Sharing> Drop for Next<'_, M, S> {
    fn drop(&mut self) {
        let Some(ticket) = self.ticket else { return };
        let left = S::with(&self.incoming.0, |inner| inner.waiting.leave(ticket));
        left.settle();
    }
}
