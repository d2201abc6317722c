//! From a rule to a chain: which states can be reached, and at what rates.

use std::hash::Hash;

use indexmap::IndexSet;

use super::Generator;
use crate::{ModelError, Result};

/// The states that can be reached, in the order in which they were found, and the chain on their numbers.
#[derive(Clone, Debug)]
pub struct Explored<S> {
    /// State by number; the first is where it started.
    pub states: Vec<S>,
    /// The rates between them.
    pub generator: Generator,
}

/// Finds all states that can be reached from `start` by `moves`, which writes the next states of a state and the rates
/// at which they follow, per second. Rates to the same state add up; a move to the state itself is none.
///
/// # Errors
/// When there are more than `most` states, or a rate is negative or not finite.
pub fn explore<S: Clone + Eq + Hash>(
    start: S,
    most: usize,
    mut moves: impl FnMut(&S, &mut Vec<(S, f64)>),
) -> Result<Explored<S>> {
    try_explore(start, most, |state, next| {
        moves(state, next);
        Ok(())
    })
}

/// The same, by moves that may fail.
///
/// # Errors
/// The same, and those of `moves`.
pub(super) fn try_explore<S: Clone + Eq + Hash>(
    start: S,
    most: usize,
    mut moves: impl FnMut(&S, &mut Vec<(S, f64)>) -> Result<()>,
) -> Result<Explored<S>> {
    let failed = |reason: String| Err(ModelError::Numerical { method: "Markov chain", reason });
    let mut states = IndexSet::from([start]);
    let mut next = Vec::new();
    let mut row = Vec::new();
    let mut generator = Generator::default();
    while generator.len() < states.len() {
        let here = generator.len();
        moves(&states[here], &mut next)?;
        for (state, rate) in next.drain(..) {
            if !(rate >= 0.0 && rate.is_finite()) {
                return failed(format!("{rate} is no rate"));
            }
            if rate == 0.0 {
                continue;
            }
            let (number, _) = states.insert_full(state);
            if number == most {
                return failed(format!("there are more than {most} states"));
            }
            row.push((number, rate));
        }
        generator.push_row(&mut row);
    }
    Ok(Explored { states: states.into_iter().collect(), generator })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_come_in_the_order_of_their_discovery() {
        let found = explore(0u32, 10, |n, next| {
            next.extend([(n + 1, 0.5), (n + 1, 0.25), (*n, 7.0)].into_iter().filter(|(m, _)| *m < 4));
            next.push((0, f64::from(*n)));
        });
        let found = found.unwrap();
        assert_eq!(found.states, [0, 1, 2, 3]);
        assert_eq!(found.generator.row(1).collect::<Vec<_>>(), [(0, 1.0), (2, 0.75)]);
        assert_eq!(found.generator.exit_rate(2), 2.75);
    }

    #[test]
    fn too_many_states_and_no_rates_are_errors() {
        assert!(explore(0u64, 1000, |n, next| next.push((n + 1, 1.0))).is_err());
        for rate in [-1.0, f64::NAN, f64::INFINITY] {
            assert!(explore(0u64, 10, |_, next| next.push((1, rate))).is_err());
        }
    }
}
