//! The SQLite file that holds runs, trials, tolls and predictions.
//!
//! A [`Store`] is one file. A *run* ([`RunSpec`], [`Run`]) has *points* ([`PointSpec`], [`Point`]), a point has
//! *trials* ([`NewTrial`], [`Trial`]) and at most one frozen [`Prediction`]. What was measured is stored; what can be
//! computed from it is not: a [`Figure`] with its interval, the grade of a prediction and the [`Tolls`] of a machine
//! are worked out on reading, the same way every time.
//!
//! What is durable when: every method that writes is one transaction, on the disk before it returns. The README has
//! the tables and the journal mode.
#![warn(missing_debug_implementations)]

mod column;
mod error;
mod export;
mod figure;
mod holder;
mod id;
mod killed;
mod over_runs;
mod pace;
mod pairs;
mod point;
mod prediction;
mod resume;
mod room;
mod run;
mod schema;
mod stages;
mod store;
mod toll;
mod trial;
mod work;

pub use error::{Result, StoreError};
pub use export::{PointRecord, RunRecord};
pub use figure::{Figure, Interval};
pub use id::{PointId, RunId, TrialId};
pub use pairs::{by_block, pairs_of};
pub use point::{Point, PointSpec, PointState};
pub use prediction::{Grade, Outcome, Prediction, WIDEST, grade};
pub use resume::{TrialMark, Unfinished};
pub use run::{Run, RunSpec, RunState, RunSummary};
pub use schema::{APPLICATION_ID, VERSION};
pub use stages::StageSpreads;
pub use store::Store;
pub use toll::Tolls;
pub use trial::{NewTrial, Trial};
pub use work::BlockWork;
