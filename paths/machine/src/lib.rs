//! The path of a whole machine: what a virtual machine or a host gives to programs, part by part.
//!
//! [`engine`] has the parts, of use without the laboratory: how fast its processor, memory, disk and network are, each by a
//! method of our own and, where it is installed, by the field's own tool.

pub mod engine;
mod params;
mod surroundings;
mod variants;

use tollway_core::Path;

/// The path `machine` in a program that has no PostgreSQL.
pub fn path() -> Path {
    path_with(engine::service::no_postgres)
}

/// The path `machine` in a program that opens users in PostgreSQL so.
pub fn path_with(postgres: engine::service::OpenPostgres) -> Path {
    Path {
        name: "machine",
        question: "What does this machine give to programs, part by part, and what does a mode of running it cost?",
        variants: variants::all(postgres),
        presets: &[
            ("quick", include_str!("../presets/quick.toml")),
            ("suite", include_str!("../presets/suite.toml")),
            ("modes", include_str!("../presets/modes.toml")),
            ("claims", include_str!("../presets/claims.toml")),
            ("modes-host", include_str!("../presets/modes-host.toml")),
        ],
        claims: include_str!("../claims.toml"),
    }
}
