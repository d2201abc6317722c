//! The path of a request: to another process or to the kernel, synchronously or asynchronously, alone or many at a time.
//!
//! [`engine`] has the applications, of use without the laboratory; what carries their requests is `tollway-channel`.

pub mod engine;
mod params;
pub mod predict;
mod setting;
mod tolls;
pub mod twin;
mod variants;

use tollway_core::Path;

/// The path `ipc`.
pub fn path() -> Path {
    Path {
        name: "ipc",
        question: "Synchronous or asynchronous: what does a request to another process or the kernel cost, and from which load on does that change?",
        variants: variants::all(),
        presets: &[
            ("quick", include_str!("../presets/quick.toml")),
            ("ping-pong", include_str!("../presets/ping-pong.toml")),
            ("server-load", include_str!("../presets/server-load.toml")),
            ("crossover", include_str!("../presets/crossover.toml")),
            ("alloc-server", include_str!("../presets/alloc-server.toml")),
            ("tcp-server", include_str!("../presets/tcp-server.toml")),
        ],
        claims: include_str!("../claims.toml"),
    }
}
