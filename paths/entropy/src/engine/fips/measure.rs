//! How a block is counted, whatever the width of a vector: by planes of bits and how many bits of each are set.
//!
//! - **Runs.** W(k) counts the places at which k ones in a row begin: bits of x & x≪1 & … A run of length L has
//!   L − k + 1 such places, so W(k) − W(k+1) is the number of runs of length k or more, and W(k) − 2 W(k+1) + W(k+2)
//!   that of length k. Zeros likewise, by x | x≪1 | …
//! - **Poker.** The sum of squares of the 16 counts f(v) is, by Parseval, Σ F(m)² / 16 over all masks m of four bits, where
//!   F(m) = Σ f(v) (−1)^parity(v & m) = 5000 − 2 P(m), and P(m) counts the nibbles whose bits under m have odd
//!   parity. Four vectors are transposed into four planes, one for each bit of a nibble; the 15 parities are one XOR each. The
//!   planes themselves count the ones of the monobit test.
//! - **Long run.** 26 equal bits hold two whole bytes that are 00 or FF, which are looked for; only around such a pair
//!   bits are looked at.
//! - **Continuous run.** Words compared with those four bytes on.
//!
//! Behind the block the planes are padded with zeros. To windows of ones and to parities they add nothing; what they add to
//! windows of zeros is known from the block's last bits.

use super::lanes::{Fours, Lanes};
use super::{BLOCK_BITS, BLOCK_BYTES, Block, Counts, LONGEST_RUN, Runs};

/// Nibbles of a block.
const NIBBLES: i64 = BLOCK_BITS as i64 / 4;

/// Bytes of a block that whole vectors of any width cover; four more are left.
const WHOLE: usize = BLOCK_BYTES / 64 * 64;

/// Counts a block after the word `last`.
///
/// # Safety
/// The processor must have what `L` needs.
#[inline(always)]
pub(super) unsafe fn measure<L: Lanes>(block: &Block, last: u32) -> Counts {
    // SAFETY: by this function's own contract, for all three.
    let (ones, squares) = unsafe { poker::<L>(block) };
    // SAFETY: as above.
    let (zero_runs, one_runs) = unsafe { runs::<L>(block, ones) };
    // SAFETY: as above.
    let (long_run, repeats) = unsafe { repetitions::<L>(block, last) };
    Counts { ones, squares, zero_runs, one_runs, long_run, repeats }
}

/// Vectors come in groups of four, the last of which holds the rest of the block and zeros.
const fn groups<L: Lanes>() -> usize {
    BLOCK_BYTES.div_ceil(4 * L::BYTES)
}

/// The vector of this number.
///
/// # Safety
/// As of [`measure`].
#[inline(always)]
unsafe fn vector<L: Lanes>(block: &Block, number: usize) -> L {
    let at = number * L::BYTES;
    // SAFETY: the processor is the caller's promise; the branch sees to it that the vector lies in the block.
    unsafe {
        if at < WHOLE {
            L::load(block.as_ptr().add(at))
        } else if at == WHOLE {
            L::beginning(*block.last_chunk().expect("a block has four bytes"))
        } else {
            L::zero()
        }
    }
}

/// Four vectors.
///
/// # Safety
/// As of [`measure`].
#[inline(always)]
unsafe fn group<L: Lanes>(block: &Block, group: usize) -> [L; 4] {
    // SAFETY: by the caller's promise.
    unsafe {
        [
            vector(block, 4 * group),
            vector(block, 4 * group + 1),
            vector(block, 4 * group + 2),
            vector(block, 4 * group + 3),
        ]
    }
}

/// Each with the first bit on top.
///
/// # Safety
/// As of [`measure`].
#[inline(always)]
unsafe fn in_order<L: Lanes>([a, b, c, d]: [L; 4]) -> [L; 4] {
    // SAFETY: by the caller's promise.
    unsafe { [a.in_order(), b.in_order(), c.in_order(), d.in_order()] }
}

/// Ones, and the sum of squares of the nibbles' counts.
///
/// # Safety
/// As of [`measure`].
#[inline(always)]
unsafe fn poker<L: Lanes>(block: &Block) -> (u32, u32) {
    const { assert!(groups::<L>() <= L::CAPACITY) };
    // SAFETY: by the caller's promise, all that is called here.
    unsafe {
        let mut odd = [L::tally(); 15];
        for number in 0..groups::<L>() {
            let [a, b, c, d] = transposed(group::<L>(block, number));
            let (ab, cd) = (a.xor(b), c.xor(d));
            let parities = [
                a,
                b,
                c,
                d,
                ab,
                cd,
                a.xor(c),
                a.xor(d),
                b.xor(c),
                b.xor(d),
                ab.xor(c),
                ab.xor(d),
                a.xor(cd),
                b.xor(cd),
                ab.xor(cd),
            ];
            for (tally, plane) in odd.iter_mut().zip(parities) {
                L::count(tally, plane);
            }
        }
        let odd = L::totals(odd);
        let ones = odd[..4].iter().sum();
        let sum: i64 = odd.iter().map(|odd| (NIBBLES - 2 * i64::from(*odd)).pow(2)).sum();
        (ones, ((NIBBLES * NIBBLES + sum) / 16) as u32)
    }
}

