//! The path that does nothing.
//!
//! What is measured here is the harness itself: the floor under every other figure, in a batch and stamped one by
//! one. It is also the template of a path: copy the folder, rename it, add it to `paths/all`.
#![warn(missing_debug_implementations)]

mod nothing;

use tollway_core::Path;

/// The path `null`.
pub fn path() -> Path {
    Path {
        name: "null",
        question: "What does measuring itself cost?",
        variants: vec![Box::new(nothing::Nothing::BATCHED), Box::new(nothing::Nothing::STAMPED)],
        presets: &[("quick", include_str!("../presets/quick.toml"))],
        claims: "",
    }
}
