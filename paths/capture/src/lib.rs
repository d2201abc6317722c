//! The path of a captured packet: driver, tap, filter, timestamp, buffer, read, application.
//!
//! [`engine`] is the real thing, of use without the laboratory: a machine for classic BPF, buffers, files, live sources,
//! a traffic generator. The variants put it on trial: the study's path whole, in its designs, and each gate alone.

pub mod engine;
pub mod filters;
mod params;
mod predict;
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
            ("breakdown", include_str!("../presets/breakdown.toml")),
        ],
    }
}
