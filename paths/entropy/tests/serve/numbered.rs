//! A source whose every word is another one, so that a word that comes twice, or never came, is seen.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tollway_entropy::engine::source::{Claim, Counts, Error, Source};

use super::pause::pause;

/// What all words have in their upper bytes: no memory holds that by chance.
const MARK: u64 = 0x7011_0000_0000_0000;

/// Words that count up, at a rate.
pub struct Numbered {
    next: Arc<AtomicU64>,
    /// Bytes a second.
    rate: u64,
    due: Instant,
    counts: Counts,
}

impl Numbered {
    pub fn new(rate: u64) -> Numbered {
        Numbered { next: Arc::default(), rate, due: Instant::now(), counts: Counts::default() }
    }

    /// One that begins with another word.
    pub fn starting(rate: u64, first: u64) -> Numbered {
        Numbered { next: Arc::new(first.into()), ..Numbered::new(rate) }
    }

    /// Another one that counts on where this one is: for another worker.
    pub fn another(&self) -> Numbered {
        Numbered { next: self.next.clone(), ..Numbered::new(self.rate) }
    }
}

/// The number of a word, if it is one of these.
pub fn number(word: u64) -> Option<u64> {
    (word & 0xffff_0000_0000_0000 == MARK).then_some(word & !MARK)
}

impl Source for Numbered {
    fn name(&self) -> &str {
        "numbered"
    }

    fn fill(&mut self, into: &mut [u8]) -> Result<(), Error> {
        let (words, rest) = into.as_chunks_mut::<8>();
        let first = self.next.fetch_add(words.len() as u64, Ordering::Relaxed);
        for (word, next) in words.iter_mut().zip(first..) {
            *word = (MARK | next).to_ne_bytes();
        }
        rest.fill(0);
        self.counts.draws += 1;
        self.counts.bytes += into.len() as u64;
        let nanoseconds = into.len() as u64 * 1_000_000_000;
        self.due = self.due.max(Instant::now() - Duration::from_millis(5));
        self.due += Duration::from_nanos(nanoseconds / self.rate);
        pause(self.due.saturating_duration_since(Instant::now()));
        Ok(())
    }

    fn counts(&self) -> Counts {
        self.counts
    }

    fn claim(&self) -> Claim {
        Claim { evenness: 0.0, entropy: 0.0 }
    }
}
