//! Counts the bits of planes that come four at a time.

use super::Lanes;

/// How many bits were set in planes.
///
/// Where that is cheaper, planes are added up first, as if each bit's place had a counter of its own: of four planes one
/// comes out whose bits weigh four. Source: Warren, Hacker's Delight, section 5-1, "counting 1-bits in an array"
/// (carry-save adders, by Harley and Seal).
#[derive(Clone, Copy)]
pub(in crate::engine::fips) struct Fours<L: Lanes> {
    ones: L,
    twos: L,
    /// Of what weighs four, or of all bits where carries are not saved.
    counted: L::Tally,
}

// SAFETY of all of it: callers promise what `Lanes` asks for.
#[allow(clippy::undocumented_unsafe_blocks)]
impl<L: Lanes> Fours<L> {
    /// So many groups of four can be counted.
    pub const CAPACITY: usize = if L::SAVES_CARRIES { L::CAPACITY } else { L::CAPACITY / 4 };

    /// Nothing is counted yet.
    ///
    /// # Safety
    /// As of [`Lanes`].
    #[inline(always)]
    pub unsafe fn new() -> Self {
        unsafe { Fours { ones: L::zero(), twos: L::zero(), counted: L::tally() } }
    }

    /// Counts four planes.
    ///
    /// # Safety
    /// As of [`Lanes`].
    #[inline(always)]
    pub unsafe fn count(&mut self, [a, b, c, d]: [L; 4]) {
        unsafe {
            if L::SAVES_CARRIES {
                let two = carried(&mut self.ones, a, b);
                let another = carried(&mut self.ones, c, d);
                L::count(&mut self.counted, carried(&mut self.twos, two, another));
            } else {
                L::count(&mut self.counted, a);
                L::count(&mut self.counted, b);
                L::count(&mut self.counted, c);
                L::count(&mut self.counted, d);
            }
        }
    }

    /// What was counted, which is less than 65,536 each.
    ///
    /// # Safety
    /// As of [`Lanes`].
    #[inline(always)]
    pub unsafe fn totals<const N: usize>(of: [Self; N]) -> [u32; N] {
        unsafe {
            let (mut ones, mut twos, mut counted) = ([L::tally(); N], [L::tally(); N], [L::tally(); N]);
            for i in 0..N {
                L::count(&mut ones[i], of[i].ones);
                L::count(&mut twos[i], of[i].twos);
                counted[i] = of[i].counted;
            }
            let mut totals = L::totals(counted);
            if L::SAVES_CARRIES {
                let (ones, twos) = (L::totals(ones), L::totals(twos));
                for i in 0..N {
                    totals[i] = 4 * totals[i] + 2 * twos[i] + ones[i];
                }
            }
            totals
        }
    }
}

/// Adds three planes: what is left in the first, what is carried is returned.
///
/// # Safety
/// As of [`Lanes`].
#[inline(always)]
unsafe fn carried<L: Lanes>(to: &mut L, a: L, b: L) -> L {
    // SAFETY: by the caller's promise.
    unsafe {
        let odd = a.xor(b);
        let carry = a.and(b).or(odd.and(*to));
        *to = to.xor(odd);
        carry
    }
}
