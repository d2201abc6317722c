//! The repetition count test: SP 800-90B, section 4.4.1.

/// Counts how often a sample came in a row.
#[derive(Clone, Debug)]
pub struct Repetition<T> {
    cutoff: u64,
    last: Option<T>,
    run: u64,
}

/// A run of so many bytes has four equal ones at a multiple of four, wherever it begins.
const HOLDS_A_WORD: u64 = 7;

impl<T: Copy + PartialEq> Repetition<T> {
    /// An alarm for every run that becomes this long; at least 2.
    pub fn new(cutoff: u64) -> Self {
        Repetition { cutoff, last: None, run: 0 }
    }

    /// Forgets what was.
    pub fn reset(&mut self) {
        *self = Repetition::new(self.cutoff);
    }

    /// The next sample; whether it makes a run too long.
    #[inline(always)]
    pub fn sample(&mut self, sample: T) -> bool {
        if self.last == Some(sample) {
            self.run += 1;
            return self.run == self.cutoff;
        }
        self.begin(sample, 1);
        false
    }

    /// A run of `sample` has come so far, and is short.
    #[inline(always)]
    pub fn begin(&mut self, sample: T, run: u64) {
        (self.last, self.run) = (Some(sample), run);
    }

    /// The next samples, one by one; how many runs became too long.
    pub fn samples(&mut self, samples: impl IntoIterator<Item = T>) -> u64 {
        samples.into_iter().map(|sample| u64::from(self.sample(sample))).sum()
    }
}

impl Repetition<u8> {
    /// The next bytes; how many runs became too long.
    ///
    /// What a run could be in is found in passing over all of them; only then are they counted one by one.
    #[inline(always)]
    pub fn feed(&mut self, bytes: &[u8]) -> u64 {
        let lead = bytes.iter().take_while(|byte| Some(**byte) == self.last).count();
        let (lead, rest) = bytes.split_at(lead);
        let alarms = self.samples(lead.iter().copied());
        let Some(last) = rest.last().copied() else {
            return alarms;
        };
        if self.cutoff < HOLDS_A_WORD || has_equal_bytes(rest) {
            return alarms + self.samples(rest.iter().copied());
        }
        // No run in the rest is as long, so neither is the one that it ends with.
        self.begin(last, rest.iter().rev().take_while(|byte| **byte == last).count() as u64);
        alarms
    }
}

/// Whether four equal bytes are at a multiple of four.
#[inline(always)]
fn has_equal_bytes(bytes: &[u8]) -> bool {
    bytes.as_chunks::<4>().0.iter().fold(0, |found, bytes| {
        let word = u32::from_ne_bytes(*bytes);
        found | u32::from(word == word.rotate_left(8))
    }) != 0
}
