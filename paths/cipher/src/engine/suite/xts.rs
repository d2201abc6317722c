//! AES in XTS (IEEE Std 1619-2007, 5): sectors. The library has the mode for AES-256 alone, and for bytes in one piece, as
//! sectors of disks mostly are. For all others its blocks are chained here, some at a time, on the stack: what a chunk is added to is
//! worked out first, and the library encrypts its blocks in one call, several at once in the processor: at 16 KiB that is 2.3 times as fast
//! as a call for each block, which is faster for a few.

use zeroize::Zeroize;

use super::Direction;
use super::aes::Key;
use super::bytes::{BLOCK, Cursor, Pair};
use super::context::{Context, Contexts, Mode};
use super::library::check;
use crate::engine::protocol::Status;

/// Blocks that are copied at once.
const CHUNK: usize = 64;

/// So many blocks are a few.
const FEW: usize = 12;

/// The longest data unit, in bytes: 2²⁰ blocks (5.1).
const LONGEST: usize = BLOCK << 20;

/// Two keys, in one direction.
pub(super) struct Xts {
    direction: Direction,
    /// For blocks alone.
    data: Key,
    /// For many of them.
    blocks: Contexts,
    /// Tweaks are encrypted both ways.
    tweak: Key,
    /// Of AES-256, for bytes in one piece.
    contexts: Option<Contexts>,
}

impl Xts {
    /// Of twice 16 or twice 32 bytes.
    ///
    /// # Errors
    /// There are more or less of them, or the halves are the same (FIPS 140-2 IG A.9 has that checked: the first blocks of a
    /// sector would be weak).
    pub(super) fn new(key: &[u8], direction: Direction) -> Result<Xts, Status> {
        let (data, tweak) = key.split_at(key.len() / 2);
        if !matches!(key.len(), 32 | 64) || data == tweak {
            return Err(Status::Err);
        }
        let contexts = (key.len() == 64).then(|| Contexts::new(Mode::Xts, key, direction)).transpose()?;
        let blocks = Contexts::new(Mode::Blocks, data, direction)?;
        let (data, tweak) = (Key::new(data, direction)?, Key::new(tweak, Direction::Encrypt)?);
        Ok(Xts { direction, data, blocks, tweak, contexts })
    }

    /// Does one data unit.
    ///
    /// # Errors
    /// It is shorter than a block, or longer than 2²⁰ of them.
    pub(super) fn run(&self, mut tweak: [u8; BLOCK], pair: &Pair<'_, '_>) -> Result<(), Status> {
        if !(BLOCK..=LONGEST).contains(&pair.len) {
            return Err(Status::Err);
        }
        if let ([_], [_], Some(contexts)) = (pair.source, pair.result, &self.contexts) {
            return contexts.with(&tweak, |context| {
                let mut done = 0;
                // SAFETY: `each` calls with valid memory that is the same or does not overlap: once, as it is in one piece.
                pair.each(|here, there, len| done = unsafe { context.update(here, there, len) });
                check(done)
            });
        }
        self.tweak.block(Direction::Encrypt, &mut tweak);
        let first = u128::from_le_bytes(tweak);
        let done = if pair.len < BLOCK * FEW {
            self.unit::<FEW>(None, first, pair)
        } else {
            self.blocks.with(&[], |blocks| self.unit::<CHUNK>(Some(blocks), first, pair))
        };
        tweak.zeroize();
        done
    }

    /// One data unit, from its first tweak on, so many blocks at once; by a call for each where there are no `blocks`.
    fn unit<const N: usize>(
        &self,
        mut blocks: Option<&mut Context>,
        mut tweak: u128,
        pair: &Pair<'_, '_>,
    ) -> Result<(), Status> {
        let (mut source, mut result) = (Cursor::new(pair.source), Cursor::new(pair.result));
        let mut chunk = [[0; BLOCK]; N];
        let mut tweaks = [0; N];
        let mut done = 1;
        let tail = pair.len % BLOCK;
        // The last whole block lends its end to a part of a block.
        let mut left = pair.len / BLOCK - usize::from(tail > 0);
        while left > 0 {
            let chunk = &mut chunk[..left.min(N)];
            source.read(chunk.as_flattened_mut());
            // One thing after the other: so blocks do not wait for each other.
            for (block, place) in chunk.iter_mut().zip(&mut tweaks) {
                *place = tweak;
                add(block, tweak);
                tweak = next(tweak);
            }
            match &mut blocks {
                Some(blocks) => {
                    let place = chunk.as_flattened_mut();
                    // SAFETY: whole blocks of ours, which are read and written in place.
                    done &= unsafe { blocks.update(place.as_ptr(), place.as_mut_ptr(), place.len()) };
                }
                None => chunk.iter_mut().for_each(|block| self.data.block(self.direction, block)),
            }
            chunk.iter_mut().zip(&tweaks).for_each(|(block, tweak)| add(block, *tweak));
            result.write(chunk.as_flattened());
            left -= chunk.len();
        }
        if tail > 0 {
            let Some((whole, [part, ..])) = chunk.split_first_mut() else { return Err(Status::Err) };
            source.read(whole);
            source.read(&mut part[..tail]);
            // Decrypted, the whole block is that of the second tweak (5.3.2, 5.4.2).
            let (first, second) = match self.direction {
                Direction::Encrypt => (tweak, next(tweak)),
                Direction::Decrypt => (next(tweak), tweak),
            };
            self.block(first, whole);
            part[tail..].copy_from_slice(&whole[tail..]);
            self.block(second, part);
            result.write(part);
            result.write(&whole[..tail]);
        }
        let used = pair.len.div_ceil(BLOCK).min(N);
        chunk[..used].as_flattened_mut().zeroize();
        tweaks[..used].zeroize();
        tweak.zeroize();
        check(done)
    }

    #[inline]
    fn block(&self, tweak: u128, block: &mut [u8; BLOCK]) {
        add(block, tweak);
        self.data.block(self.direction, block);
        add(block, tweak);
    }
}

#[inline]
fn add(block: &mut [u8; BLOCK], tweak: u128) {
    *block = (u128::from_le_bytes(*block) ^ tweak).to_le_bytes();
}

/// The tweak of the next block: times α in GF(2¹²⁸) (5.2).
#[inline]
fn next(tweak: u128) -> u128 {
    let carry = 0u128.wrapping_sub(tweak >> 127);
    tweak << 1 ^ carry & 0x87
}
