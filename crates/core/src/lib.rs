//! Tollway's vocabulary and contracts.
//!
//! Everything that the other crates have in common is a word here: a [`Boundary`], a [`Crossing`] of it, the
//! [`TollKey`] under which the cost of a crossing is looked up, a [`Path`] with its [`Variant`]s, the [`Plan`] of a
//! variant (roles, gates, requirements), the [`Actor`] that plays a role in a [`Window`] of time, the [`Recorder`]
//! it writes to and the [`Tally`] it hands in. This crate performs no I/O and reads no clock.
//!
//! One trial, in the order of the types: a [`Preset`] names points of a variant's axes ([`Params`]); the variant
//! answers each with a [`Plan`]; for every [`Role`] an [`Actor`] is made in its tenant and told to get
//! [`ready`](Actor::ready) (it learns the addresses of the roles before it); all of them
//! [`run`](Actor::run) in one window of a common clock; then each [`verify`](Actor::verify)s what it did and hands in
//! its [`tally`](Actor::tally).
#![warn(missing_debug_implementations)]

mod actor;
mod actor_record;
mod boundary;
mod claim;
mod clock;
mod crossing;
mod crossover;
mod error;
mod forecast;
mod guest;
mod guest_facts;
mod params;
mod path;
mod plan;
mod preset;
mod recorder;
mod requirement;
mod tally;
mod toll;
mod yielded;

pub use actor::{Actor, Address, Doorbell, ExitCounts, Exits, Lot, Place, Window};
pub use actor_record::ActorRecord;
pub use boundary::Boundary;
pub use claim::{Claim, Claims, Figured, Metric, Provenance, Quantity, Relation, Series};
pub use clock::{Clock, Ticks};
pub use crossing::Crossing;
pub use crossover::Crossover;
pub use error::{Error, Result};
pub use forecast::{Forecast, PublishedLaw, Quoted, Sharing, TollSource};
pub use guest::{DiskFormat, GuestDevice, GuestSpec, Server};
pub use guest_facts::{Accelerator, GuestFacts, KvmKind, LinuxGuestFacts};
pub use params::{Axis, Domain, Params, Value};
pub use path::{Path, Registry, Variant};
pub use plan::{Gate, Plan, Role, TenantKind, Visits};
pub use preset::{Case, NARROW, OneOrMany, Preset, PresetHead, TrialSpec};
pub use recorder::{Recorder, SUB_TICKS, Spread};
pub use requirement::{CpuFeature, Missing, Requirement};
pub use tally::{Stage, Taken, Tally};
pub use toll::{Placement, Toll, TollKey, Warmth};
pub use yielded::{Unit, Yield};
