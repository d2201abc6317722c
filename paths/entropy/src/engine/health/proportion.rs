//! The adaptive proportion test: SP 800-90B, section 4.4.2.

/// Samples of a window where a sample is a byte.
pub const WINDOW: usize = 512;

/// Counts how often a window has the sample that it began with.
#[derive(Clone, Debug)]
pub struct Proportion {
    cutoff: u32,
    /// The byte that the window began with, and how often it came.
    first: u8,
    count: u32,
    /// Bytes of the window so far.
    seen: usize,
}

/// So many equal bytes fit into a counter of eight bits.
const COUNTED_AT_ONCE: usize = 128;

impl Proportion {
    /// An alarm for every window that has its first byte so often.
    pub fn new(cutoff: u32) -> Self {
        Proportion { cutoff, first: 0, count: 0, seen: 0 }
    }

    /// Forgets what was.
    pub fn reset(&mut self) {
        *self = Proportion::new(self.cutoff);
    }

    /// The next bytes; how many windows came to the cut-off in them.
    #[inline(always)]
    pub fn feed(&mut self, mut bytes: &[u8]) -> u64 {
        let mut alarms = 0;
        while let Some(next) = bytes.first() {
            if self.seen == 0 {
                (self.first, self.count) = (*next, 0);
            }
            let (now, later) = bytes.split_at(bytes.len().min(WINDOW - self.seen));
            let before = self.count;
            self.count += count(now, self.first);
            alarms += u64::from(before < self.cutoff && self.count >= self.cutoff);
            self.seen = (self.seen + now.len()) % WINDOW;
            bytes = later;
        }
        alarms
    }
}

/// How often a byte is there.
#[inline(always)]
fn count(bytes: &[u8], wanted: u8) -> u32 {
    let (wholes, rest) = bytes.as_chunks::<COUNTED_AT_ONCE>();
    let few = |bytes: &[u8]| bytes.iter().map(|byte| u8::from(*byte == wanted)).sum::<u8>();
    wholes.iter().map(|whole| u32::from(few(whole))).sum::<u32>() + u32::from(few(rest))
}
