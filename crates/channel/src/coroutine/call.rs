//! A request as a future.

use alloc::vec::Vec;
use core::mem;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};

use super::kept::WithSlots;
use super::line::{Left, Line, Stands};
use super::{Alone, Shared, Sharing, Stopped};
use crate::ring::client::{Client, Refused, Reply};
use crate::ring::{Memory, Violation};

/// The client's end, shared by the tasks of a thread, or of several.
pub struct Calls<M, S: Sharing = Alone>(S::Cell<Inner<M>>);

impl<M, S: Sharing> core::fmt::Debug for Calls<M, S> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Calls").finish_non_exhaustive()
    }
}

impl<M, S: Sharing> Clone for Calls<M, S> {
    fn clone(&self) -> Calls<M, S> {
        Calls(self.0.clone())
    }
}

pub struct Inner<M> {
    client: Client<M>,
    slots: Vec<State>,
    /// By which whoever had a slot before was woken, for a while.
    kept: WithSlots,
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
    /// The server has given the request up: it was dropped there, or who had to answer it has failed.
    Unanswered,
    /// No replies come any more.
    Stopped(Stopped),
}

impl core::fmt::Display for Lost {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Lost::Long => f.write_str("the request is longer than a message can be"),
            Lost::Unanswered => f.write_str("the server has given the request up without an answer"),
            Lost::Stopped(stopped) => stopped.fmt(f),
        }
    }
}

impl core::error::Error for Lost {}

impl<M: Memory> Calls<M> {
    /// Requests of one thread by that end.
    pub fn new(client: Client<M>) -> Calls<M> {
        Calls::over(client)
    }
}

impl<M: Memory, S: Sharing> Calls<M, S> {
    /// Requests by that end. Replies to those that are on their way already are dropped when they come.
    pub fn over(client: Client<M>) -> Calls<M, S> {
        let slots = client.geometry().slots();
        Calls(S::share(Inner {
            client,
            slots: (0..slots).map(|_| State::Dropped).collect(),
            kept: WithSlots::new(slots),
            full: Line::default(),
            stopped: None,
        }))
    }

    /// Asks: sends `request`, of which `tag` is said, when it is first polled or as soon as there is a slot, and copies as much of the reply
    /// as `reply` has room for.
    pub fn call<'c>(&'c self, tag: u16, request: &'c [u8], reply: &'c mut [u8]) -> Call<'c, M, S> {
        Call { calls: self, tag, request, reply, stage: Stage::Out }
    }
}

impl<M: Memory, S: Sharing> Shared for Calls<M, S> {
    type End = Client<M>;

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
                Taken::Reply(slot, waker) => {
                    waker.wake_by_ref();
                    rung = Some((slot, waker));
                }
                Taken::Room(waker) => waker.wake(),
            }
            any = true;
        }
    }

    fn ends(&self, why: Stopped) {
        let (wakers, kept): (Vec<Waker>, Vec<Waker>) = S::with(&self.0, |inner| {
            inner.stopped.get_or_insert(why);
            let mut wakers: Vec<Waker> = core::iter::from_fn(|| inner.full.call()).collect();
            for state in inner.slots.iter_mut().filter(|state| matches!(state, State::Awaited(_))) {
                if let State::Awaited(waker) = mem::replace(state, State::Sent) {
                    wakers.push(waker);
                }
            }
            (wakers, core::iter::from_fn(|| inner.kept.drops()).collect())
        });
        drop(kept);
        wakers.into_iter().for_each(Waker::wake);
    }

    fn with<T>(&self, does: impl FnOnce(&Client<M>) -> T) -> T {
        S::with(&self.0, |inner| does(&inner.client))
    }
}

impl<M: Memory> Inner<M> {
    /// Takes the next reply, if there is one; whether `any` was taken before in this turn.
    fn takes(&mut self, any: bool) -> Result<Taken, Violation> {
        let Some(reply) = self.client.take()? else {
            return Ok(self.kept.outdated(any).map_or(Taken::Nothing, Taken::Outdated));
        };
        let slot = usize::from(reply.slot());
        Ok(match mem::replace(&mut self.slots[slot], State::None) {
            State::Dropped => self.releases(reply).map_or(Taken::Unasked, Taken::Room),
            state => {
                self.slots[slot] = State::Came(reply);
                if let State::Awaited(waker) = state { Taken::Reply(slot, waker) } else { Taken::Unasked }
            }
        })
    }

