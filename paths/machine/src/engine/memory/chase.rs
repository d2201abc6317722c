//! How long a load takes that must have arrived before the next can be asked for: pointers around a random cycle.
//!
//! Each cache line of a region holds the address of the next one. The order is one cycle of all lines, drawn by Sattolo's algorithm
//! (S. Sattolo, "An algorithm to generate a random cyclic permutation", Information Processing Letters 22, 1986): nothing can be fetched ahead of
//! it, and almost every load is in another page than the last.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use tollway_core::{Error, Result};

use super::{Mapping, Pages, Zeroed};

/// Bytes of a node: a cache line.
pub const NODE: usize = 64;

/// A cache line with the address of the next.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Node {
    next: *const Node,
}

// SAFETY: zeroes are a pointer to nothing. Only `Cycle` follows it, so any thread may have it.
unsafe impl Zeroed for Node {}

/// A cycle of cache lines, and where one is in it.
#[derive(Debug)]
pub struct Cycle {
    nodes: Mapping<Node>,
    at: *const Node,
    hops: u64,
}

// SAFETY: `at` points into `nodes`, which moves along.
unsafe impl Send for Cycle {}

impl Cycle {
    /// A cycle through so many bytes, at least two lines of them, drawn by a seed.
    ///
    /// # Errors
    /// As of [`Mapping::new`]; [`Error::Missing`] if huge pages were asked for and none came.
    pub fn new(bytes: usize, pages: Pages, seed: u64) -> Result<Cycle> {
        let mut nodes = Mapping::<Node>::new((bytes / NODE).max(2), pages)?;
        let first = nodes.as_mut_ptr().cast_const();
        for i in 0..nodes.len() {
            nodes[i].next = first.wrapping_add(i);
        }
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        for i in (1..nodes.len()).rev() {
            // Of those before it, never itself: this is what makes one cycle of it. The product of a 64-bit number and the count, less 64
            // bits, favours no line by more than one in 2^38.
            let j = ((u128::from(rng.next_u64()) * i as u128) >> 64) as usize;
            (nodes[i].next, nodes[j].next) = (nodes[j].next, nodes[i].next);
        }
        if pages == Pages::Huge && nodes.huge()? == 0 {
            return Err(super::mapping::no_huge_pages("the kernel gave none"));
        }
        Ok(Cycle { at: first, nodes, hops: 0 })
    }

    /// Lines of it.
    pub fn lines(&self) -> usize {
        self.nodes.len()
    }

    /// Pointers that were followed so far.
    pub fn hops(&self) -> u64 {
        self.hops
    }

    /// Follows so many pointers.
    #[inline]
    pub fn hop<const HOPS: u32>(&mut self) {
        let mut at = self.at;
        for _ in 0..HOPS {
            // SAFETY: `at` points to a node of `nodes`: the first to begin with, and `new` made every `next` the address of one. Nothing
            // changes them but `new`.
            at = unsafe { (*at).next };
        }
        self.at = at;
        self.hops += u64::from(HOPS);
    }

    /// Whether as many pointers were followed as was asked for, and the cycle is whole: goes around once and counts.
    ///
    /// # Errors
    /// [`Error::Wrong`] if it closes too early, or where one is is not where so many hops lead.
    pub fn check(&self) -> Result<()> {
        let lines = self.lines() as u64;
        let first = self.nodes.as_ptr();
        let (mut at, mut reached) = (0, None);
        for hop in 0..lines {
            if hop == self.hops % lines {
                reached = Some(first.wrapping_add(at));
            }
            let next = self.nodes[at].next;
            at = (next as usize).wrapping_sub(first as usize) / NODE;
            if (at == 0) != (hop + 1 == lines) || at >= self.lines() {
                return Err(Error::Wrong(format!("the cycle closes after {} of {lines} hops", hop + 1)));
            }
        }
        if reached != Some(self.at) {
            return Err(Error::Wrong(format!("{} hops do not lead to where it is", self.hops)));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    fn order(cycle: &mut Cycle) -> Vec<usize> {
        let (first, lines) = (cycle.nodes.as_ptr() as usize, cycle.lines());
        let mut step = || {
            cycle.hop::<1>();
            (cycle.at as usize - first) / NODE
        };
        (0..lines).map(|_| step()).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn it_visits_every_line_once_and_comes_back(lines in 2usize..600, seed in any::<u64>()) {
            let mut cycle = Cycle::new(lines * NODE, Pages::Own, seed).unwrap();
            let order = order(&mut cycle);
            prop_assert_eq!(order.last(), Some(&0));
            prop_assert_eq!(order.iter().collect::<HashSet<_>>().len(), lines);
            cycle.check().unwrap();
            cycle.hop::<7>();
            cycle.check().unwrap();
        }
    }

    #[test]
    fn another_seed_is_another_order_and_the_same_is_the_same() {
        let of = |seed| order(&mut Cycle::new(4096, Pages::Own, seed).unwrap());
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
    }

    #[test]
    fn all_orders_of_four_lines_are_as_likely() {
        // There are 3! cycles of four; of 6000 draws each has 1000, give or take five standard deviations of 29.
        let mut seen = std::collections::HashMap::new();
        for seed in 0..6000 {
            *seen.entry(order(&mut Cycle::new(4 * NODE, Pages::Own, seed).unwrap())).or_insert(0) += 1;
        }
        assert_eq!(seen.len(), 6);
        assert!(seen.values().all(|n| (855..1145).contains(n)), "{seen:?}");
    }

    #[test]
    fn a_hop_too_few_and_a_cycle_that_closes_early_are_found() {
        let mut cycle = Cycle::new(100 * NODE, Pages::Own, 3).unwrap();
        cycle.hop::<50>();
        cycle.hops += 1;
        assert!(matches!(cycle.check(), Err(Error::Wrong(_))));
        let mut cycle = Cycle::new(100 * NODE, Pages::Own, 3).unwrap();
        (cycle.nodes[10].next, cycle.nodes[20].next) = (cycle.nodes[20].next, cycle.nodes[10].next);
        assert!(matches!(cycle.check(), Err(Error::Wrong(_))));
    }
}
