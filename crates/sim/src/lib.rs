//! A discrete-event simulator for systems of queues.
//!
//! A [`Spec`](tollway_model::spec::Spec) goes in, an [`Outcome`] comes out: estimates with intervals under the flat names
//! that formulas use ([`Solution`](tollway_model::Solution)), and the invariants that were checked on the way. The same
//! seed gives the same outcome, whatever the number of threads.

mod outcome;

pub use outcome::{Engine, Estimate, Invariant, Outcome, StoppedBy};
