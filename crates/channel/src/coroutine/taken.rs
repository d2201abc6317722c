//! What came to an end that tasks share: all of it is taken in one turn, and who waits for it is woken, when the end is not borrowed.

use core::task::Waker;

use crate::ring::Violation;

/// What was taken, and who is to be woken for it.
pub(super) enum Taken<P> {
    /// Nothing.
    Nothing,
    /// Nothing; but that waker was kept for long enough, and there may be more of them.
    Outdated(Waker),
    /// What nobody waits for.
    Unasked,
    /// What somebody waits for, whose waker may be kept at that place.
    Awaited(P, Waker),
    /// What nobody wants: its slot is free for who waits in line.
    Room(Waker),
}

/// Takes until there is nothing; whether there was anything. With the end borrowed, `takes` keeps the waker that was rung last and takes one more, told whether
/// any was taken before: it hands out the waker that is to be dropped for the one it keeps, and what it took.
#[inline]
pub(super) fn all<P>(
    mut takes: impl FnMut(Option<(P, Waker)>, bool) -> (Option<Waker>, Result<Taken<P>, Violation>),
) -> Result<bool, Violation> {
    let (mut any, mut rung) = (false, None);
    loop {
        let (drops, taken) = takes(rung.take(), any);
        drop(drops);
        match taken? {
            Taken::Nothing => return Ok(any),
            Taken::Outdated(waker) => {
                drop(waker);
                continue;
            }
            Taken::Unasked => {}
            Taken::Awaited(place, waker) => {
                waker.wake_by_ref();
                rung = Some((place, waker));
            }
            Taken::Room(waker) => waker.wake(),
        }
        any = true;
    }
}
