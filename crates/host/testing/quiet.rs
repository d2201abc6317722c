//! Whether speed can be judged: tests assert what is about speed alone only there.

use std::env;

/// Whether nothing else runs on this machine: `TOLLWAY_REQUIRE` says so.
pub fn is_quiet() -> bool {
    let demanded = env::var("TOLLWAY_REQUIRE").unwrap_or_default();
    demanded.split([',', ' ']).any(|word| word == "quiet")
}
