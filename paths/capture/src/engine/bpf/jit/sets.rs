//! A run of `jeq` that all go to the same place asks whether A is one of a set of constants. Four or more of them are
//! looked up in a table that has a place of its own for each (a perfect hash): one multiplication, one comparison and
//! one branch, however many there are.

/// Sets smaller than this are compared with one by one.
pub(super) const SMALLEST: usize = 4;
/// Larger ones are several tables.
pub(super) const LARGEST: usize = 64;
/// Tables have at most two to this many places.
const MOST_BITS: u32 = 12;

/// A table of constants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Table {
    /// The place of a value is the product with this, in 32 bits, …
    pub multiplier: u32,
    /// … shifted right by so many.
    pub shift: u32,
    /// The constants in their places; in the others one that belongs elsewhere, so that no value is found there.
    pub places: Vec<u32>,
}

impl Table {
    /// A table for different constants, at least two; `None` where no multiplier was found that keeps them apart.
    pub fn new(constants: &[u32]) -> Option<Table> {
        let first_bits = usize::BITS - constants.len().leading_zeros();
        // A multiplicative generator (Steele, Lea and Flood, 2014, SplitMix): the same tables for the same constants.
        let mut state = 0u64;
        let mut random = || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = state;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            (z ^ (z >> 31)) as u32 | 1
        };
        for bits in first_bits..=MOST_BITS {
            let shift = 32 - bits;
            for _ in 0..200 {
                let multiplier = random();
                if let Some(places) = place(constants, multiplier, shift) {
                    return Some(Table { multiplier, shift, places });
                }
            }
        }
        None
    }

    #[cfg(test)]
    fn has(&self, value: u32) -> bool {
        self.places[(value.wrapping_mul(self.multiplier) >> self.shift) as usize] == value
    }
}

fn place(constants: &[u32], multiplier: u32, shift: u32) -> Option<Vec<u32>> {
    let mut places = vec![None; 1 << (32 - shift)];
    let place_of = |constant: u32| (constant.wrapping_mul(multiplier) >> shift) as usize;
    for &constant in constants {
        if places[place_of(constant)].replace(constant).is_some() {
            return None;
        }
    }
    // Of two constants at least one does not belong to any given place.
    let elsewhere = |at: usize| constants.iter().copied().find(|c| place_of(*c) != at).unwrap_or(0);
    Some(places.into_iter().enumerate().map(|(at, p)| p.unwrap_or_else(|| elsewhere(at))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_its_constants_and_nothing_else() {
        for count in [2, 4, 5, 10, 33, LARGEST] {
            for spread in [1, 256, 0x0101_0101, 0x8000_0000_u32 / 64] {
                let constants: Vec<u32> = (0..count as u32).map(|i| i.wrapping_mul(spread)).collect();
                let Some(table) = Table::new(&constants) else { panic!("no table for {count} × {spread}") };
                let near = constants.iter().flat_map(|c| (0..32).map(move |bit| c ^ 1 << bit));
                for value in near.chain(constants.iter().copied()).chain(0..5000).chain([u32::MAX]) {
                    assert_eq!(table.has(value), constants.contains(&value), "{value} of {count} × {spread}");
                }
            }
        }
    }
}
