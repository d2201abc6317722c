//! Several stations, and customers that go from one to the other: open (they come and leave) or closed (they come back).

mod bounds;
mod closed;
mod cloud;
mod jackson;
mod multiclass;
mod multiserver;
mod mva;
mod wide;

pub use bounds::{Bounds, Range};
pub use closed::{Closed, Station};
pub use cloud::{Cloud, CloudClass, Order, Split};
pub use jackson::{Jackson, OpenStation};
pub use multiclass::{ClassFlow, ClassLoad, MulticlassFlows, MulticlassMva};
pub use multiserver::{MultiserverMva, ServedAt};
pub use mva::Mva;

use crate::card::Model;

/// The models of this family.
pub(crate) const MODELS: &[Model] =
    &[jackson::MODEL, mva::MODEL, multiserver::MODEL, multiclass::MODEL, bounds::MODEL, cloud::MODEL];