    /// Keeps the waker of whoever had that slot; the one that is to be dropped for it.
    fn keeps(&mut self, rung: Option<(usize, Waker)>) -> Option<Waker> {
        let (slot, waker) = rung?;
        if self.stopped.is_some() { Some(waker) } else { self.kept.keeps(slot, waker) }
    }

    /// The waker that was kept with the slot that is given next, if it wakes the same task as this one.
    fn has_kept(&mut self, waker: &Waker) -> Option<Waker> {
        let slot = self.client.next_slot()?;
        self.kept.has(slot, waker)
    }

    /// A slot is free again; who is to be woken for that.
    fn releases(&mut self, reply: Reply) -> Option<Waker> {
        self.client.release(reply);
        self.full.call()
    }
}

/// What was taken, and who is to be woken for it.
enum Taken {
    /// Nothing.
    Nothing,
    /// Nothing; but that waker was kept for long enough, and there may be more of them.
    Outdated(Waker),
    /// A reply that nobody waits for.
    Unasked,
    /// The reply in that slot.
    Reply(usize, Waker),
    /// A reply that nobody wants: its slot is free for who waits in line.
    Room(Waker),
}

/// A request, and its reply when it has come: what the server says of it, and how many bytes were copied. Polled once more after that, it asks anew.
pub struct Call<'c, M: Memory, S: Sharing = Alone> {
    calls: &'c Calls<M, S>,
    tag: u16,
    request: &'c [u8],
    reply: &'c mut [u8],
    stage: Stage,
}

impl<M: Memory, S: Sharing> core::fmt::Debug for Call<'_, M, S> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Call").field("tag", &self.tag).field("stage", &self.stage).finish_non_exhaustive()
    }
}

/// How far a call has come.
#[derive(Clone, Copy, Debug)]
enum Stage {
    /// It was not polled yet, or is over.
    Out,
    /// It waits for a slot, with that ticket.
    InLine(u64),
    /// It is with the server, in that slot.
    Sent(u16),
}

