//! How often each byte came, in the first million.

use tollway_entropy::engine::health::{Estimate, histogram, most_common_value};

/// As many bytes are counted: more would cost time, and say little more.
const MOST: u64 = 1_000_000;

/// Counts bytes.
pub struct Bytes {
    counts: [u64; 256],
    counted: u64,
}

impl Bytes {
    /// None yet.
    pub fn new() -> Bytes {
        Bytes { counts: [0; 256], counted: 0 }
    }

    /// A block, while there were fewer than a million bytes.
    pub fn add(&mut self, block: &[u8]) {
        if self.counted < MOST {
            self.counted += block.len() as u64;
            self.counts.iter_mut().zip(histogram(block)).for_each(|(all, more)| *all += more);
        }
    }

    /// How many were counted.
    pub fn counted(&self) -> u64 {
        self.counted
    }

    /// The most common value estimate; nothing without a block.
    pub fn estimate(&self) -> Option<Estimate> {
        most_common_value(&self.counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_million_bytes_are_counted() {
        let mut bytes = Bytes::new();
        assert_eq!((bytes.estimate(), bytes.counted()), (None, 0));
        (0..400).for_each(|_| bytes.add(&[7; 2500]));
        (0..400).for_each(|_| bytes.add(&[8; 2500]));
        let estimate = bytes.estimate().unwrap();
        assert_eq!((estimate.value, estimate.share, estimate.bits), (7, 1.0, 0.0));
        assert_eq!(bytes.counted(), 1_000_000);
    }
}
