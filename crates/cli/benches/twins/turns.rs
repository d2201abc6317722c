//! Two sides in turns: each round tries both twice, in both orders, so that the machine's drift cancels in the pairs.

use anyhow::Result;
use rand::RngExt;
use rand::rngs::StdRng;
use tollway_stats::{Interval, paired_ratio};

use crate::CONFIDENCE;
use crate::bar::Row;

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

/// Ours over the twin's, with a row that has both as `told` says them.
pub fn ratio(pairs: &[Vec<(f64, f64)>], told: impl Fn(f64) -> String) -> Result<(Row, Interval)> {
    let measured = paired_ratio(pairs)?.interval(CONFIDENCE)?;
    let side = |of: fn(&(f64, f64)) -> f64| -> Result<String> {
        let blocks: Vec<Vec<f64>> = pairs.iter().map(|block| block.iter().map(of).collect()).collect();
        Ok(told(tollway_stats::figure(&blocks, CONFIDENCE)?.estimate))
    };
    let text = format!("{:.3} [{:.3}, {:.3}]", measured.estimate, measured.lo, measured.hi);
    let (ours, twin) = (side(|(_, ours)| *ours)?, side(|(twin, _)| *twin)?);
    Ok((Row { ours, twin, measured: text, ..Row::default() }, measured))
}