impl<M: Memory, S: Sharing> Call<'_, M, S> {
    /// Sends it if there is a slot; else it stands in line. The waker is given back if nothing is to be waited for.
    fn sends(&mut self, inner: &mut Inner<M>, waker: Waker, is_called: bool) -> Result<(), (Waker, Lost)> {
        if let Some(stopped) = inner.stopped {
            return Err((waker, Lost::Stopped(stopped)));
        }
        let geometry = inner.client.geometry();
        if self.request.len() > geometry.bytes() {
            return Err((waker, Lost::Long));
        }
        if !is_called && !inner.full.leaves_one_of(geometry.slots() - inner.client.in_flight()) {
            self.stage = Stage::InLine(inner.full.join(waker));
            return Ok(());
        }
        match inner.client.send(self.tag, self.request) {
            Ok(slot) => {
                self.stage = Stage::Sent(slot);
                inner.slots[usize::from(slot)] = State::Awaited(waker);
                Ok(())
            }
            Err(Refused::Full) => {
                self.stage = Stage::InLine(inner.full.join(waker));
                Ok(())
            }
            Err(Refused::Long) => Err((waker, Lost::Long)),
            Err(Refused::Broken(violation)) => Err((waker, Lost::Stopped(violation.into()))),
        }
    }

    /// One step, with the table borrowed: what is to be done when it is no longer.
    fn step(&mut self, inner: &mut Inner<M>, context: &Context<'_>, spare: &mut Option<Waker>) -> Step {
        let mut is_called = false;
        match self.stage {
            Stage::InLine(ticket) => match (inner.full.stands(ticket, context.waker()), spare.take()) {
                (Stands::Waits, waker) => return Step::Waits(waker),
                (Stands::Otherwise, Some(waker)) => {
                    return Step::Waits(Some(inner.full.renew(ticket, waker)));
                }
                (Stands::Otherwise, None) => return Step::Clones,
                (Stands::Called, None) => return Step::Clones,
                (Stands::Called, waker) => {
                    self.stage = Stage::Out;
                    inner.full.serves();
                    *spare = waker;
                    is_called = true;
                }
            },
            Stage::Out => {}
            Stage::Sent(slot) => return self.looks(slot, inner, context, spare.take()),
        }
        match spare.take().or_else(|| inner.has_kept(context.waker())) {
            None => Step::Clones,
            Some(waker) => match self.sends(inner, waker, is_called) {
                Ok(()) => Step::Waits(None),
                Err((waker, lost)) => Step::Over { answer: Err(lost), wakes: None, drops: Some(waker) },
            },
        }
    }

    /// Whether the reply has come to that slot.
    fn looks(
        &mut self,
        slot: u16,
        inner: &mut Inner<M>,
        context: &Context<'_>,
        spare: Option<Waker>,
    ) -> Step {
        let at = usize::from(slot);
        match mem::replace(&mut inner.slots[at], State::None) {
            State::Came(reply) => {
                let answer = if reply.is_unanswered() {
                    Err(Lost::Unanswered)
                } else {
                    Ok((reply.tag(), inner.client.read(&reply, self.reply)))
                };
                self.stage = Stage::Out;
                Step::Over { answer, wakes: inner.releases(reply), drops: spare }
            }
            state => {
                if let Some(stopped) = inner.stopped {
                    inner.slots[at] = state;
                    return Step::Over { answer: Err(Lost::Stopped(stopped)), wakes: None, drops: spare };
                }
                match (state, spare) {
                    (State::Awaited(waker), spare) if waker.will_wake(context.waker()) => {
                        inner.slots[at] = State::Awaited(waker);
                        Step::Waits(spare)
                    }
                    (state, None) => {
                        inner.slots[at] = state;
                        Step::Clones
                    }
                    (state, Some(waker)) => {
                        inner.slots[at] = State::Awaited(waker);
                        Step::Waits(if let State::Awaited(old) = state { Some(old) } else { None })
                    }
                }
            }
        }
    }
}

/// What is to be done when the table is not borrowed any more: a waker's clone, drop and wake may come back to it.
enum Step {
    /// A clone of the waker is wanted.
    Clones,
    /// It waits; that waker is not needed.
    Waits(Option<Waker>),
    /// It is over.
    Over { answer: Result<(u16, usize), Lost>, wakes: Option<Waker>, drops: Option<Waker> },
}

impl<M: Memory, S: Sharing> Future for Call<'_, M, S> {
    type Output = Result<(u16, usize), Lost>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let call = &mut *self;
        let calls = call.calls;
        let mut spare: Option<Waker> = None;
        loop {
            let step = S::with(&calls.0, |inner| call.step(inner, context, &mut spare));
            match step {
                Step::Clones => spare = Some(context.waker().clone()),
                Step::Waits(waker) => {
                    drop(waker);
                    return Poll::Pending;
                }
                Step::Over { answer, wakes, drops } => {
                    drop(drops);
                    wakes.into_iter().for_each(Waker::wake);
                    return Poll::Ready(answer);
                }
            }
        }
    }
}

impl<M: Memory, S: Sharing> Drop for Call<'_, M, S> {
    fn drop(&mut self) {
        let stage = self.stage;
        let left = S::with(&self.calls.0, |inner| match stage {
            Stage::Out => Left::default(),
            Stage::InLine(ticket) => inner.full.leave(ticket),
            Stage::Sent(slot) => match mem::replace(&mut inner.slots[usize::from(slot)], State::Dropped) {
                State::Came(reply) => {
                    inner.slots[usize::from(slot)] = State::None;
                    Left { own: None, next: inner.releases(reply) }
                }
                State::Awaited(waker) => Left { own: Some(waker), next: None },
                _ => Left::default(),
            },
        });
        left.settle();
    }
}
