//! The path of a captured packet: driver, tap, filter, timestamp, buffer, read, application.
//!
//! [`engine`] is the real thing, of use without the laboratory: a machine for classic BPF, buffers, files, live sources,
//! a traffic generator. The variants put it on trial: the study's path whole, in its designs, and each gate alone.

pub mod engine;
pub mod filters;
mod params;
mod variants;

use tollway_core::Path;

/// The path `capture`.
pub fn path() -> Path {
    Path {
        name: "capture",
        question: "Where do a captured packet's cycles go?",
        variants: variants::all(),
        presets: &[
            ("quick", include_str!("../presets/quick.toml")),
            ("filter", include_str!("../presets/filter.toml")),
            ("copies", include_str!("../presets/copies.toml")),
            ("batch", include_str!("../presets/batch.toml")),
            ("interrupts", include_str!("../presets/interrupts.toml")),
            ("breakdown", include_str!("../presets/breakdown.toml")),
            ("live", include_str!("../presets/live.toml")),
            ("live-gates", include_str!("../presets/live-gates.toml")),
            ("overload", include_str!("../presets/overload.toml")),
        ],
        claims: include_str!("../claims.toml"),
    }
}
