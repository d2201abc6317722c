//! What a sector of a test file holds: which it is, how often it was written, and bytes that look random.
//!
//! The bytes are made of a number that stands before them, so that a sector can be checked whole, whoever wrote it; to
//! write a block again only the first two words of its sectors have to change. (fio's `scramble_buffers` does as much.)

use crate::engine::noise::noise;

/// Bytes of a sector: the least that a disk reads or writes.
pub const SECTOR: usize = 512;

const WORD: usize = 8;

/// Words of a sector before its bytes begin: its number, how often it was written, and what the rest is made of.
const HEAD: usize = 3;

/// The numbers that make a sector's bytes.
fn body(seed: u64) -> impl Iterator<Item = u64> {
    (HEAD as u64..).map(move |n| noise(seed.wrapping_add(n)))
}

/// Fills a block with noise, no sector of it like another; blocks of other seeds differ too.
pub fn fill(block: &mut [u8], seed: u64) {
    for (i, sector) in block.chunks_exact_mut(SECTOR).enumerate() {
        let seed = noise(seed).wrapping_add((i * SECTOR / WORD) as u64);
        put(sector, 2, seed);
        for (word, number) in sector.chunks_exact_mut(WORD).skip(HEAD).zip(body(seed)) {
            word.copy_from_slice(&number.to_le_bytes());
        }
    }
}

/// Makes a block that was filled, or read, the one that begins at sector `first`; `generations` has, for each of its sectors, of
/// which generation what is written comes to be.
pub fn stamp(block: &mut [u8], first: u64, generations: impl Iterator<Item = u32>) {
    for ((sector, number), generation) in block.chunks_exact_mut(SECTOR).zip(first..).zip(generations) {
        put(sector, 0, number);
        put(sector, 1, generation.into());
    }
}

/// Whether a sector says that it is this one.
#[inline]
pub fn bears(sector: &[u8], number: u64, generation: u32) -> bool {
    get(sector, 0) == Some(number) && get(sector, 1) == Some(generation.into())
}

/// Whether a sector is this one, and whole.
pub fn holds(sector: &[u8], number: u64, generation: u32) -> bool {
    let Some(seed) = get(sector, 2) else { return false };
    let words = sector.chunks_exact(WORD).skip(HEAD);
    sector.len() == SECTOR
        && bears(sector, number, generation)
        && words.zip(body(seed)).all(|(word, number)| *word == number.to_le_bytes())
}

#[inline]
fn put(sector: &mut [u8], word: usize, number: u64) {
    sector[word * WORD..][..WORD].copy_from_slice(&number.to_le_bytes());
}

#[inline]
fn get(sector: &[u8], word: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*sector.get(word * WORD..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn a_sector_of_another_place_or_time_or_that_is_damaged_is_told() {
        let mut block = [0; 4 * SECTOR];
        fill(&mut block, 7);
        stamp(&mut block, 40, [1, 2, 3, 4].into_iter());
        let third = &mut block[2 * SECTOR..][..SECTOR];
        assert!(holds(third, 42, 3) && bears(third, 42, 3));
        assert!(!holds(third, 41, 3) && !bears(third, 41, 3));
        assert!(!holds(third, 42, 2) && !bears(third, 42, 2));
        assert!(!holds(&third[..SECTOR - 8], 42, 3));
        for at in 0..SECTOR {
            third[at] ^= 0x10;
            assert!(!holds(third, 42, 3), "byte {at}");
            third[at] ^= 0x10;
        }
        assert!(!holds(&[0; SECTOR], 0, 0) && !holds(&[], 0, 0));
    }

    #[test]
    fn what_is_written_again_keeps_its_bytes_and_is_still_whole() {
        let mut block = [0; SECTOR];
        fill(&mut block, 1);
        stamp(&mut block, 5, [1].into_iter());
        let before = block;
        stamp(&mut block, 9, [2].into_iter());
        assert_eq!(before[16..], block[16..]);
        assert!(holds(&block, 9, 2));
    }

    #[test]
    fn no_words_are_twice_in_a_mebibyte() {
        let mut blocks = vec![0; 1 << 20];
        let (first, second) = blocks.split_at_mut(1 << 19);
        fill(first, 1);
        fill(second, 2);
        let words: HashSet<&[u8]> = blocks.chunks_exact(WORD).collect();
        // The first two words of each sector are not filled.
        assert_eq!(words.len(), (1 << 20) / WORD - 2 * (1 << 20) / SECTOR + 1);
    }
}
