//! An operation as a future: from a place in line, through the kernel, to its result.

use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use super::Kernel;
use super::deed::{Came, Deed, Held};
use super::provided::Pool;
use super::queue::Queue;
use super::slot::Look;
use crate::coroutine::line::Stands;

/// An operation on its way.
pub(super) struct Flight<'k> {
    kernel: &'k Kernel,
    deed: Deed,
    stage: Stage,
}

/// How far it has come.
enum Stage {
    /// It was not polled yet; or it is over, with nothing held.
    Out(Held),
    /// It waits for a slot, with that ticket.
    InLine(u64, Held),
    /// It has that slot.
    Sent(u32),
}

impl<'k> Flight<'k> {
    pub fn new(kernel: &'k Kernel, deed: Deed, held: Held) -> Flight<'k> {
        Flight { kernel, deed, stage: Stage::Out(held) }
    }

    /// Who asks.
    pub fn kernel(&self) -> &'k Kernel {
        self.kernel
    }

    /// The ring's pieces, if it has any.
    pub fn pool(&self) -> Option<Rc<Pool>> {
        self.kernel.0.borrow().pool.clone()
    }

    /// Whether the kernel is not asked now.
    pub fn is_out(&self) -> bool {
        matches!(self.stage, Stage::Out(_))
    }

    /// Whether the kernel is not asked any more.
    pub fn is_stopped(&self) -> bool {
        self.kernel.0.borrow().stopped().is_some()
    }

    /// What came; with what it held if that was the last.
    pub fn poll(&mut self, context: &Context<'_>) -> Poll<(Came, Option<Held>)> {
        let mut spare: Option<Waker> = None;
        loop {
            let mut queue = self.kernel.0.borrow_mut();
            match &mut self.stage {
                Stage::Sent(at) => match (queue.look(*at, context.waker()), spare.take()) {
                    (Look::Came(came), waker) => {
                        drop(queue);
                        drop(waker);
                        return Poll::Ready((came, None));
                    }
                    (Look::Last(came, held, after), waker) => {
                        self.stage = Stage::Out(Held::default());
                        drop(queue);
                        drop(waker);
                        after.settle();
                        return Poll::Ready((came, Some(held)));
                    }
                    (Look::Waits, waker) => {
                        drop(queue);
                        drop(waker);
                        return Poll::Pending;
                    }
                    (Look::Otherwise, Some(waker)) => {
                        let old = queue.renew(*at, waker);
                        drop(queue);
                        drop(old);
                        return Poll::Pending;
                    }
                    (Look::Otherwise, None) => {}
                },
                Stage::InLine(ticket, held) => {
                    match (queue.full.stands(*ticket, context.waker()), spare.take()) {
                        (Stands::Waits, waker) => {
                            drop(queue);
                            drop(waker);
                            return Poll::Pending;
                        }
                        (Stands::Otherwise, Some(waker)) => {
                            let old = queue.full.renew(*ticket, waker);
                            drop(queue);
                            drop(old);
                            return Poll::Pending;
                        }
                        (Stands::Otherwise, None) => {}
                        (Stands::Called, None) => {}
                        (Stands::Called, Some(waker)) => {
                            queue.full.serves();
                            let held = std::mem::take(held);
                            if let Some(errno) = queue.stopped() {
                                self.stage = Stage::Out(Held::default());
                                drop(queue);
                                drop(waker);
                                return Poll::Ready((Came::failed(errno), Some(held)));
                            }
                            self.stage = begun(&mut queue, self.deed, held, waker, true);
                            return Poll::Pending;
                        }
                    }
                }
                Stage::Out(held) => {
                    if let Some(errno) = queue.stopped() {
                        let held = std::mem::take(held);
                        drop(queue);
                        return Poll::Ready((Came::failed(errno), Some(held)));
                    }
                    if let Some(waker) = spare.take() {
                        self.stage = begun(&mut queue, self.deed, std::mem::take(held), waker, false);
                        return Poll::Pending;
                    }
                }
            }
            drop(queue);
            spare = Some(context.waker().clone());
        }
    }

    /// Begins with another deed, with that held.
    pub fn goes_on(&mut self, deed: Deed, held: Held) {
        self.deed = deed;
        self.again(held);
    }

    /// Begins again, with that held.
    pub fn again(&mut self, held: Held) {
        debug_assert!(self.is_out());
        self.stage = Stage::Out(held);
    }
}

/// It has a slot, or stands in line.
fn begun(queue: &mut Queue, deed: Deed, held: Held, waker: Waker, is_called: bool) -> Stage {
    match queue.begin(deed, held, waker, is_called) {
        Ok(at) => Stage::Sent(at),
        Err((held, waker)) => Stage::InLine(queue.full.join(waker), held),
    }
}

impl Drop for Flight<'_> {
    fn drop(&mut self) {
        match self.stage {
            Stage::Out(_) => {}
            Stage::InLine(ticket, _) => {
                let left = self.kernel.0.borrow_mut().full.leave(ticket);
                left.settle();
            }
            Stage::Sent(at) => {
                loop {
                    let leftover = self.kernel.0.borrow_mut().leftover(at);
                    let Some(after) = leftover else { break };
                    after.settle();
                }
                let after = self.kernel.0.borrow_mut().forgets(at);
                after.settle();
            }
        }
    }
}

/// An operation of the kernel, to be awaited: it goes into the ring when it is first polled, and enters the kernel with all others of the same turn.
///
/// Dropped before its result has come, it is given up: the kernel is asked to, and what it may still read or write stays untouched
/// by anybody else until the kernel has said that it is done. Polled once more when its result has come, it asks anew, but of no file, buffer or pages.
pub struct Operation<'k, T> {
    pub(super) flight: Flight<'k>,
    pub(super) says: fn(Came, Held) -> io::Result<T>,
}

impl<T> core::fmt::Debug for Operation<'_, T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Operation").field("is_out", &self.flight.is_out()).finish_non_exhaustive()
    }
}

impl<T> Future for Operation<'_, T> {
    type Output = io::Result<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        self.flight.poll(context).map(|(came, held)| match held {
            Some(held) => (self.says)(came, held),
            // The ring was stopped meanwhile: there is no result, and the kernel may still have what was held.
            None => came.count().and(Err(io::Error::from_raw_os_error(libc::ECANCELED))),
        })
    }
}
