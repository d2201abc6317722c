//! Steady states by elimination within a band: Grassmann, Taksar and Heyman (1985), *Regenerative Analysis and
//! Steady State Distributions for Markov Chains*, Operations Research 33(5). No number is ever subtracted.
//!
//! States are numbered anew first, breadth first over neighbours in either direction (Cuthill and McKee 1969), which
//! keeps rates of queues near the diagonal.

use super::Generator;

/// The most numbers that a band may hold (8 bytes each).
const MOST_ENTRIES: usize = 20_000_000;

/// The most multiplications that an elimination may take: some seconds.
const MOST_WORK: f64 = 4e9;

/// A chain in its band.
pub(super) struct Band {
    /// Rates from row to column, row after row, each from `width` columns before the diagonal to `width` after it.
    rates: Vec<f64>,
    width: usize,
    /// The chain's own number of each row.
    order: Vec<usize>,
}

impl Band {
    /// The chain, if its band is narrow enough.
    pub(super) fn new(generator: &Generator) -> Option<Self> {
        let order = order(generator);
        let mut place = vec![0; order.len()];
        order.iter().enumerate().for_each(|(new, old)| place[*old] = new);
        let distance = |old: usize| generator.row(old).map(|(to, _)| place[to].abs_diff(place[old])).max();
        let width = (0..generator.len()).filter_map(distance).max().unwrap_or(0);
        let columns = 2 * width + 1;
        let work = order.len() as f64 * (width * width) as f64;
        if order.len().saturating_mul(columns) > MOST_ENTRIES || work > MOST_WORK {
            return None;
        }
        let mut rates = vec![0.0; order.len() * columns];
        for (row, old) in order.iter().enumerate() {
            generator.row(*old).for_each(|(to, rate)| rates[row * columns + place[to] + width - row] = rate);
        }
        Some(Self { rates, width, order })
    }

    /// The probabilities, by the chain's own numbers.
    pub(super) fn steady_state(mut self) -> Vec<f64> {
        let (width, columns, states) = (self.width, 2 * self.width + 1, self.order.len());
        for last in (1..states).rev() {
            // The last state is taken out: whoever went there goes on to where it leads.
            let first = last.saturating_sub(width);
            let (before, from_last) = self.rates.split_at_mut(last * columns);
            let onward = &from_last[first + width - last..width];
            let leaving: f64 = onward.iter().sum();
            for row in first..last {
                let begin = row * columns;
                let to_last = begin + last + width - row;
                let share = before[to_last] / leaving;
                before[to_last] = share;
                if share > 0.0 {
                    let column = begin + first + width - row;
                    let row = &mut before[column..column + onward.len()];
                    row.iter_mut().zip(onward).for_each(|(rate, next)| *rate += share * next);
                }
            }
        }
        let mut weights: Vec<f64> = vec![1.0];
        for state in 1..states {
            let first = state.saturating_sub(width);
            let sources =
                (first..state).map(|row| weights[row] * self.rates[row * columns + state + width - row]);
            let weight: f64 = sources.sum();
            weights.push(weight);
            if weight > 1e200 {
                weights.iter_mut().for_each(|weight| *weight *= 1e-200);
            }
        }
        let sum: f64 = weights.iter().sum();
        let mut probabilities = vec![0.0; states];
        self.order.iter().zip(weights).for_each(|(old, weight)| probabilities[*old] = weight / sum);
        probabilities
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
