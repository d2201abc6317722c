//! Which task is next, against sets of numbers.

use std::collections::BTreeSet;

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use super::woken::{PRIORITIES, Turns, Woken};

/// Numbers of tasks that fill no word, one, and several words of words (4096 tasks each).
const TASKS: [usize; 7] = [1, 63, 64, 65, 4096, 4097, 13_000];

/// Many are woken, and then most of them served, so that there are full words and empty ones between them.
#[test]
fn the_next_is_the_first_after_the_one_before_of_the_first_priority() {
    let mut random = SmallRng::seed_from_u64(7);
    for tasks in TASKS {
        let (woken, mut turns) = (Woken::new(tasks), Turns::default());
        let mut sets: [BTreeSet<usize>; PRIORITIES] = Default::default();
        let mut after = [0; PRIORITIES];
        for step in 0..20_000 {
            if random.random_bool(if step / 500 % 2 == 0 { 0.9 } else { 0.1 }) {
                let (priority, number) = (random.random_range(0..PRIORITIES), random.random_range(0..tasks));
                sets[priority].insert(number);
                match random.random() {
                    true => woken.wake_here(priority, number),
                    false => drop(woken.wake_from_elsewhere(priority, number)),
                }
            } else {
                let first = sets.iter().position(|set| !set.is_empty());
                let next = first.map(|priority| {
                    let set = &mut sets[priority];
                    let number = *set.range(after[priority]..).next().or(set.first()).unwrap();
                    set.remove(&number);
                    after[priority] = number + 1;
                    number
                });
                assert_eq!(woken.is_any(), next.is_some(), "step {step} of {tasks} tasks");
                assert_eq!(woken.next(&mut turns), next, "step {step} of {tasks} tasks");
            }
        }
    }
}
