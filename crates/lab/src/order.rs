//! The order of trials: seeded, interleaved, the same for the same seed, so that an interrupted run can go on.

use std::collections::HashMap;

use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};

/// One trial in the order of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Slot {
    /// Which block.
    pub block: u32,
    /// Which of the points, by index.
    pub point: usize,
    /// Which of the sides, by index.
    pub side: usize,
    /// Which of the point's trials in this block.
    pub repeat: u32,
}

/// The trials of one block, in order.
///
/// Points and repeats are shuffled; the sides of one point and repeat stay next to each other, so that a comparison
/// pairs trials that saw the same machine. Which side goes first is drawn for a point's first repeat and alternates
/// from there: with an even number of repeats, whatever going first does to a trial cancels within the block.
pub fn block(seed: u64, block: u32, points: &[(usize, u32)], sides: usize) -> Vec<Slot> {
    let mut rng = StdRng::seed_from_u64(seed ^ (u64::from(block) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mut groups: Vec<(usize, u32)> =
        points.iter().flat_map(|(point, repeats)| (0..*repeats).map(move |r| (*point, r))).collect();
    groups.shuffle(&mut rng);
    let sides = sides.max(1);
    let coins: HashMap<usize, usize> = points.iter().map(|(p, _)| (*p, rng.random_range(0..sides))).collect();
    let mut slots = Vec::with_capacity(groups.len() * sides);
    for (point, repeat) in groups {
        let first = coins[&point] + repeat as usize;
        for turn in 0..sides {
            slots.push(Slot { block, point, side: (first + turn) % sides, repeat });
        }
    }
    slots
}

/// What a trial's actors draw of: the same for all points and sides, so that what is compared had the same load.
pub fn trial_seed(seed: u64, block: u32, repeat: u32) -> u64 {
    let number = u64::from(block) << 32 | u64::from(repeat);
    StdRng::seed_from_u64(seed ^ (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)).random()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    const POINTS: [(usize, u32); 3] = [(0, 2), (1, 2), (7, 3)];

    #[test]
    fn every_trial_stands_once_and_sides_are_neighbours() {
        let slots = block(1, 0, &POINTS, 2);
        assert_eq!(slots.len(), 14);
        assert_eq!(slots.iter().collect::<HashSet<_>>().len(), 14);
        for pair in slots.chunks(2) {
            assert_eq!((pair[0].point, pair[0].repeat), (pair[1].point, pair[1].repeat));
            assert_ne!(pair[0].side, pair[1].side);
        }
    }

    #[test]
    fn the_seed_decides_and_blocks_differ() {
        assert_eq!(block(5, 3, &POINTS, 1), block(5, 3, &POINTS, 1));
        let order = |seed, b| block(seed, b, &POINTS, 1).iter().map(|s| s.point).collect::<Vec<_>>();
        assert!((0..8).any(|b| order(5, b) != order(5, 8)), "blocks must not all have one order");
        assert!((0..8).any(|s| order(s, 0) != order(99, 0)), "seeds must not all give one order");
    }

    #[test]
    fn no_two_trials_of_a_point_draw_the_same_and_each_can_be_had_again() {
        let seeds: Vec<u64> = (0..4)
            .flat_map(|seed| (0..8).flat_map(move |block| (0..3).map(move |r| trial_seed(seed, block, r))))
            .collect();
        assert_eq!(seeds.iter().collect::<HashSet<_>>().len(), seeds.len());
        assert_eq!(seeds[17], trial_seed(0, 5, 2));
    }

    #[test]
    fn either_side_goes_first_about_as_often() {
        let points: Vec<_> = (0..400).map(|p| (p, 1)).collect();
        let first = block(3, 0, &points, 2).chunks(2).filter(|pair| pair[0].side == 0).count();
        assert!((140..=260).contains(&first), "{first} of 400");
        let slots = block(3, 0, &[(5, 2)], 2);
        assert_ne!(slots[0].side, slots[2].side, "two repeats in one order do not cancel");
    }
}
