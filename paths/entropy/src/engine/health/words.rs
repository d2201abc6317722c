//! Words of 64 bits, as processors draw them: the same again, all zeros, all ones.

use super::repetition::Repetition;

/// Counts words in a row.
#[derive(Clone, Debug)]
pub struct Words {
    same: Repetition<u64>,
    constant_cutoff: u64,
    constant_run: u64,
    /// The beginning of a word.
    part: [u8; 8],
    parted: usize,
}

/// Runs that became too long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WordAlarms {
    /// Of the same word.
    pub same: u64,
    /// Of words with nothing but zeros or nothing but ones.
    pub constant: u64,
}

#[inline(always)]
fn is_constant(word: u64) -> bool {
    word == 0 || word == u64::MAX
}

impl Words {
    /// An alarm for so many equal words in a row (at least 2), and for so many constant ones (at least 1).
    pub fn new(same_cutoff: u64, constant_cutoff: u64) -> Self {
        Words {
            same: Repetition::new(same_cutoff),
            constant_cutoff,
            constant_run: 0,
            part: [0; 8],
            parted: 0,
        }
    }

    /// Forgets what was; the next byte begins a word.
    pub fn reset(&mut self) {
        self.same.reset();
        (self.constant_run, self.parted) = (0, 0);
    }

    /// The next bytes, of which every eight are a word.
    #[inline(always)]
    pub fn feed(&mut self, mut bytes: &[u8]) -> WordAlarms {
        let mut alarms = WordAlarms::default();
        if self.parted > 0 {
            let (now, later) = bytes.split_at(bytes.len().min(8 - self.parted));
            self.part[self.parted..][..now.len()].copy_from_slice(now);
            self.parted += now.len();
            bytes = later;
            if self.parted < 8 {
                return alarms;
            }
            self.parted = 0;
            self.word(u64::from_ne_bytes(self.part), &mut alarms);
        }
        let (words, rest) = bytes.as_chunks::<8>();
        self.words(words, &mut alarms);
        self.part[..rest.len()].copy_from_slice(rest);
        self.parted = rest.len();
        alarms
    }

    #[inline(always)]
    fn words(&mut self, words: &[[u8; 8]], alarms: &mut WordAlarms) {
        let Some((first, rest)) = words.split_first() else {
            return;
        };
        self.word(u64::from_ne_bytes(*first), alarms);
        let Some(last) = rest.last() else {
            return;
        };
        let conspicuous = words.iter().zip(rest).fold(0, |found, (before, word)| {
            let (before, word) = (u64::from_ne_bytes(*before), u64::from_ne_bytes(*word));
            found | u64::from(word == before) | u64::from(is_constant(word))
        });
        if conspicuous == 0 {
            self.same.begin(u64::from_ne_bytes(*last), 1);
            self.constant_run = 0;
        } else {
            rest.iter().for_each(|word| self.word(u64::from_ne_bytes(*word), alarms));
        }
    }

    #[inline(always)]
    fn word(&mut self, word: u64, alarms: &mut WordAlarms) {
        alarms.same += u64::from(self.same.sample(word));
        self.constant_run = if is_constant(word) { self.constant_run + 1 } else { 0 };
        alarms.constant += u64::from(self.constant_run == self.constant_cutoff);
    }
}
