//! The path of a random number: drawn from a generator, conditioned, tested, handed to many virtual machines.
//!
//! [`engine`] is the real thing, of use without the laboratory: sources, tests of randomness, a fair server.

pub mod engine;
#[cfg(test)]
#[path = "../../../crates/host/testing/eventually.rs"]
mod eventually;
mod params;
#[cfg(test)]
#[path = "../../../crates/host/testing/pause.rs"]
mod pause;
mod predict;
mod variants;

use tollway_core::Path;

/// The path `entropy`.
pub fn path() -> Path {
    Path {
        name: "entropy",
        question: "What does each of many tenants get of one random number generator?",
        variants: variants::all(),
        presets: &[
            ("quick", include_str!("../presets/quick.toml")),
            ("caps", include_str!("../presets/caps.toml")),
            ("scale", include_str!("../presets/scale.toml")),
            ("time-slices", include_str!("../presets/time-slices.toml")),
            ("fips", include_str!("../presets/fips.toml")),
            ("guest-chain", include_str!("../presets/guest-chain.toml")),
        ],
        claims: include_str!("../claims.toml"),
    }
}
