//! All tests that go over every byte, together.

use std::ops::AddAssign;

use super::Limits;
use super::ones::Ones;
use super::proportion::Proportion;
use super::recurrence::Recurrence;
use super::repetition::Repetition;
use super::words::Words;

/// A way in which a source shows that it has broken; [what each is](super).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the module's table has them")]
pub enum Test {
    Repetition,
    Proportion,
    Ones,
    Words,
    Constant,
    Recurrence,
    Rate,
    Supply,
}

impl Test {
    /// Each once.
    pub const ALL: [Test; 8] = [
        Test::Repetition,
        Test::Proportion,
        Test::Ones,
        Test::Words,
        Test::Constant,
        Test::Recurrence,
        Test::Rate,
        Test::Supply,
    ];

    /// `repetition`, and so on.
    pub fn name(self) -> &'static str {
        match self {
            Test::Repetition => "repetition",
            Test::Proportion => "proportion",
            Test::Ones => "ones",
            Test::Words => "words",
            Test::Constant => "constant",
            Test::Recurrence => "recurrence",
            Test::Rate => "rate",
            Test::Supply => "supply",
        }
    }

    /// What its alarm means, by these cut-offs.
    pub fn finding(self, limits: &Limits) -> String {
        match self {
            Test::Repetition => format!("the same byte came {} times in a row", limits.repetition),
            Test::Proportion => {
                format!("of 512 bytes {} were equal to the first", limits.proportion)
            }
            Test::Ones => format!(
                "4096 bytes had fewer than {} or more than {} ones",
                limits.ones.start(),
                limits.ones.end()
            ),
            Test::Words => format!("the same 64 bits came {} times in a row", limits.words),
            Test::Constant => {
                format!("64 bits were all zeros or all ones, {} times in a row", limits.constant)
            }
            Test::Recurrence => format!("{} bytes came again within 4096", limits.recurrence),
            Test::Rate => "it gave too few bytes a second".into(),
            Test::Supply => "it gave nothing".into(),
        }
    }
}

/// How many alarms each test raised.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Alarms([u64; Test::ALL.len()]);

impl Alarms {
    /// Those of one test.
    pub fn of(&self, test: Test) -> u64 {
        self.0[test as usize]
    }

    /// One more of that test.
    pub fn raise(&mut self, test: Test) {
        self.0[test as usize] += 1;
    }

    /// The first test, in the order of [`Test::ALL`], that raised any.
    pub fn first(&self) -> Option<Test> {
        Test::ALL.into_iter().find(|test| self.of(*test) > 0)
    }

    /// All of them.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }
}

impl AddAssign for Alarms {
    fn add_assign(&mut self, other: Alarms) {
        self.0.iter_mut().zip(other.0).for_each(|(mine, theirs)| *mine += theirs);
    }
}

/// The tests of every byte. In whatever portions bytes come, the alarms are the same.
#[derive(Clone, Debug)]
pub struct Continuous {
    repetition: Repetition<u8>,
    proportion: Proportion,
    ones: Ones,
    words: Words,
    recurrence: Recurrence,
    /// Whether this processor has AVX2 and POPCNT.
    wide: bool,
}

/// Bytes that one test after the other goes over: they stay in the first cache.
const BLOCK: usize = 4096;

impl Continuous {
    /// With these cut-offs; no byte has come yet.
    pub fn new(limits: &Limits) -> Self {
        Continuous {
            repetition: Repetition::new(limits.repetition),
            proportion: Proportion::new(limits.proportion),
            ones: Ones::new(limits.ones.clone()),
            words: Words::new(limits.words, limits.constant),
            recurrence: Recurrence::new(limits.recurrence),
            wide: is_x86_feature_detected!("avx2") && is_x86_feature_detected!("popcnt"),
        }
    }

    /// The same without wider vectors.
    #[cfg(test)]
    pub(super) fn narrow(self) -> Self {
        Continuous { wide: false, ..self }
    }

    /// Forgets every byte that came.
    pub fn reset(&mut self) {
        self.repetition.reset();
        self.proportion.reset();
        self.ones.reset();
        self.words.reset();
        self.recurrence.reset();
    }

    /// The next bytes, and the alarms that they raise.
    pub fn feed(&mut self, bytes: &[u8]) -> Alarms {
        let mut alarms = Alarms::default();
        for block in bytes.chunks(BLOCK) {
            alarms += if self.wide {
                // SAFETY: the processor was asked.
                unsafe { self.feed_wide(block) }
            } else {
                self.feed_block(block)
            };
        }
        alarms
    }

    /// The same, compiled for wider vectors.
    #[target_feature(enable = "avx2,popcnt")]
    fn feed_wide(&mut self, block: &[u8]) -> Alarms {
        self.feed_block(block)
    }

    #[inline(always)]
    fn feed_block(&mut self, block: &[u8]) -> Alarms {
        let words = self.words.feed(block);
        Alarms([
            self.repetition.feed(block),
            self.proportion.feed(block),
            self.ones.feed(block),
            words.same,
            words.constant,
            self.recurrence.feed(block),
            0,
            0,
        ])
    }
}
