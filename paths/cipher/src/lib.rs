//! The path of a request to encrypt: from a tenant to the one crypto device that many share, and back.
//!
//! [`engine`] is the real thing, of use without the laboratory: a virtio-crypto device with one physical function and
//! many virtual ones, in software.

pub mod engine;
mod params;
pub mod twin;
mod variants;

use tollway_core::Path;

pub use variants::told;

/// The path `cipher`.
pub fn path() -> Path {
    Path {
        name: "cipher",
        question: "What does it cost a tenant to have a shared device encrypt, and to learn that it has?",
        variants: variants::all(),
        presets: &[
            ("quick", include_str!("../presets/quick.toml")),
            ("arrival", include_str!("../presets/arrival.toml")),
            ("moderation", include_str!("../presets/moderation.toml")),
            ("load", include_str!("../presets/load.toml")),
            ("classes", include_str!("../presets/classes.toml")),
            ("queue", include_str!("../presets/queue.toml")),
            ("block-size", include_str!("../presets/block-size.toml")),
            ("one-vcm", include_str!("../presets/one-vcm.toml")),
            ("many-vcm", include_str!("../presets/many-vcm.toml")),
            ("back-ends", include_str!("../presets/back-ends.toml")),
            ("exit-less", include_str!("../presets/exit-less.toml")),
        ],
        claims: include_str!("../claims.toml"),
    }
}
