//! General arrivals or services.

mod approximations;
pub(crate) mod figures;
mod gim1;
pub mod inversion;
mod md1;
mod mg1;
mod mmpp_m1;
mod processor_sharing;
mod setup;

pub use approximations::{TwoMoments, allen_cunneen};
pub use gim1::GiM1;
pub use md1::Md1;
pub use mg1::Mg1;
pub use mmpp_m1::MmppM1;
pub use processor_sharing::Mg1Ps;
pub use setup::Mg1Setup;

use crate::card::Model;

/// The models of this family.
pub(crate) const MODELS: &[Model] = &[
    mg1::MODEL,
    md1::MODEL,
    gim1::MODEL,
    mmpp_m1::MODEL,
    processor_sharing::MODEL,
    setup::MODEL,
    approximations::KINGMAN,
    approximations::KRAMER_LANGENBACH_BELZ,
    approximations::ALLEN_CUNNEEN,
];
