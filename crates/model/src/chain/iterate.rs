//! Steady states of chains too wide to eliminate: Gauss–Seidel sweeps, with blocks of states weighed against each other
//! after each few of them (Koury, McAllister and Stewart 1984, *Iterative Methods for Computing Stationary
//! Distributions of Nearly Completely Decomposable Markov Chains*).

use super::band::Band;
use super::{Allowance, Generator};
use crate::{ModelError, Result};

/// How far flow into and out of states may differ, as a share of all flow.
const TOLERANCE: f64 = 1e-13;

/// Steps of an allowance for each rate of a sweep: it is somewhere in memory.
const STEPS: f64 = 2.0;

/// Sweeps, forwards and backwards, between aggregations.
const SWEEPS: usize = 4;

pub(super) fn steady_state(generator: &Generator, allowance: &Allowance<'_>) -> Result<Vec<f64>> {
    let states = generator.len();
    let sources = generator.transposed();
    let blocks = (states as f64).sqrt().ceil().min(400.0) as usize;
    let block = |state: usize| state * blocks / states;
    let mut pi = vec![1.0 / states as f64; states];
    let mut residual = f64::INFINITY;
    let sweep = STEPS * generator.entries() as f64;
    let rounds = (allowance.left() / ((2 * SWEEPS + 2) as f64 * sweep)).ceil() as usize;
    for _ in 0..rounds {
        allowance.spend(2.0 * sweep)?;
        aggregate(generator, &mut pi, blocks, block, allowance)?;
        for _ in 0..SWEEPS {
            allowance.spend(2.0 * sweep)?;
            (0..states).for_each(|state| relax(generator, &sources, &mut pi, state));
            (0..states).rev().for_each(|state| relax(generator, &sources, &mut pi, state));
        }
        let sum: f64 = pi.iter().sum();
        pi.iter_mut().for_each(|p| *p /= sum);
        residual = imbalance(generator, &sources, &pi);
        if residual <= TOLERANCE {
            return Ok(pi);
        }
    }
    Err(ModelError::Numerical {
        method: "Markov chain",
        reason: format!("{states} states are out of balance by {residual:.1e} after {rounds} rounds"),
    })
}

/// Puts one state into balance with the others.
fn relax(generator: &Generator, sources: &[Vec<(usize, f64)>], pi: &mut [f64], state: usize) {
    let inflow: f64 = sources[state].iter().map(|(source, rate)| pi[*source] * rate).sum();
    pi[state] = inflow / generator.exit_rate(state);
}

/// Scales blocks of states so that they are in balance with each other.
fn aggregate(
    generator: &Generator,
    pi: &mut [f64],
    blocks: usize,
    block: impl Fn(usize) -> usize,
    allowance: &Allowance<'_>,
) -> Result<()> {
    let mut mass = vec![0.0; blocks];
    pi.iter().enumerate().for_each(|(state, p)| mass[block(state)] += p);
    let mut flows = vec![0.0; blocks * blocks];
    for (state, p) in pi.iter().enumerate() {
        let from = block(state);
        generator.row(state).for_each(|(to, rate)| flows[from * blocks + block(to)] += p / mass[from] * rate);
    }
    let mut coarse = Generator::default();
    for row in flows.chunks(blocks) {
        let mut row = row.iter().copied().enumerate().filter(|(_, rate)| *rate > 0.0).collect();
        coarse.push_row(&mut row);
    }
    if let Some(band) = Band::new(&coarse, allowance.left()) {
        let weights = band.steady_state(allowance)?;
        if weights.iter().all(|weight| weight.is_finite()) {
            pi.iter_mut().enumerate().for_each(|(state, p)| *p *= weights[block(state)] / mass[block(state)]);
        }
    }
    Ok(())
}

/// Σ |inflow − outflow| over the sum of all flow.
fn imbalance(generator: &Generator, sources: &[Vec<(usize, f64)>], pi: &[f64]) -> f64 {
    let mut wrong = 0.0;
    let mut all = 0.0;
    for (state, sources) in sources.iter().enumerate() {
        let outflow = pi[state] * generator.exit_rate(state);
        let inflow: f64 = sources.iter().map(|(source, rate)| pi[*source] * rate).sum();
        wrong += (inflow - outflow).abs();
        all += outflow;
    }
    wrong / all
}

#[cfg(test)]
mod tests {
    use crate::chain::{Allowance, explore};

    #[test]
    fn sweeps_agree_with_elimination() {
        // Two M/M/1/K in series: slow, wide, and far from product form at the edges.
        let found = explore((0u32, 0u32), 10_000, |(a, b), next| {
            next.extend((*a < 25).then_some(((a + 1, *b), 0.9)));
            next.extend((*a > 0 && *b < 25).then(|| ((a - 1, b + 1), 1.0)));
            next.extend((*b > 0).then(|| ((*a, b - 1), 0.95)));
        });
        let generator = found.unwrap().generator;
        let (exact, swept) = (
            generator.steady_state().unwrap(),
            super::steady_state(&generator, &Allowance::default()).unwrap(),
        );
        let wrong: f64 = exact.iter().zip(&swept).map(|(a, b)| (a - b).abs()).sum();
        assert!(wrong < 1e-10, "{wrong}");
    }
}
