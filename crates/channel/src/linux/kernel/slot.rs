//! A place in the table of operations, and what is handed out of it.

use std::collections::VecDeque;
use std::rc::Rc;
use std::task::Waker;

use super::deed::{Came, Deed, Held};
use super::provided::Pool;

/// What an operation is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// There is none.
    Free,
    /// The kernel has it, or will.
    Sent,
    /// The kernel has it still, but nobody wants it any more.
    Dropped,
    /// The kernel is done with it.
    Done(i32, u32),
}

pub(super) struct Slot {
    pub state: State,
    pub deed: Deed,
    pub held: Held,
    pub waker: Option<Waker>,
    /// Completions of one that has several, but for the last.
    pub came: VecDeque<Came>,
    /// Which operation of this slot it is: a late request to cancel an earlier one does not meet it.
    pub age: u32,
}

impl Slot {
    /// Of no operation.
    pub fn free() -> Slot {
        Slot {
            state: State::Free,
            deed: Deed::Nop,
            held: Held::default(),
            waker: None,
            came: VecDeque::new(),
            age: 0,
        }
    }
}

/// What is done when nothing is borrowed any more.
#[derive(Default)]
pub(super) struct After {
    /// To be woken.
    pub wakes: Option<Waker>,
    /// To be dropped.
    pub drops: Option<Waker>,
    /// To be dropped, after what came has been disposed of.
    pub over: Option<(Deed, Came, Held)>,
    /// The same, of an operation that still goes on, without what it holds but its pool.
    pub piece: Option<(Rc<Pool>, Came)>,
}

impl After {
    pub fn settle(self) {
        if let Some((deed, came, held)) = self.over {
            deed.disposes(came, &held);
        }
        if let Some((pool, came)) = self.piece {
            Deed::ReceiveMany.disposes(came, &Held { pool: Some(pool), ..Held::default() });
        }
        drop(self.drops);
        self.wakes.into_iter().for_each(Waker::wake);
    }
}

/// How an operation stands.
pub(super) enum Look {
    /// That came, and there may be more.
    Came(Came),
    /// That came last, and its slot is free again.
    Last(Came, Held, After),
    /// It waits, and is woken by the waker that was asked about.
    Waits,
    /// It waits, but another waker is woken.
    Otherwise,
}