/// The four bits of all nibbles, each in a vector of its own.
///
/// # Safety
/// As of [`measure`].
#[inline(always)]
unsafe fn transposed<L: Lanes>([w, x, y, z]: [L; 4]) -> [L; 4] {
    /// Every other bit, and every other pair of bits.
    const BITS: u64 = 0x5555_5555_5555_5555;
    const PAIRS: u64 = 0x3333_3333_3333_3333;
    // SAFETY: by the caller's promise.
    unsafe {
        let (bits, pairs) = (L::all(BITS), L::all(PAIRS));
        let (even_wx, odd_wx) = (bits.choose(w, x.left::<1>()), bits.choose(w.right::<1>(), x));
        let (even_yz, odd_yz) = (bits.choose(y, z.left::<1>()), bits.choose(y.right::<1>(), z));
        [
            pairs.choose(even_wx, even_yz.left::<2>()),
            pairs.choose(odd_wx, odd_yz.left::<2>()),
            pairs.choose(even_wx.right::<2>(), even_yz),
            pairs.choose(odd_wx.right::<2>(), odd_yz),
        ]
    }
}

/// Runs of zeros and of ones.
///
/// # Safety
/// As of [`measure`].
#[inline(always)]
unsafe fn runs<L: Lanes>(block: &Block, ones: u32) -> (Runs, Runs) {
    const { assert!(groups::<L>() <= Fours::<L>::CAPACITY) };
    // SAFETY: by the caller's promise, all that is called here.
    unsafe {
        // Of 2 to 7 bits: windows all of ones, and windows that are not all of zeros.
        let mut full = [Fours::<L>::new(); 6];
        let mut not_empty = [Fours::<L>::new(); 6];
        let mut here = in_order(group::<L>(block, 0));
        for number in 1..=groups::<L>() {
            // The group behind the last is zeros.
            let next = in_order(group::<L>(block, number));
            let after = [
                here[0].following(here[1]),
                here[1].following(here[2]),
                here[2].following(here[3]),
                here[3].following(next[0]),
            ];
            let (mut and, mut or) = (here, here);
            macro_rules! window {
                ($more:literal) => {{
                    for i in 0..4 {
                        let ahead = here[i].ahead::<$more>(after[i]);
                        and[i] = and[i].and(ahead);
                        or[i] = or[i].or(ahead);
                    }
                    full[$more - 1].count(and);
                    not_empty[$more - 1].count(or);
                }};
            }
            window!(1);
            window!(2);
            window!(3);
            window!(4);
            window!(5);
            window!(6);
            here = next;
        }
        let (full, not_empty) = (Fours::totals(full), Fours::totals(not_empty));
        let bits = BLOCK_BITS as u32;
        // Zeros at the block's end go on in the padding: so many windows of k+2 bits too many.
        let end = u32::from_be_bytes(*block.last_chunk().expect("a block has four bytes")).trailing_zeros();
        let zeros = std::array::from_fn(|k| bits - not_empty[k] - end.min(k as u32 + 1));
        (by_length(bits - ones, zeros), by_length(ones, full))
    }
}

/// Runs of each length, by the bits and by the windows of 2 to 7 bits.
#[inline(always)]
fn by_length(bits: u32, windows: [u32; 6]) -> Runs {
    let w = |k: usize| if k == 1 { bits } else { windows[k - 2] };
    let exact = |k| (w(k) + w(k + 2) - 2 * w(k + 1)) as u16;
    [exact(1), exact(2), exact(3), exact(4), exact(5), (w(6) - w(7)) as u16]
}

/// Whether there is a long run, and whether a word repeats the one before it.
///
/// # Safety
/// As of [`measure`].
#[inline(always)]
unsafe fn repetitions<L: Lanes>(block: &Block, last: u32) -> (bool, bool) {
    let first = u32::from_ne_bytes(*block.first_chunk().expect("a block has four bytes"));
    let mut repeats = first == last;
    // Pairs of bytes that begin in the last word are not looked for below.
    let mut long = has_long_run(&block[BLOCK_BYTES - 8..]);
    for at in (0..WHOLE).step_by(L::BYTES) {
        // SAFETY: the processor is the caller's promise; at most four bytes behind a vector are the block's last.
        unsafe {
            let from = block.as_ptr().add(at);
            let here = L::load(from);
            repeats |= L::has_equal_words(here, L::load(from.add(4)));
            if L::may_have_flat_pairs(here, L::load(from.add(1))) && !long {
                long = has_long_run(&block[at.saturating_sub(4)..(at + L::BYTES + 8).min(BLOCK_BYTES)]);
            }
        }
    }
    (long, repeats)
}

/// Whether there is a run of 26 bits in these bytes, whose number is a multiple of four: it is in one of the pairs of 32-bit words.
#[cold]
#[inline(never)]
fn has_long_run(bytes: &[u8]) -> bool {
    const { assert!(LONGEST_RUN == 25) };
    bytes.windows(8).step_by(4).any(|eight| {
        let bits = u64::from_be_bytes(eight.try_into().expect("eight bytes"));
        // Bits that are equal to the next one; the last has none.
        let equal = !(bits ^ bits << 1) & !1;
        let two = equal & equal << 1;
        let four = two & two << 2;
        let eight = four & four << 4;
        let sixteen = eight & eight << 8;
        sixteen & eight << 16 & equal << 24 != 0
    })
}
