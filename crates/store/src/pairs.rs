//! Pairs: trials of two points that ran side by side in one run.

use std::collections::BTreeMap;

use crate::Trial;

/// The trials of each block, in the order in which they ran.
pub fn by_block(trials: &[Trial]) -> BTreeMap<u32, Vec<&Trial>> {
    let mut blocks: BTreeMap<u32, Vec<&Trial>> = BTreeMap::new();
    for trial in trials {
        blocks.entry(trial.block).or_default().push(trial);
    }
    for trials in blocks.values_mut() {
        trials.sort_by_key(|t| t.ordinal);
    }
    blocks
}

/// The pairs of each block that has any: first with first, second with second. Where a trial is missing on one side that would pair
/// trials that ran far apart, so that then only neighbours in the run's order are pairs.
pub fn pairs_of<'t>(a: &'t [Trial], b: &'t [Trial]) -> Vec<Vec<(&'t Trial, &'t Trial)>> {
    let (a, b) = (by_block(a), by_block(b));
    let blocks = a.iter().filter_map(|(block, a)| Some(of_block(a, b.get(block)?)));
    blocks.filter(|pairs| !pairs.is_empty()).collect()
}

fn of_block<'t>(a: &[&'t Trial], b: &[&'t Trial]) -> Vec<(&'t Trial, &'t Trial)> {
    let whole = a.len() == b.len();
    let mut left = b.iter().peekable();
    let mut pairs = Vec::new();
    for a in a {
        while let Some(b) = left.peek() {
            if whole || a.ordinal.abs_diff(b.ordinal) == 1 {
                pairs.push((*a, **b));
                left.next();
                break;
            }
            if b.ordinal > a.ordinal {
                break;
            }
            left.next();
        }
    }
    pairs
}
