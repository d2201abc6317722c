//! Two sides in turns: each round tries both twice, in both orders, so that the machine's drift cancels in the pairs.

use anyhow::Result;
use rand::RngExt;
use rand::rngs::StdRng;

/// Pairs (twin, ours) of each round. `play` tries one side once: ours, or the twin.
pub fn in_turns(
    rounds: u32,
    rng: &mut StdRng,
    mut play: impl FnMut(bool) -> Result<f64>,
) -> Result<Vec<Vec<(f64, f64)>>> {
    let mut pairs = Vec::with_capacity(rounds as usize);
    for _ in 0..rounds {
        let first: bool = rng.random();
        let mut block = Vec::with_capacity(2);
        for ours_first in [first, !first] {
            let mut pair = (f64::NAN, f64::NAN);
            for ours in [ours_first, !ours_first] {
                *(if ours { &mut pair.1 } else { &mut pair.0 }) = play(ours)?;
            }
            block.push(pair);
        }
        pairs.push(block);
    }
    Ok(pairs)
}
