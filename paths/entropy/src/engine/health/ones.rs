//! As many ones as zeros, or nearly.

use std::ops::RangeInclusive;

/// Bytes whose ones are counted together.
pub const WINDOW: usize = 4096;

/// Counts ones.
#[derive(Clone, Debug)]
pub struct Ones {
    allowed: RangeInclusive<u32>,
    count: u32,
    /// Bytes of the window so far.
    seen: usize,
}

impl Ones {
    /// An alarm for every window whose number of ones is outside.
    pub fn new(allowed: RangeInclusive<u32>) -> Self {
        Ones { allowed, count: 0, seen: 0 }
    }

    /// Forgets what was.
    pub fn reset(&mut self) {
        (self.count, self.seen) = (0, 0);
    }

    /// The next bytes; how many windows that end in them are to be alarmed about.
    #[inline(always)]
    pub fn feed(&mut self, mut bytes: &[u8]) -> u64 {
        let mut alarms = 0;
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(WINDOW - self.seen));
            self.count += count(now);
            self.seen += now.len();
            if self.seen == WINDOW {
                alarms += u64::from(!self.allowed.contains(&self.count));
                self.reset();
            }
            bytes = later;
        }
        alarms
    }
}

#[inline(always)]
fn count(bytes: &[u8]) -> u32 {
    let (words, rest) = bytes.as_chunks::<8>();
    let words: u32 = words.iter().map(|word| u64::from_ne_bytes(*word).count_ones()).sum();
    words + rest.iter().map(|byte| byte.count_ones()).sum::<u32>()
}
