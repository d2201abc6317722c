//! The registry: one line a path.
#![warn(missing_debug_implementations)]

use tollway_core::Registry;

/// Every path that this program knows, in the order in which they are shown.
pub fn registry() -> Registry {
    Registry {
        paths: vec![
            tollway_crossings::path(),
            tollway_capture::path(),
            tollway_entropy::path(),
            tollway_cipher::path(),
            tollway_ipc::path(),
            tollway_machine::path(),
            tollway_null::path(),
        ],
    }
}
