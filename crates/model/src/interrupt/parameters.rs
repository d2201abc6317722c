//! Parameters that several models of this family have, worded once.

use crate::card::{Kind, Parameter};

/// The largest count of held customers that is taken.
pub(super) const MOST_HELD: u64 = 1_000_000;

pub(super) const LAMBDA: Parameter =
    Parameter { name: "lambda", kind: Kind::Rate, means: "arrivals", default: None, example: "8000/s" };

pub(super) const SERVICE: Parameter = Parameter {
    name: "service",
    kind: Kind::Distribution,
    means: "time of one service",
    default: None,
    example: "erlang(4, 100us)",
};

pub(super) const COUNT: Parameter = Parameter {
    name: "count",
    kind: Kind::Count,
    means: "customers that wait when the server begins",
    default: None,
    example: "8",
};

pub(super) const TIMER: Parameter = Parameter {
    name: "timer",
    kind: Kind::Time,
    means: "time that the first customer waits at most until the server begins; 0: at once",
    default: None,
    example: "500us",
};

pub(super) const COMPLETIONS: Parameter =
    Parameter { name: "lambda", kind: Kind::Rate, means: "completions", default: None, example: "8000/s" };
