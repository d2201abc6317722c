//! What is sent: blocks that differ in their first word, which is their number. The rest is the same in all and looks random, so
//! that to send a block costs no writing of it, and to take one for another, or a piece of one at another place, is noticed.

use crate::engine::noise::noise;

/// Bytes of the number.
pub const NUMBER: usize = size_of::<u64>();

/// One block in so many is looked at whole, the first one among them.
const WHOLE: u64 = 1024;

/// Bytes that are looked at of any other: at another place each time.
const SAMPLE: usize = 16;

/// A block. Where it is shorter than a number it has the lowest bytes of it.
#[derive(Clone, Debug)]
pub struct Block(Vec<u8>);

impl Block {
    /// Of so many bytes, with number 0.
    pub fn of(bytes: usize) -> Block {
        let words = (1..).map(noise);
        let mut block = Block(words.flat_map(u64::to_le_bytes).take(bytes).collect());
        block.number(0);
        block
    }

    /// Gives it a number.
    pub fn number(&mut self, number: u64) {
        let held = self.0.len().min(NUMBER);
        self.0[..held].copy_from_slice(&number.to_le_bytes()[..held]);
    }

    /// What is sent.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Bytes of it, which the caller may set after its number.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }

    /// Whether what came is the block of this number from byte `from` on, to judge by samples; `came` is as long as a block.
    pub fn agrees(&self, came: &[u8], number: u64, from: usize) -> bool {
        let length = self.0.len();
        let held = length.min(NUMBER);
        if came.len() != length || came[..held] != number.to_le_bytes()[..held] {
            return false;
        }
        let from = from.min(length);
        if number.is_multiple_of(WHOLE) || length - from <= SAMPLE {
            return came[from..] == self.0[from..];
        }
        let places = (length - from - SAMPLE + 1) as u64;
        // Odd and far from 1: it comes to all places in time.
        let at = from + (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) % places) as usize;
        came[at..at + SAMPLE] == self.0[at..at + SAMPLE]
    }

    /// Whether what came is the beginning of the block of this number.
    pub fn begins(&self, came: &[u8], number: u64) -> bool {
        let held = came.len().min(NUMBER);
        came[..held] == number.to_le_bytes()[..held] && came[held..] == self.0[held..came.len()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_agrees_with_itself_and_its_number_alone() {
        for bytes in [1, 7, 8, 9, 24, 25, 1000, 128 << 10] {
            let (mut sent, model) = (Block::of(bytes), Block::of(bytes));
            for number in [0, 1, 255, 1024, 77_777] {
                sent.number(number);
                assert!(model.agrees(sent.bytes(), number, NUMBER), "{bytes} {number}");
                assert!(model.begins(&sent.bytes()[..bytes / 2], number));
                assert!(!model.agrees(sent.bytes(), number + 1, NUMBER));
            }
        }
    }

    #[test]
    fn a_wrong_byte_is_found_by_and_by_and_at_once_where_all_is_looked_at() {
        let model = Block::of(4096);
        let mut sent = Block::of(4096);
        sent.bytes_mut()[3000] ^= 1;
        assert!(!model.agrees(sent.bytes(), 0, NUMBER));
        assert!(!model.begins(&sent.bytes()[..3001], 0));
        let found = (1..100_000).filter(|number| {
            sent.number(*number);
            !number.is_multiple_of(WHOLE) && !model.agrees(sent.bytes(), *number, NUMBER)
        });
        let found = found.count();
        // 16 of 4073 places have it.
        assert!((300..500).contains(&found), "{found}");
    }

    #[test]
    fn content_cannot_be_made_smaller_by_a_network_that_tries() {
        let block = Block::of(1 << 16);
        let mut seen = std::collections::HashSet::new();
        assert!(block.bytes().chunks(8).skip(1).all(|word| seen.insert(word)), "a word comes twice");
    }
}
