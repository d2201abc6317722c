//! The arithmetic of a ring whose two sides count for ever, in 32 bits that wrap around.

/// A ring's size and one side's count. The other side's count is read from shared memory and believed only as far as it
/// can be true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Indices {
    size: u32,
    /// How far this side has come.
    mine: u32,
}

impl Indices {
    /// Of a ring of `size` entries, a power of two, whose counts stand at `start`.
    pub fn new(size: u32, start: u32) -> Indices {
        assert!(size.is_power_of_two());
        Indices { size, mine: start }
    }

    /// How many entries a producer has put there that were not consumed yet; `None` if its count cannot be.
    #[inline]
    pub fn filled(&self, producer: u32) -> Option<u32> {
        Some(producer.wrapping_sub(self.mine)).filter(|filled| *filled <= self.size)
    }

    /// How many entries are free for this side to produce, by how far the consumer has come; `None` if its count cannot
    /// be.
    #[inline]
    pub fn free(&self, consumer: u32) -> Option<u32> {
        self.size.checked_sub(self.mine.wrapping_sub(consumer))
    }

    /// Where the `i`th entry from here on is.
    #[inline]
    pub fn place(&self, i: u32) -> usize {
        (self.mine.wrapping_add(i) & (self.size - 1)) as usize
    }

    /// Goes on by so many entries and answers the count to publish.
    #[inline]
    pub fn advance(&mut self, by: u32) -> u32 {
        self.mine = self.mine.wrapping_add(by);
        self.mine
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    use proptest::prelude::*;

    proptest! {
        /// Both sides against a queue of the standard library, from any start, across the wrap.
        #[test]
        fn a_ring_is_a_queue(
            log in 0u32..6,
            start in prop_oneof![any::<u32>(), (u32::MAX - 40)..=u32::MAX],
            steps in prop::collection::vec((any::<bool>(), 0u32..40), 1..60),
        ) {
            let size = 1 << log;
            let (mut producer, mut consumer) = (Indices::new(size, start), Indices::new(size, start));
            let (mut produced, mut consumed) = (start, start);
            let mut memory = vec![0u32; size as usize];
            let (mut model, mut next) = (VecDeque::new(), 0u32);
            for (produce, count) in steps {
                if produce {
                    let free = producer.free(consumed).unwrap();
                    prop_assert_eq!(free as usize, size as usize - model.len());
                    let count = count.min(free);
                    for i in 0..count {
                        memory[producer.place(i)] = next;
                        model.push_back(next);
                        next += 1;
                    }
                    produced = producer.advance(count);
                } else {
                    let filled = consumer.filled(produced).unwrap();
                    prop_assert_eq!(filled as usize, model.len());
                    let count = count.min(filled);
                    for i in 0..count {
                        prop_assert_eq!(Some(memory[consumer.place(i)]), model.pop_front());
                    }
                    consumed = consumer.advance(count);
                }
            }
        }

        /// Whatever the other side writes, no more than the ring has is believed.
        #[test]
        fn a_count_that_cannot_be_is_refused(log in 0u32..12, mine: u32, theirs: u32) {
            let indices = Indices::new(1 << log, mine);
            prop_assert!(indices.filled(theirs).is_none_or(|filled| filled <= 1 << log));
            prop_assert!(indices.free(theirs).is_none_or(|free| free <= 1 << log));
            prop_assert!(indices.place(theirs) < 1 << log);
        }
    }
}
