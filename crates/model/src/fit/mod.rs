//! From a trace or counters to a model: estimates with intervals, families that fit or do not, and which queue is left.
//!
//! [`Trace::read`] takes what was seen; [`fit()`] answers with everything that follows from it. Where no trace was kept,
//! [`Counters`] give the rates. Who plays a trace again reads it by the same words: [`Requests::read`].

mod analysis;
mod clock_steps;
mod coalescing;
mod column;
mod counters;
mod coupling;
#[cfg(test)]
mod coverage;
mod delivery;
mod estimate;
mod family;
mod figures;
mod goodness;
#[cfg(test)]
mod level;
mod likelihood;
mod member;
mod moment;
#[cfg(test)]
mod oracle;
mod precision;
mod queue;
mod reader;
mod requests;
mod requirement;
mod series;
mod text;
mod trace;

pub use analysis::{FamilyVerdict, Fit, Options, Test, fit};
pub use coalescing::{Coalescing, Timer};
pub use counters::{Counted, Counters};
pub use estimate::Estimate;
pub use family::Family;
pub use goodness::Fitted;
pub use queue::Judged;
pub use requests::Requests;
pub use trace::{Clocks, Deliveries, Series, Stamps, Trace};
