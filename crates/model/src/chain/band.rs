//! Steady states by elimination within a band: Grassmann, Taksar and Heyman (1985), *Regenerative Analysis and
//! Steady State Distributions for Markov Chains*, Operations Research 33(5). No number is ever subtracted.
//!
//! States are numbered anew first, breadth first over neighbours in either direction (Cuthill and McKee 1969), which
//! keeps rates of queues near the diagonal.

use super::{Allowance, Generator};
use crate::Result;

/// The most numbers that may be kept (8 bytes each).
const MOST_ENTRIES: usize = 16_000_000;

/// A chain in its band.
pub(super) struct Band<'g> {
    generator: &'g Generator,
    /// The farthest that a rate is from the diagonal.
    width: usize,
    /// The chain's own number of each row.
    order: Vec<usize>,
    /// The row of each of the chain's own numbers.
    place: Vec<usize>,
}

impl<'g> Band<'g> {
    /// The chain, if its band is narrow enough for so many steps.
    pub(super) fn new(generator: &'g Generator, steps: f64) -> Option<Self> {
        let order = order(generator);
        let mut place = vec![0; order.len()];
        order.iter().enumerate().for_each(|(new, old)| place[*old] = new);
        let distance = |old: usize| generator.row(old).map(|(to, _)| place[to].abs_diff(place[old])).max();
        let width = (0..generator.len()).filter_map(distance).max().unwrap_or(0);
        let work = order.len() as f64 * (width * width) as f64;
        let narrow = order.len().saturating_mul(width) <= MOST_ENTRIES && work <= steps;
        narrow.then_some(Self { generator, width, order, place })
    }

    /// The probabilities, by the chain's own numbers.
    ///
    /// # Errors
    /// When the allowance ends.
    pub(super) fn steady_state(&self, allowance: &Allowance<'_>) -> Result<Vec<f64>> {
        let states = self.order.len();
        let shares = self.eliminate(allowance)?;
        let mut weights: Vec<f64> = vec![1.0];
        for state in 1..states {
            let first = state.saturating_sub(self.width);
            let shares = &shares[state * self.width..][..state - first];
            let weight: f64 = weights[first..].iter().zip(shares).map(|(weight, share)| weight * share).sum();
            weights.push(weight);
            if weight > 1e200 {
                weights.iter_mut().for_each(|weight| *weight *= 1e-200);
            }
        }
        let sum: f64 = weights.iter().sum();
        let mut probabilities = vec![0.0; states];
        self.order.iter().zip(weights).for_each(|(old, weight)| probabilities[*old] = weight / sum);
        Ok(probabilities)
    }

    /// Takes out one state after the other, the last one first: whoever went there goes on to where it leads. Answers, for
    /// each state and the `width` before it, with the rate from them over the rate at which it is left for them.
    fn eliminate(&self, allowance: &Allowance<'_>) -> Result<Vec<f64>> {
        let (width, states) = (self.width, self.order.len());
        let mut shares = vec![0.0; states * width];
        // Rows that an elimination still changes; each from `width` columns before the diagonal to as many after it.
        let columns = 2 * width + 1;
        let mut active = vec![0.0; (width + 1) * columns];
        let slot = |row: usize| (row % (width + 1)) * columns;
        let load = |active: &mut [f64], row: usize| {
            let dense = &mut active[slot(row)..][..columns];
            dense.fill(0.0);
            self.generator
                .row(self.order[row])
                .for_each(|(to, rate)| dense[self.place[to] + width - row] = rate);
        };
        (states.saturating_sub(width + 1)..states).for_each(|row| load(&mut active, row));
        let mut onward = vec![0.0; width];
        for last in (1..states).rev() {
            allowance.spend((width * width) as f64)?;
            let first = last.saturating_sub(width);
            let onward = &mut onward[..last - first];
            onward.copy_from_slice(&active[slot(last)..][first + width - last..width]);
            let leaving: f64 = onward.iter().sum();
            for row in first..last {
                let dense = &mut active[slot(row)..][..columns];
                let share = dense[last + width - row] / leaving;
                if share > 0.0 {
                    shares[last * width + row - first] = share;
                    let before = &mut dense[first + width - row..][..last - first];
                    before.iter_mut().zip(onward.iter()).for_each(|(rate, next)| *rate += share * next);
                }
            }
            // The row that was taken out makes room for the next one that will be changed.
            if last > width {
                load(&mut active, last - width - 1);
            }
        }
        Ok(shares)
    }
}

/// The states in the order in which a search over neighbours finds them, those with few neighbours first.
fn order(generator: &Generator) -> Vec<usize> {
    let mut neighbours = vec![Vec::new(); generator.len()];
    for state in 0..generator.len() {
        for (target, _) in generator.row(state) {
            neighbours[state].push(target);
            neighbours[target].push(state);
        }
    }
    let degrees: Vec<usize> = neighbours.iter().map(Vec::len).collect();
    let mut seen = vec![false; generator.len()];
    let mut order = Vec::with_capacity(generator.len());
    order.push(0);
    seen[0] = true;
    let mut next = 0;
    while next < order.len() {
        let found = &mut neighbours[order[next]];
        found.sort_unstable_by_key(|state| (degrees[*state], *state));
        for state in found.iter() {
            if !std::mem::replace(&mut seen[*state], true) {
                order.push(*state);
            }
        }
        next += 1;
    }
    order
}
