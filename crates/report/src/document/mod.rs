//! The JSON documents, their schemas, and how they are made from the store.
//!
//! Base units throughout: ticks of the run's clock and nanoseconds for what an operation costs, hertz, shares from 0 to 1.
//! A document refuses fields that it does not know, so that a reader of version 1 cannot misread version 2.

mod bill;
mod claim;
mod comparison;
mod figure;
mod guests;
mod history;
mod host_against_guest;
mod point;
pub(crate) mod rate;
mod run;
mod schema;
pub(crate) mod sharing;
mod tenants;

pub use bill::{
    BillDocument, ChangeDocument, GateDocument, LatencyDocument, PartDocument, ProfileDocument, StageDocument,
};
pub use claim::{ClaimDocument, ClaimVerdict, PathClaimsDocument, ReproductionDocument, TestingRunDocument};
pub use comparison::{
    ComparedDocument, ComparedRates, ComparisonDocument, Difference, OnlyIn, RatioDocument, SideDocument,
    VerdictDocument,
};
pub use figure::{Estimate, Range, Span};
pub use guests::{GuestsDocument, LinuxGuestsDocument};
pub use history::{
    ChangedDocument, EarlierDocument, HistoryDocument, MomentDocument, RowHistoryDocument, SinceDocument,
    SinceVerdict,
};
pub use host_against_guest::{AcrossTenantsDocument, HostAgainstGuestDocument, InTenantDocument};
pub use point::{
    ClassDocument, GaugeDocument, GradeDocument, HeadlineDocument, MissingDocument, OutcomeDocument,
    PointDocument, PredictionDocument, QuotedDocument, SampleKind,
};
pub use rate::RateDocument;
pub(crate) use run::causes;
pub use run::{MachineDocument, NoiseDocument, QualityDocument, RemarkDocument, RunDocument, RunHead};
pub use schema::{Document, schema};
pub use sharing::{ErrorsDocument, PublishedDocument, SharedPoint, SharingDocument};
pub use tenants::{ActorDocument, TenantsDocument};

/// The version of the documents; it changes when a field is renamed, removed or takes another meaning.
pub const SCHEMA_VERSION: u32 = 1;
