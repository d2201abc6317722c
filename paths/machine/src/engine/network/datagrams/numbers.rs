//! Which of a row of numbers came: once, twice, out of turn, or not.

/// Of the numbers below the highest that came so many are remembered one by one: one from farther back is taken for new.
const REMEMBERED: u64 = 64;

/// Counts of numbers that come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Numbers {
    /// One more than the highest that came.
    end: u64,
    /// Bit n: whether the n-th below `end`, from 0 on, came.
    came: u64,
    different: u64,
    late: u64,
    doubled: u64,
}

impl Numbers {
    /// Takes down one that came.
    #[inline]
    pub fn came(&mut self, number: u64) {
        if number >= self.end {
            let ahead = number - self.end + 1;
            self.came = if ahead < REMEMBERED { self.came << ahead | 1 } else { 1 };
            self.end = number + 1;
            self.different += 1;
            return;
        }
        let bit = 1u64.checked_shl(u32::try_from(self.end - 1 - number).unwrap_or(u32::MAX));
        if bit.is_some_and(|bit| self.came & bit != 0) {
            self.doubled += 1;
            return;
        }
        self.came |= bit.unwrap_or_default();
        self.different += 1;
        self.late += 1;
    }

    /// How many different ones came.
    pub fn different(&self) -> u64 {
        self.different
    }

    /// How many of them came after a higher one.
    pub fn late(&self) -> u64 {
        self.late
    }

    /// How many came that had come before.
    pub fn doubled(&self) -> u64 {
        self.doubled
    }

    /// One more than the highest that came.
    pub fn end(&self) -> u64 {
        self.end
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn counts_are_those_of_a_set_where_nothing_is_later_than_is_remembered(
            steps in prop::collection::vec((0u64..200, 0u64..64), 0..300),
        ) {
            let (mut numbers, mut set) = (Numbers::default(), HashSet::new());
            let (mut high, mut late, mut doubled) = (0u64, 0, 0);
            for (ahead, back) in steps {
                let number = (high + ahead % 3).saturating_sub(back);
                numbers.came(number);
                if !set.insert(number) {
                    doubled += 1;
                } else if number < high {
                    late += 1;
                }
                high = high.max(number + 1);
            }
            prop_assert_eq!(numbers.different(), set.len() as u64);
            prop_assert_eq!((numbers.late(), numbers.doubled()), (late, doubled));
            prop_assert_eq!(numbers.end(), high);
        }
    }

    #[test]
    fn gaps_of_any_width_are_gaps() {
        let mut numbers = Numbers::default();
        for number in [0, 63, 64, 200, 199, 1 << 40, 199] {
            numbers.came(number);
        }
        assert_eq!((numbers.different(), numbers.late(), numbers.doubled()), (7, 2, 0));
    }
}
