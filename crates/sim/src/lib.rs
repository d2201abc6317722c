//! A discrete-event simulator for systems of queues.
//!
//! A [`Spec`](tollway_model::spec::Spec) goes in, an [`Outcome`] comes out: estimates with intervals under the flat names
//! that formulas use ([`Solution`](tollway_model::Solution)), and the invariants that were checked on the way. The same
//! seed gives the same outcome, whatever the number of threads.

mod calendar;
mod customers;
mod engine;
mod error;
mod estimate;
mod figures;
mod histogram;
mod lindley;
mod options;
mod outcome;
mod replication;
mod sampler;
mod simulate;
mod stream;
mod system;
mod totals;
mod warm_up;

pub use error::SimError;
pub use options::{Done, Options};
pub use outcome::{Engine, Estimate, Invariant, Outcome, StoppedBy};
pub use simulate::simulate;
