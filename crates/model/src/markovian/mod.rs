//! Queues with exponential gaps and services: birth and death.

mod birth_death;
mod busy_period;
mod engset;
mod erlang_b;
mod figures;
mod finite_source;
mod mm1;
mod mm1_transient;
mod mm1k;
mod mmc;
mod mmck;
mod mminf;
mod population;
mod sojourn;

pub use busy_period::BusyPeriod;
pub use engset::Engset;
pub use erlang_b::ErlangB;
pub use finite_source::FiniteSource;
pub use mm1::Mm1;
pub use mm1_transient::Mm1Transient;
pub use mmc::Mmc;
pub use mmck::Mmck;
pub use mminf::MmInfinity;

use crate::card::Model;

/// The models of this family.
pub(crate) const MODELS: &[Model] = &[
    mm1::MODEL,
    mm1k::MODEL,
    mmc::MODEL,
    mmck::MODEL,
    mminf::MODEL,
    erlang_b::MODEL,
    engset::MODEL,
    finite_source::MODEL,
    mm1_transient::MODEL,
];

/// ln(λ/κ) for work that comes at λ and is done at κ, `drain` = κ − λ, with its digits both near 1 and near 0.
fn ln_load(lambda: f64, capacity: f64, drain: f64) -> f64 {
    if lambda < 0.5 * capacity { (lambda / capacity).ln() } else { (-drain / capacity).ln_1p() }
}
