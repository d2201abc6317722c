//! The numbers that a caller sends and expects back: how it knows that every answer is the one to its question.

use tollway_core::{Error, Result};

/// The word that ends an exchange. No number of a [`Sequence`] equals it, nor twice a number.
pub(crate) const STOP: u32 = u32::MAX;

/// The largest number.
const MOST: u32 = (1 << 30) - 1;

const _: () = assert!(2 * MOST < STOP);

/// Numbers from 1 to 2^30 - 1, over and over, and what became of them.
#[derive(Debug, Default)]
pub(crate) struct Sequence {
    last: u32,
    wrong: u64,
    over: bool,
}

impl Sequence {
    /// The next number, or `None` once the exchange is over: whoever asks then would wait for ever.
    #[inline(always)]
    pub(crate) fn next(&mut self) -> Option<u32> {
        if self.over {
            self.wrong += 1;
            return None;
        }
        self.last = if self.last == MOST { 1 } else { self.last + 1 };
        Some(self.last)
    }

    /// Notes whether the right answer came.
    #[inline(always)]
    pub(crate) fn note(&mut self, right: bool) {
        self.wrong += u64::from(!right);
    }

    /// The other end is gone: nothing will be answered any more.
    #[cold]
    pub(crate) fn end(&mut self) {
        self.wrong += 1;
        self.over = true;
    }

    /// Whether all `asked` were answered rightly, and the server counted as many.
    pub(crate) fn verify(&self, asked: u64, served: u64) -> Result<()> {
        match self.wrong {
            0 if asked == served => Ok(()),
            0 => Err(Error::Wrong(format!("{asked} requests were made and {served} served"))),
            n => Err(Error::Wrong(format!("{n} of {asked} requests did not come back as they were sent"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_answer_or_count_is_told() {
        let mut s = Sequence::default();
        assert_eq!((s.next(), s.next()), (Some(1), Some(2)));
        assert!(s.verify(2, 2).is_ok());
        assert!(s.verify(2, 1).is_err());
        s.note(false);
        assert!(s.verify(2, 2).is_err());
    }

    #[test]
    fn an_exchange_that_is_over_asks_nothing_more() {
        let mut s = Sequence::default();
        s.end();
        assert_eq!(s.next(), None);
        assert!(s.verify(1, 1).is_err());
    }

    #[test]
    fn numbers_begin_again_at_one() {
        let mut s = Sequence { last: MOST - 1, ..Sequence::default() };
        assert_eq!((s.next(), s.next()), (Some(MOST), Some(1)));
    }
}
