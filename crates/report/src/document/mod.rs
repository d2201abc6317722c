//! The JSON documents, their schemas, and how they are made from the store.
//!
//! Base units throughout: ticks of the run's clock and nanoseconds for what an operation costs, hertz, shares from 0 to 1.
//! A document refuses fields that it does not know, so that a reader of version 1 cannot misread version 2.

mod comparison;
mod figure;
mod point;
mod run;
mod schema;

pub use comparison::{
    ComparedDocument, ComparisonDocument, Difference, OnlyIn, RatioDocument, SideDocument, VerdictDocument,
};
pub use figure::{Estimate, Span};
pub use point::{GradeDocument, MissingDocument, PointDocument, PredictionDocument, SampleKind};
pub use run::{MachineDocument, NoiseDocument, QualityDocument, RemarkDocument, RunDocument, RunHead};
pub use schema::{Document, schema};

/// The version of the documents; it changes when a field is renamed, removed or takes another meaning.
pub const SCHEMA_VERSION: u32 = 1;
