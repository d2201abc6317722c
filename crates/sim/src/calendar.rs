//! What happens next.
//!
//! Every cause of events (a source's next arrival, a server's completion, a timer) owns one slot with at most one
//! pending time. A tournament over the slots knows the earliest: to set a slot, its matches up to the root are played
//! again, as far as their winners change (Knuth, The Art of Computer Programming 3, section 5.4.1). Nothing moves in
//! memory, nothing is allocated, and what is pending can be moved or cancelled by its slot.
//!
//! At equal times, what was set first comes first.

/// Bits of a key for the slot's number.
const SLOT_BITS: u32 = 21;

/// The most often that times can be set.
pub(crate) const MOST_SET: u64 = 1 << (64 - SLOT_BITS);

/// The most slots.
pub(crate) const MOST_SLOTS: usize = 1 << SLOT_BITS;

/// Bits of +∞.
const NEVER: u64 = f64::INFINITY.to_bits();

/// The earliest of many pending times.
#[derive(Clone, Debug)]
pub(crate) struct Calendar {
    /// A binary tree without pointers: node 1 is the root, the children of node i are 2i and 2i + 1, the slots are its
    /// leaves. Siblings lie side by side: nodes 2i and 2i + 1 are pair i. Each key is the bits of a time, which sort as
    /// times do from 0 up, then the order in which times were set, then the slot; each inner node has the smaller key of
    /// its children.
    pairs: Vec<[u128; 2]>,
    leaves: usize,
    set: u64,
}

impl Calendar {
    /// With so many slots, none of them pending.
    pub(crate) fn new(slots: usize) -> Self {
        let leaves = slots.max(2).next_power_of_two();
        let mut calendar = Calendar { pairs: vec![[0; 2]; leaves], leaves, set: 0 };
        (0..leaves).for_each(|slot| *calendar.node(leaves + slot) = key(NEVER, slot as u64));
        calendar.play_all();
        calendar
    }

    /// Makes room for so many slots; what is pending stays.
    pub(crate) fn grow(&mut self, slots: usize) {
        if slots <= self.leaves {
            return;
        }
        let mut larger = Calendar::new(slots);
        larger.set = self.set;
        let (from, leaves) = (larger.leaves / 2, self.leaves / 2);
        larger.pairs[from..from + leaves].copy_from_slice(&self.pairs[leaves..]);
        larger.play_all();
        *self = larger;
    }

    fn node(&mut self, node: usize) -> &mut u128 {
        &mut self.pairs[node / 2][node % 2]
    }

    fn play_all(&mut self) {
        for node in (1..self.leaves).rev() {
            let [one, other] = self.pairs[node];
            *self.node(node) = one.min(other);
        }
    }

    /// Slots that there is room for.
    pub(crate) fn room(&self) -> usize {
        self.leaves
    }

    /// How often a time was set.
    pub(crate) fn times_set(&self) -> u64 {
        self.set
    }

    /// The earliest time and its slot; +∞ where nothing is pending.
    #[inline(always)]
    pub(crate) fn next(&self) -> (f64, usize) {
        let [one, other] = self.pairs[1];
        let key = if one < other { one } else { other };
        (f64::from_bits((key >> 64) as u64), key as usize & (MOST_SLOTS - 1))
    }

    /// Sets the slot's time, whether one was pending or not.
    #[inline(always)]
    pub(crate) fn set(&mut self, slot: usize, time: f64) {
        self.set += 1;
        self.put(slot, key(time.to_bits(), self.set << SLOT_BITS | slot as u64));
    }

    /// Nothing is pending in the slot any more.
    #[inline(always)]
    pub(crate) fn cancel(&mut self, slot: usize) {
        self.put(slot, key(NEVER, slot as u64));
    }

    /// The slot's time; +∞ where nothing is pending.
    pub(crate) fn time(&self, slot: usize) -> f64 {
        let node = self.leaves + slot;
        f64::from_bits((self.pairs[node / 2][node % 2] >> 64) as u64)
    }

    #[inline(always)]
    fn put(&mut self, slot: usize, key: u128) {
        let mut node = self.leaves + slot;
        let mut pair = &mut self.pairs[node / 2];
        pair[node % 2] = key;
        // The root's match is played when somebody asks.
        while node > 3 {
            node /= 2;
            let [one, other] = *pair;
            let winner = if one < other { one } else { other };
            pair = &mut self.pairs[node / 2];
            if pair[node % 2] == winner {
                return;
            }
            pair[node % 2] = winner;
        }
    }
}

#[inline(always)]
fn key(time: u64, rest: u64) -> u128 {
    u128::from(time) << 64 | u128::from(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn at_equal_times_what_was_set_first_comes_first() {
        let mut calendar = Calendar::new(5);
        for slot in [3, 0, 4, 1, 2] {
            calendar.set(slot, 1.0);
        }
        // Set again, it comes last.
        calendar.set(0, 1.0);
        let mut order = Vec::new();
        while let (time, slot) = calendar.next()
            && time < f64::INFINITY
        {
            order.push(slot);
            calendar.cancel(slot);
        }
        assert_eq!(order, [3, 4, 1, 2, 0]);
    }

    proptest! {
        #[test]
        fn it_agrees_with_a_sorted_list(
            slots in 1..40usize,
            steps in proptest::collection::vec((0..40usize, 0..4u8, 0..6u8), 0..300),
        ) {
            let mut calendar = Calendar::new(slots);
            let mut list: Vec<(f64, u64, usize)> = Vec::new();
            for (nth, (slot, what, time)) in steps.into_iter().enumerate() {
                let slot = slot % slots;
                list.retain(|entry| entry.2 != slot);
                match what {
                    0 => calendar.cancel(slot),
                    1 => {
                        calendar.cancel(slot);
                        calendar.grow(slots + nth);
                    }
                    _ => {
                        calendar.set(slot, f64::from(time));
                        list.push((f64::from(time), nth as u64, slot));
                    }
                }
                list.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
                match list.first() {
                    Some(first) => prop_assert_eq!(calendar.next(), (first.0, first.2)),
                    None => prop_assert_eq!(calendar.next().0, f64::INFINITY),
                }
            }
        }
    }
}
