//! A whole system of queues as a chain: its states, its moves, its steady state, its figures.
//!
//! It takes times made of exponential stages (exponential, Erlang, hyperexponential), switched Poisson streams and
//! populations; queues without limit are cut off where, as a share of the mean, less than 1e-10 of it is lost.

mod figures;
mod moves;
mod phases;
mod plan;
mod state;

use figures::Averages;
use moves::Moves;
use plan::{Plan, Rhythm};

use super::Allowance;
use super::explore::try_explore;
use crate::spec::Spec;
use crate::{ModelError, Result, Solution};

/// The most states of a chain.
const MOST_STATES: usize = 100_000;

/// The most that all states together remember: each has a number or more for every part of the system, some hundred bytes.
const MOST_REMEMBERED: usize = 4 * MOST_STATES;

/// How far the mean number of a station may be off because its queue was cut off, as a share of itself.
const CUT: f64 = 1e-10;

/// What a chain says of a system.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// Its figures, and how many states there were.
    Solved {
        /// Under the names that formulas and simulations use.
        solution: Solution,
        /// Of the chain that was solved.
        states: usize,
    },
    /// Why there are none.
    Unsuited(Unsuited),
}

/// Why a system is no small Markov chain.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Unsuited {
    /// A time is not made of exponential stages (or of too many).
    #[error("{place}: {what} is not made of a few exponential stages")]
    NotMarkovian {
        /// The part.
        place: String,
        /// What it has.
        what: String,
    },
    /// The state would have to remember more than it does.
    #[error("{place}: {why} would need a larger state")]
    Order {
        /// The part.
        place: String,
        /// What it has.
        why: &'static str,
    },
    /// A name leads nowhere: the specification was not checked.
    #[error("there is no part named `{name}`")]
    Unknown {
        /// The name.
        name: String,
    },
    /// There are too many states.
    #[error("it has more than {most} states{}", if *cut { ": a queue without limit does not thin out" } else { "" })]
    TooManyStates {
        /// The most that are tried.
        most: usize,
        /// Whether queues without limit are the reason.
        cut: bool,
    },
    /// It takes too long.
    #[error("its {states} states or more would take too long")]
    TooLong {
        /// That were found until then.
        states: usize,
    },
    /// Somebody stopped it.
    #[error("interrupted")]
    Interrupted,
    /// The chain has no one steady state, or is too wide for its solution to converge.
    #[error("{why}")]
    Unsolved {
        /// What the method says.
        why: String,
    },
}

/// Solves a specification that [`Spec::checked`] has accepted, if it is a small Markov chain.
///
/// # Errors
/// When a rate or a figure leaves the range of floating point.
pub fn solve(spec: &Spec, allowance: &Allowance<'_>) -> Result<Answer> {
    let plan = match Plan::of(spec) {
        Ok(plan) => plan,
        Err(why) => return Ok(Answer::Unsuited(why)),
    };
    let parts = spec.sources.len() + spec.stations.len() + spec.coalescers.len();
    let most = MOST_STATES.min(MOST_REMEMBERED / parts.max(1));
    let mut moves = Moves { limits: first_limits(&plan), plan: &plan, allowance };
    loop {
        let mut states = 0;
        let found = moves.start().and_then(|start| {
            try_explore(start, most, |state, next| {
                states += 1;
                next.extend(moves.from(state)?.into_iter().map(|branch| (branch.state, branch.rate)));
                Ok(())
            })
        });
        let found = match found {
            Ok(found) => found,
            Err(ModelError::Numerical { .. }) => {
                if let Some(ended) = ended(allowance, states) {
                    return Ok(Answer::Unsuited(ended));
                }
                let cut = plan.stations.iter().any(|station| station.capacity.is_none());
                return Ok(Answer::Unsuited(Unsuited::TooManyStates { most, cut }));
            }
            Err(why) => return Ok(Answer::Unsuited(Unsuited::Unsolved { why: why.to_string() })),
        };
        let shares = match found.generator.steady_state_within(allowance) {
            Ok(shares) => shares,
            Err(why) => {
                let unsolved = || Unsuited::Unsolved { why: why.to_string() };
                return Ok(Answer::Unsuited(ended(allowance, states).unwrap_or_else(unsolved)));
            }
        };
        let Ok(averages) = Averages::of(&moves, &found.states, &shares) else {
            return Ok(Answer::Unsuited(ended(allowance, states).unwrap_or(Unsuited::Interrupted)));
        };
        let mut longer = false;
        for (i, limit) in moves.limits.iter_mut().enumerate() {
            let cut = averages.cut(i, *limit);
            if cut > CUT {
                // Most queues thin out geometrically: as much longer as that asks for.
                let farther = if cut < 0.5 { CUT.ln() / cut.ln() } else { 2.0 };
                *limit = (f64::from(*limit) * (1.03 * farther).clamp(1.1, 2.0)) as u32 + 2;
                longer = true;
            }
        }
        if !longer {
            let solution = averages.solution(spec, &plan).finite()?;
            return Ok(Answer::Solved { solution, states: found.states.len() });
        }
    }
}

/// Why the allowance ended, if it did.
fn ended(allowance: &Allowance<'_>, states: usize) -> Option<Unsuited> {
    match () {
        () if allowance.is_interrupted() => Some(Unsuited::Interrupted),
        () if allowance.is_spent() => Some(Unsuited::TooLong { states }),
        () => None,
    }
}

/// Where queues without limit are cut off at first, by station; those with a capacity never are.
fn first_limits(plan: &Plan) -> Vec<u32> {
    let sources = plan.sources.iter();
    let together = sources.map(|source| match &source.rhythm {
        Rhythm::Closed { customers, .. } => *customers,
        _ => source.batch.iter().map(|(size, _)| *size).max().unwrap_or(1),
    });
    let together = together.sum::<u32>().saturating_add(plan.counts.iter().sum());
    let limits = plan.stations.iter().map(|station| match station.capacity {
        Some(_) => u32::MAX,
        None => {
            let bulk = station.bulk.as_ref().map_or(0, |bulk| bulk.most);
            let wake = station.wake.as_ref().and_then(|wake| wake.count).unwrap_or(0);
            let most = [together, bulk, wake, station.servers].into_iter().fold(0, u32::max);
            16 + most.saturating_mul(2).min(u32::MAX / 4)
        }
    });
    limits.collect()
}

#[cfg(test)]
mod tests;
