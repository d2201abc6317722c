//! The registry: one line a path.
#![warn(missing_debug_implementations)]

use tollway_core::Registry;
use tollway_machine::engine::service::{OpenPostgres, no_postgres};

/// Every path that this program knows, in the order in which they are shown.
pub fn registry() -> Registry {
    registry_with(no_postgres)
}

/// The same for a program whose actors keep users in PostgreSQL, by code that only this program has.
pub fn registry_with(postgres: OpenPostgres) -> Registry {
    Registry {
        paths: vec![
            tollway_crossings::path(),
            tollway_capture::path(),
            tollway_entropy::path(),
            tollway_cipher::path(),
            tollway_ipc::path(),
            tollway_machine::path_with(postgres),
            tollway_null::path(),
        ],
    }
}
