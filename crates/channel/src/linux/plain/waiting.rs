//! Waiting for the turn: looks, gives its core away, sleeps.
//!
//! What is best depends on where the other end runs, which the turn tells: on another processor it answers while this one looks, and on the same
//! processor it cannot, so that to give the core away at once is the shortest way to it. Where neither helps it sleeps, and is woken by the other. To
//! look for as long as a wake-up costs costs at most twice what is best (see [`crate::wait`](super::wait)).

use core::time::Duration;

use super::atomic::AtomicU64;
use super::failed::Failed;
use super::ring::Memory;
use super::turn::{Told, Turn};
use super::wait::{Gone, Patience};

/// What an end needs of where it waits.
pub trait Sleeper {
    /// A clock that never goes back, in the units of [`Patience::spin`].
    fn now(&self) -> u64;

    /// Tells the processor that this is a loop that looks.
    fn relax(&self);

    /// Gives the core to who else wants it.
    fn give_way(&self);

    /// The processor of this moment plus 1, of which the lowest 16 bits are kept; 0 if that is not known.
    fn cpu(&self) -> u16;

    /// Whether the other end is known to be gone.
    fn is_gone(&self) -> bool;

    /// Sleeps while the word is that value, up to this time limit if there is one, but may return earlier.
    /// Which it is, is looked at after whatever a waker does before it
    /// [wakes](Sleeper::wake).
    ///
    /// # Errors
    /// [`Gone`] if the other end cannot wake it any more.
    fn sleep(&self, word: &AtomicU64, value: u64, at_most: Option<Duration>) -> Result<(), Gone>;

    /// Wakes who sleeps by that word.
    fn wake(&self, word: &AtomicU64);
}

/// How an end gave messages away and waited for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// How often it called the kernel to wake the other end: by a futex, or by each datagram.
    pub notices: u64,
    /// How often it gave its core away (sched_yield(2)).
    pub yields: u64,
    /// How often it called the kernel to sleep: in a futex, or until each datagram came, which may have been there.
    pub sleeps: u64,
}

/// So many looks are between two readings of the clock.
const LOOKS: u32 = 8;

/// So many readings of it, or times that the core was given away, are between two looks at how much time is
/// left, which reads another clock.
const TURNS: u32 = 256;

/// One end of a handoff.
#[derive(Debug)]
pub struct Waiting<M, S> {
    turn: Turn<M>,
    sleeper: S,
    patience: Patience,
    /// Where this end was when looking did not help, and the other when it handed the turn over.
    cpus: [u16; 2],
    counts: Counts,
}

impl<M: Memory, S: Sleeper> Waiting<M, S> {
    /// An end with these turns and that patience.
    pub fn new(turn: Turn<M>, sleeper: S, patience: Patience) -> Waiting<M, S> {
        Waiting { turn, sleeper, patience, cpus: [0; 2], counts: Counts::default() }
    }

    /// Hands the turn over with a message, and wakes the other end if it sleeps.
    ///
    /// # Errors
    /// [`Failed::TooLong`] and [`Failed::NotItsTurn`], and nothing was done; [`Failed::Broken`].
    #[inline]
    pub fn give(&mut self, tag: u16, bytes: &[u8]) -> Result<(), Failed> {
        if bytes.len() > self.turn.longest() {
            return Err(Failed::TooLong);
        }
        if !self.turn.is_own() {
            return Err(Failed::NotItsTurn);
        }
        if self.turn.pass(tag, bytes, self.cpus[0])? {
            self.sleeper.wake(self.turn.word());
            self.counts.notices += 1;
        }
        Ok(())
    }

    /// Waits for the turn, for as long as `left` says that there is time, without end if it says nothing; and
    /// copies the beginning of the message, as far as there is room: its tag, and how many bytes that were.
    ///
    /// # Errors
    /// [`Failed::NotItsTurn`] if it has the turn; [`Failed::Broken`]; [`Failed::Gone`] if the other end is no
    /// more and has not handed it over; [`Failed::TimedOut`].
    #[inline]
    pub fn take(
        &mut self,
        into: &mut [u8],
        mut left: impl FnMut() -> Option<Duration>,
    ) -> Result<(u16, usize), Failed> {
        if self.turn.is_own() {
            return Err(Failed::NotItsTurn);
        }
        let told = match self.turn.take()? {
            Some(told) => told,
            None => self.waits(&mut left)?,
        };
        self.cpus[1] = told.cpu;
        Ok((told.tag, self.turn.read(told, into)))
    }

    fn waits(&mut self, left: &mut impl FnMut() -> Option<Duration>) -> Result<Told, Failed> {
        let [own, other] = self.cpus;
        if own != other
            && let Some(told) = self.looks(left)?
        {
            return Ok(told);
        }
        // It may run elsewhere than it did: then looking helps, or does not any more, from the next time on.
        self.cpus[0] = self.sleeper.cpu();
        for turn in 1..=self.patience.yields {
            self.counts.yields += 1;
            self.sleeper.give_way();
            if let Some(told) = self.turn.take()? {
                return Ok(told);
            }
            if self.sleeper.is_gone() || (turn.is_multiple_of(TURNS) && left() == Some(Duration::ZERO)) {
                break;
            }
        }
        self.sleeps(left)
    }

    /// Looks for as long as it has patience, and the other end is there.
    fn looks(&mut self, left: &mut impl FnMut() -> Option<Duration>) -> Result<Option<Told>, Failed> {
        let begun = self.sleeper.now();
        let mut turn = 0u32;
        loop {
            for _ in 0..LOOKS {
                if let Some(told) = self.turn.take()? {
                    return Ok(Some(told));
                }
                self.sleeper.relax();
            }
            turn = turn.wrapping_add(1);
            let is_over = self.sleeper.now().wrapping_sub(begun) >= self.patience.spin;
            let mut is_late = || turn.is_multiple_of(TURNS) && left() == Some(Duration::ZERO);
            if is_over || self.sleeper.is_gone() || is_late() {
                return Ok(None);
            }
        }
    }

    #[cold]
    fn sleeps(&mut self, left: &mut impl FnMut() -> Option<Duration>) -> Result<Told, Failed> {
        loop {
            let at_most = left();
            if at_most == Some(Duration::ZERO) {
                return self.turn.take()?.ok_or(Failed::TimedOut);
            }
            let slept = match self.turn.says_that_it_sleeps() {
                Some((word, value)) => {
                    self.counts.sleeps += 1;
                    self.sleeper.sleep(word, value, at_most)
                }
                None => Ok(()),
            };
            match (self.turn.take()?, slept) {
                (Some(told), _) => return Ok(told),
                (None, Err(Gone)) => return Err(Failed::Gone),
                (None, Ok(())) => {}
            }
        }
    }

    /// The longest message, in bytes.
    pub fn longest(&self) -> usize {
        self.turn.longest()
    }

    /// How it handed turns over and waited for them.
    pub fn counts(&self) -> Counts {
        self.counts
    }
}
