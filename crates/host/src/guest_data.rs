//! Where what Linux guests need is: what the set-up fetched (`make setup-guest`), and what somebody names instead.

use std::env;
use std::path::PathBuf;

/// The environment variable that names the QEMU to use.
pub const QEMU: &str = "TOLLWAY_QEMU";
/// The environment variable that names the folder in which the set-up keeps what guests need.
pub const DATA: &str = "TOLLWAY_GUEST_DATA";

/// What an environment variable names; one that is empty names nothing.
pub fn named(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// The set-up's folder, be it there or not: [`DATA`], else `$XDG_DATA_HOME/tollway/guest`, else `~/.local/share/tollway/guest`.
pub fn folder() -> Option<PathBuf> {
    named(DATA).or_else(|| {
        let data = named("XDG_DATA_HOME").or_else(|| Some(named("HOME")?.join(".local/share")))?;
        Some(data.join("tollway/guest"))
    })
}
