//! What a receiver learns from frames' numbers: which came, which are missing, which came out of turn.

/// Numbers that are remembered: one that comes later than this many others cannot be told from a second copy.
const WINDOW: u64 = 1 << 16;
const WORDS: usize = WINDOW as usize / 64;

/// Follows the numbers of frames as they arrive.
#[derive(Clone, Debug)]
pub struct Sequence {
    /// One above the highest number seen.
    next: u64,
    seen: Box<[u64; WORDS]>,
    received: u64,
    reordered: u64,
    repeated: u64,
    too_old: u64,
}

impl Default for Sequence {
    fn default() -> Self {
        Sequence { next: 0, seen: Box::new([0; WORDS]), received: 0, reordered: 0, repeated: 0, too_old: 0 }
    }
}

impl Sequence {
    /// Nothing seen.
    pub fn new() -> Sequence {
        Sequence::default()
    }

    /// Sees a frame.
    pub fn see(&mut self, number: u64) {
        if number >= self.next {
            self.forget(number);
            self.next = number + 1;
            self.mark(number);
            self.received += 1;
        } else if self.next - number > WINDOW {
            self.too_old += 1;
        } else if self.seen[Self::word(number)] >> (number % 64) & 1 == 1 {
            self.repeated += 1;
        } else {
            self.mark(number);
            self.received += 1;
            self.reordered += 1;
        }
    }

    /// Different frames that came.
    pub fn received(&self) -> u64 {
        self.received
    }

    /// Those of them that came after a higher number (RFC 4737, section 3.3).
    pub fn reordered(&self) -> u64 {
        self.reordered
    }

    /// Frames that came once more.
    pub fn repeated(&self) -> u64 {
        self.repeated
    }

    /// Frames so late that it is not known whether they came before: 65,536 numbers behind. They are in no other figure.
    pub fn too_old(&self) -> u64 {
        self.too_old
    }

    /// How many of `sent` frames did not come, late ones among those.
    pub fn missing(&self, sent: u64) -> u64 {
        sent.saturating_sub(self.received)
    }

    fn word(number: u64) -> usize {
        (number % WINDOW / 64) as usize
    }

    fn mark(&mut self, number: u64) {
        self.seen[Self::word(number)] |= 1 << (number % 64);
    }

    /// Makes room for numbers up to this one.
    fn forget(&mut self, number: u64) {
        if number - self.next >= WINDOW {
            self.seen.fill(0);
            return;
        }
        for passed in self.next..=number {
            self.seen[Self::word(passed)] &= !(1 << (passed % 64));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loss_order_and_copies_are_told_apart() {
        let mut sequence = Sequence::new();
        for number in [0, 1, 3, 2, 2, 6, 70_000, 69_999, 6, 5_000, 10_000, 10_000] {
            sequence.see(number);
        }
        assert_eq!((sequence.received(), sequence.reordered(), sequence.repeated()), (9, 4, 1 + 1));
        assert_eq!((sequence.too_old(), sequence.missing(70_001)), (1, 69_992));
    }

    /// Against a set of all numbers, for a shuffled stream with copies and losses.
    #[test]
    fn it_agrees_with_a_memory_of_everything() {
        let (mut sequence, mut all, mut copies) = (Sequence::new(), std::collections::HashSet::new(), 0);
        let mut state = 1u64;
        for base in 0..200_000u64 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let number = base + (state >> 33) % 1000;
            sequence.see(number);
            copies += u64::from(!all.insert(number));
        }
        assert_eq!(
            (sequence.received(), sequence.repeated(), sequence.too_old()),
            (all.len() as u64, copies, 0)
        );
    }
}
