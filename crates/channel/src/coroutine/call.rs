//! A request as a future.

use alloc::rc::Rc;
use alloc::vec::Vec;
use core::cell::RefCell;
use core::mem;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};

use super::line::Line;
use super::{Shared, Stopped};
use crate::ring::client::{Client, Refused, Reply};
use crate::ring::{Memory, Violation};

/// The client's end, shared by the tasks of a thread.
pub struct Calls<M>(Rc<RefCell<Inner<M>>>);

impl<M> Clone for Calls<M> {
    fn clone(&self) -> Calls<M> {
        Calls(self.0.clone())
    }
}

struct Inner<M> {
    client: Client<M>,
    slots: Vec<State>,
    /// Who waits until a slot is free.
    full: Line,
    /// Why no reply comes any more.
    stopped: Option<Stopped>,
}

/// Of the request in a slot.
enum State {
    /// There is none.
    None,
    /// It is with the server, and nobody has asked for the reply yet.
    Sent,
    /// Somebody waits for the reply.
    Awaited(Waker),
    /// The reply is there.
    Came(Reply),
    /// Nobody wants the reply any more.
    Dropped,
}

/// Why a call has no reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// The request is longer than a message can be.
    Long,
    /// No replies come any more.
    Stopped(Stopped),
}

impl core::fmt::Display for Lost {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Lost::Long => f.write_str("the request is longer than a message can be"),
            Lost::Stopped(stopped) => stopped.fmt(f),
        }
    }
}

impl core::error::Error for Lost {}

impl<M: Memory> Calls<M> {
    /// Requests by that end.
    pub fn new(client: Client<M>) -> Calls<M> {
        let slots = (0..client.geometry().slots()).map(|_| State::None).collect();
        Calls(Rc::new(RefCell::new(Inner { client, slots, full: Line::default(), stopped: None })))
    }

    /// Asks: sends `request`, of which `tag` is said, when it is first polled or as soon as there is a slot, and copies as much of the reply
    /// as `reply` has room for.
    pub fn call<'c>(&'c self, tag: u16, request: &'c [u8], reply: &'c mut [u8]) -> Call<'c, M> {
        Call { calls: self, tag, request, reply, stage: Stage::Out }
    }
}

impl<M: Memory> Shared for Calls<M> {
    type End = Client<M>;

    fn turn(&self) -> Result<bool, Violation> {
        let mut any = false;
        loop {
            let mut inner = self.0.borrow_mut();
            let Some(reply) = inner.client.take()? else { return Ok(any) };
            any = true;
            let slot = usize::from(reply.slot());
            let waker = match mem::replace(&mut inner.slots[slot], State::None) {
                State::Dropped => inner.releases(reply),
                state => {
                    inner.slots[slot] = State::Came(reply);
                    if let State::Awaited(waker) = state { Some(waker) } else { None }
                }
            };
            drop(inner);
            waker.into_iter().for_each(Waker::wake);
        }
    }

    fn ends(&self, why: Stopped) {
        let mut inner = self.0.borrow_mut();
        inner.stopped = Some(why);
        let mut wakers: Vec<Waker> = core::iter::from_fn(|| inner.full.call()).collect();
        for state in inner.slots.iter_mut().filter(|state| matches!(state, State::Awaited(_))) {
            if let State::Awaited(waker) = mem::replace(state, State::Sent) {
                wakers.push(waker);
            }
        }
        drop(inner);
        wakers.into_iter().for_each(Waker::wake);
    }

    fn with<T>(&self, does: impl FnOnce(&Client<M>) -> T) -> T {
        does(&self.0.borrow().client)
    }
}

impl<M: Memory> Inner<M> {
    /// A slot is free again; who is to be woken for that.
    fn releases(&mut self, reply: Reply) -> Option<Waker> {
        self.client.release(reply);
        self.full.call()
    }
}

/// A request, and its reply when it has come: what the server says of it, and how many bytes were copied.
pub struct Call<'c, M: Memory> {
    calls: &'c Calls<M>,
    tag: u16,
    request: &'c [u8],
    reply: &'c mut [u8],
    stage: Stage,
}

/// How far a call has come.
#[derive(Clone, Copy)]
enum Stage {
    /// It was not polled yet, or is over.
    Out,
    /// It waits for a slot, with that ticket.
    InLine(u64),
    /// It is with the server, in that slot.
    Sent(u16),
}

impl<M: Memory> Call<'_, M> {
    /// Sends it if there is a slot; else it stands in line.
    fn sends(&mut self, inner: &mut Inner<M>, waker: &Waker) -> Poll<Result<(u16, usize), Lost>> {
        if let Some(stopped) = inner.stopped {
            return Poll::Ready(Err(Lost::Stopped(stopped)));
        }
        match inner.client.send(self.tag, self.request) {
            Ok(slot) => {
                self.stage = Stage::Sent(slot);
                inner.slots[usize::from(slot)] = State::Awaited(waker.clone());
                Poll::Pending
            }
            Err(Refused::Full) => {
                self.stage = Stage::InLine(inner.full.join(waker.clone()));
                Poll::Pending
            }
            Err(Refused::Long) => Poll::Ready(Err(Lost::Long)),
            Err(Refused::Broken(violation)) => Poll::Ready(Err(Lost::Stopped(violation.into()))),
        }
    }
}

impl<M: Memory> Future for Call<'_, M> {
    type Output = Result<(u16, usize), Lost>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let call = &mut *self;
        let calls = call.calls;
        let mut inner = calls.0.borrow_mut();
        let slot = match call.stage {
            Stage::InLine(ticket) if inner.full.waits(ticket, context.waker()) => return Poll::Pending,
            Stage::Out | Stage::InLine(_) => {
                call.stage = Stage::Out;
                return call.sends(&mut inner, context.waker());
            }
            Stage::Sent(slot) => slot,
        };
        let (at, stopped) = (usize::from(slot), inner.stopped);
        match mem::replace(&mut inner.slots[at], State::None) {
            State::Came(reply) => {
                let answer = (reply.tag(), inner.client.read(&reply, call.reply));
                call.stage = Stage::Out;
                let waker = inner.releases(reply);
                drop(inner);
                waker.into_iter().for_each(Waker::wake);
                Poll::Ready(Ok(answer))
            }
            state => {
                if let Some(stopped) = stopped {
                    inner.slots[at] = state;
                    return Poll::Ready(Err(Lost::Stopped(stopped)));
                }
                inner.slots[at] = match state {
                    State::Awaited(waker) if waker.will_wake(context.waker()) => State::Awaited(waker),
                    _ => State::Awaited(context.waker().clone()),
                };
                Poll::Pending
            }
        }
    }
}

impl<M: Memory> Drop for Call<'_, M> {
    fn drop(&mut self) {
        let mut inner = self.calls.0.borrow_mut();
        let waker = match self.stage {
            Stage::Out => None,
            Stage::InLine(ticket) => inner.full.leave(ticket),
            Stage::Sent(slot) => match mem::replace(&mut inner.slots[usize::from(slot)], State::Dropped) {
                State::Came(reply) => {
                    inner.slots[usize::from(slot)] = State::None;
                    inner.releases(reply)
                }
                _ => None,
            },
        };
        drop(inner);
        waker.into_iter().for_each(Waker::wake);
    }
}
