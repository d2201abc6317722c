//! Requests as they come, for tasks that answer them.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};

use super::kept::InOrder;
use super::line::{Line, Stands};
use super::{Alone, Shared, Sharing, Stopped};
use crate::ring::server::{Request, Server};
use crate::ring::{Memory, Violation};

/// The server's end, shared by the tasks of a thread, or of several.
pub struct Incoming<M, S: Sharing = Alone>(S::Cell<Inner<M>>);

impl<M, S: Sharing> Clone for Incoming<M, S> {
    fn clone(&self) -> Incoming<M, S> {
        Incoming(self.0.clone())
    }
}

pub struct Inner<M> {
    server: Server<M>,
    came: VecDeque<Request>,
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
    pub fn read(&self, request: &Request, into: &mut [u8]) -> usize {
        S::with(&self.0, |inner| inner.server.read(request, into))
    }

    /// Answers a request ([`Server::answer`]).
    pub fn answer(&self, request: Request, tag: u16, bytes: &[u8]) -> usize {
        S::with(&self.0, |inner| inner.server.answer(request, tag, bytes))
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
    Over(Option<Request>),
}

/// The next request.
pub struct Next<'i, M: Memory, S: Sharing = Alone> {
    incoming: &'i Incoming<M, S>,
    ticket: Option<u64>,
}

impl<M: Memory, S: Sharing> Future for Next<'_, M, S> {
    type Output = Option<Request>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Request>> {
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
                Step::Over(came) => return Poll::Ready(came),
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
