//! Advice on pages, of any length.

use std::io;
use std::ops::Range;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use super::Kernel;
use super::deed::{Advice, Deed, Held};
use super::flight::Flight;
use super::memory::Pages;

/// The most bytes that one entry names: its length has 32 bits, and what it named of more would be cut off silently. Whole pages, huge ones too.
const MOST: usize = 1 << 31;

/// What [`Kernel::madvise`] asks for, to be awaited; 2 GiB after 2 GiB.
///
/// Dropped before, it is given up as an [`Operation`](super::Operation) is.
pub struct Advising<'k> {
    flight: Flight<'k>,
    rest: Rest,
}

impl core::fmt::Debug for Advising<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Advising").field("rest", &self.rest.len).finish_non_exhaustive()
    }
}

/// Of what the kernel was not asked yet.
struct Rest {
    offset: usize,
    len: usize,
    advice: Advice,
}

impl Rest {
    /// The next piece of it.
    fn next(&mut self) -> Deed {
        let len = self.len.min(MOST);
        let piece = Deed::Advise { offset: self.offset, len: len as u32, advice: self.advice };
        self.offset += len;
        self.len -= len;
        piece
    }
}

impl<'k> Advising<'k> {
    pub(super) fn new(kernel: &'k Kernel, pages: &Pages, part: Range<usize>, advice: Advice) -> Advising<'k> {
        pages.must_have(&part);
        let mut rest = Rest { offset: part.start, len: part.len(), advice };
        Advising { flight: Flight::new(kernel, rest.next(), Held::pages(pages)), rest }
    }
}

impl Future for Advising<'_> {
    type Output = io::Result<()>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Advising { flight, rest } = &mut *self;
        loop {
            let (came, held) = ready!(flight.poll(context));
            came.count()?;
            match held {
                Some(held) if rest.len > 0 => flight.goes_on(rest.next(), held),
                Some(_) => return Poll::Ready(Ok(())),
                // The ring was stopped meanwhile, as for an operation.
                None => return Poll::Ready(Err(io::Error::from_raw_os_error(libc::ECANCELED))),
            }
        }
    }
}
