//! Classes of customers, and who is served first.

mod classes;
mod mg1_nonpreemptive;
mod mg1_preemptive;
mod mmc_nonpreemptive;

pub use classes::ClassMeans;
pub use mg1_nonpreemptive::Mg1NonPreemptive;
pub use mg1_preemptive::Mg1Preemptive;
pub use mmc_nonpreemptive::MmcNonPreemptive;

use crate::card::{Kind, Model, Parameter};

/// The models of this family.
pub(crate) const MODELS: &[Model] =
    &[mg1_nonpreemptive::MODEL, mg1_preemptive::MODEL, mmc_nonpreemptive::MODEL];

const LAMBDAS: Parameter = Parameter {
    name: "lambdas",
    kind: Kind::Rates,
    means: "arrivals of each class, the one that is served first in front",
    default: None,
    example: "2000/s, 6000/s",
};

const SERVICES: Parameter = Parameter {
    name: "services",
    kind: Kind::Distributions,
    means: "time of one service of each class",
    default: None,
    example: "constant(50us); exponential(100us)",
};
