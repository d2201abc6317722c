//! The generator of a finite chain, row by row without its zeros.

use super::{Allowance, band, iterate};
use crate::{ModelError, Result};

/// Rates between numbered states, per second. The diagonal is not stored: it is minus the sum of its row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Generator {
    /// Where each row ends in the two lists below.
    ends: Vec<usize>,
    targets: Vec<usize>,
    rates: Vec<f64>,
    exits: Vec<f64>,
}

impl Generator {
    /// States.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether it has no state.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The states that follow `state` and their rates, in rising order.
    pub fn row(&self, state: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let range = self.range(state);
        self.targets[range.clone()].iter().copied().zip(self.rates[range].iter().copied())
    }

    /// The rate at which `state` is left, per second.
    pub fn exit_rate(&self, state: usize) -> f64 {
        self.exits[state]
    }

    /// Rates that are stored.
    pub fn entries(&self) -> usize {
        self.targets.len()
    }

    /// The row of the next state; empties the list it is given. Targets may be states that are still to come.
    pub(super) fn push_row(&mut self, row: &mut Vec<(usize, f64)>) {
        let here = self.len();
        let begin = self.targets.len();
        row.sort_unstable_by_key(|(target, _)| *target);
        let mut exit = 0.0;
        for (target, rate) in row.drain(..).filter(|(target, _)| *target != here) {
            exit += rate;
            if self.targets.len() > begin && self.targets.last() == Some(&target) {
                let last = self.rates.len() - 1;
                self.rates[last] += rate;
            } else {
                self.targets.push(target);
                self.rates.push(rate);
            }
        }
        self.ends.push(self.targets.len());
        self.exits.push(exit);
    }

    /// The same chain backwards: what leads to each state.
    pub(super) fn transposed(&self) -> Vec<Vec<(usize, f64)>> {
        let mut sources = vec![Vec::new(); self.len()];
        for state in 0..self.len() {
            self.row(state).for_each(|(target, rate)| sources[target].push((state, rate)));
        }
        sources
    }

    /// π with πQ = 0: the share of time in each state, from state 0 on.
    ///
    /// Elimination without subtraction (Grassmann, Taksar and Heyman 1985) within the band that the numbering leaves:
    /// every probability has a small relative error, however small it is. Where the band is too wide for that, sweeps
    /// with aggregation until the balance holds to 1e-13.
    ///
    /// # Errors
    /// When some state is not left towards state 0 again, or the sweeps do not converge.
    pub fn steady_state(&self) -> Result<Vec<f64>> {
        self.steady_state_within(&Allowance::default())
    }

    /// The same, if it costs no more than is allowed and nobody stops it.
    ///
    /// # Errors
    /// The same, and when the allowance ends.
    pub fn steady_state_within(&self, allowance: &Allowance<'_>) -> Result<Vec<f64>> {
        self.check_return()?;
        match band::Band::new(self, allowance.left()) {
            Some(band) => band.steady_state(allowance),
            None => iterate::steady_state(self, allowance),
        }
    }

    /// Refuses a chain that some state does not lead back to the first state of.
    fn check_return(&self) -> Result<()> {
        let sources = self.transposed();
        let mut returns = vec![false; self.len()];
        let mut open = vec![0];
        while let Some(state) = open.pop() {
            if !std::mem::replace(&mut returns[state], true) {
                open.extend(sources[state].iter().map(|(source, _)| *source));
            }
        }
        match returns.iter().position(|returns| !returns) {
            None => Ok(()),
            Some(state) => Err(ModelError::Numerical {
                method: "Markov chain",
                reason: format!(
                    "state {state} does not lead back to the first one: there is no one steady state"
                ),
            }),
        }
    }

    fn range(&self, state: usize) -> std::ops::Range<usize> {
        (if state == 0 { 0 } else { self.ends[state - 1] })..self.ends[state]
    }
}

#[cfg(test)]
mod tests {
    use crate::chain::explore;
    use crate::markovian::Mmck;

    #[test]
    fn a_birth_death_chain_has_its_closed_form() {
        for (load, top) in [(0.3, 50u64), (1.0, 300), (4.0, 60), (30.0, 900)] {
            let found = explore(0u64, 1000, |n, next| {
                next.extend((*n < top).then_some((n + 1, load)));
                next.extend((*n > 0).then(|| (n - 1, n.min(&3).to_owned() as f64)));
            });
            let found = found.unwrap();
            let pi = found.generator.steady_state().unwrap();
            let queue = Mmck::new(load, 1.0, 3, top).unwrap();
            for (n, p) in found.states.iter().zip(pi) {
                let right = queue.probability(*n);
                assert!((p - right).abs() <= 1e-12 * right || right < 1e-290, "{load} {n}: {p} {right}");
            }
        }
    }

    #[test]
    fn without_a_way_back_there_is_no_steady_state() {
        let found = explore(0u32, 9, |n, next| next.extend((*n < 3).then_some((n + 1, 1.0)))).unwrap();
        assert!(found.generator.steady_state().unwrap_err().to_string().contains("lead back"));
    }
}
