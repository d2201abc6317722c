//! Requests as they come, for tasks that answer them.

use alloc::collections::VecDeque;
use alloc::rc::Rc;
use alloc::vec::Vec;
use core::cell::RefCell;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};

use super::line::{Line, Stands};
use super::{Shared, Stopped};
use crate::ring::server::{Request, Server};
use crate::ring::{Memory, Violation};

/// The server's end, shared by the tasks of a thread.
pub struct Incoming<M>(Rc<RefCell<Inner<M>>>);

impl<M> Clone for Incoming<M> {
    fn clone(&self) -> Incoming<M> {
        Incoming(self.0.clone())
    }
}

struct Inner<M> {
    server: Server<M>,
    came: VecDeque<Request>,
    waiting: Line,
    is_over: bool,
}

impl<M: Memory> Incoming<M> {
    /// Requests that come to that end.
    pub fn new(server: Server<M>) -> Incoming<M> {
        let came = VecDeque::with_capacity(server.geometry().slots());
        Incoming(Rc::new(RefCell::new(Inner { server, came, waiting: Line::default(), is_over: false })))
    }

    /// The next request; none when no more can come.
    pub fn next(&self) -> Next<'_, M> {
        Next { incoming: self, ticket: None }
    }

    /// Copies the beginning of a request, as far as there is room; how many bytes that were.
    pub fn read(&self, request: &Request, into: &mut [u8]) -> usize {
        self.0.borrow().server.read(request, into)
    }

    /// Answers a request ([`Server::answer`]).
    pub fn answer(&self, request: Request, tag: u16, bytes: &[u8]) -> usize {
        self.0.borrow_mut().server.answer(request, tag, bytes)
    }
}

impl<M: Memory> Shared for Incoming<M> {
    type End = Server<M>;

    fn turn(&self) -> Result<bool, Violation> {
        let mut any = false;
        loop {
            let mut inner = self.0.borrow_mut();
            let Some(request) = inner.server.take()? else { return Ok(any) };
            any = true;
            inner.came.push_back(request);
            let waker = inner.waiting.call();
            drop(inner);
            waker.into_iter().for_each(Waker::wake);
        }
    }

    fn ends(&self, _: Stopped) {
        let mut inner = self.0.borrow_mut();
        inner.is_over = true;
        let wakers: Vec<Waker> = core::iter::from_fn(|| inner.waiting.call()).collect();
        drop(inner);
        wakers.into_iter().for_each(Waker::wake);
    }

    fn with<T>(&self, does: impl FnOnce(&Server<M>) -> T) -> T {
        does(&self.0.borrow().server)
    }
}

/// The next request.
pub struct Next<'i, M: Memory> {
    incoming: &'i Incoming<M>,
    ticket: Option<u64>,
}

impl<M: Memory> Future for Next<'_, M> {
    type Output = Option<Request>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Request>> {
        let next = &mut *self;
        // Cloned where nothing is borrowed; dropped there too, if it is not needed.
        let mut spare: Option<Waker> = None;
        loop {
            let mut inner = next.incoming.0.borrow_mut();
            let is_called =
                match next.ticket.map(|ticket| (ticket, inner.waiting.stands(ticket, context.waker()))) {
                    Some((_, Stands::Waits)) => {
                        drop(inner);
                        return Poll::Pending;
                    }
                    Some((ticket, Stands::Otherwise)) => {
                        let old = spare.take().map(|waker| inner.waiting.renew(ticket, waker));
                        drop(inner);
                        if old.is_some() {
                            return Poll::Pending;
                        }
                        spare = Some(context.waker().clone());
                        continue;
                    }
                    Some((_, Stands::Called)) => {
                        next.ticket = None;
                        inner.waiting.serves();
                        true
                    }
                    None => false,
                };
            if is_called || inner.is_over || inner.waiting.leaves_one_of(inner.came.len()) {
                let came = inner.came.pop_front();
                let is_over = inner.is_over;
                if came.is_some() || is_over {
                    drop(inner);
                    return Poll::Ready(came);
                }
            }
            match spare.take() {
                Some(waker) => {
                    next.ticket = Some(inner.waiting.join(waker));
                    return Poll::Pending;
                }
                None => {
                    drop(inner);
                    spare = Some(context.waker().clone());
                }
            }
        }
    }
}

impl<M: Memory> Drop for Next<'_, M> {
    fn drop(&mut self) {
        let Some(ticket) = self.ticket else { return };
        let left = self.incoming.0.borrow_mut().waiting.leave(ticket);
        left.settle();
    }
}
