//! Each boundary alone: the price list of this machine.
//!
//! [`engine`] holds the operations themselves, usable without anything else of Tollway; [`variants`] makes a variant of
//! each, with its axes, its toll key, what it needs and what a reader of its figure must know. An operation of one
//! actor is a [`Solo`](variants::Solo), one of two a [`Duo`](variants::Duo).

pub mod engine;
mod params;
mod predict;
pub mod variants;

use tollway_core::Path;

/// The path `crossings`.
pub fn path() -> Path {
    Path {
        name: "crossings",
        question: "What does each crossing cost on this machine?",
        variants: variants::all(),
        presets: &[
            ("quick", include_str!("../presets/quick.toml")),
            ("calls", include_str!("../presets/calls.toml")),
            ("truth", include_str!("../presets/truth.toml")),
            ("host-guest", include_str!("../presets/host-guest.toml")),
            ("tenants", include_str!("../presets/tenants.toml")),
        ],
        claims: "",
    }
}
