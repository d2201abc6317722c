//! For how many processors plans are made: where another host is measured, that one's.

use std::sync::OnceLock;

use tollway_core::Result;

use super::cpus_of_process;

static ELSEWHERE: OnceLock<u32> = OnceLock::new();

/// Plans of this process are for another host, whose agents may run on so many processors. Said once, before any plan is made.
pub fn plan_for(processors: u32) {
    // Whoever says it again names the same host: there is one in a process.
    let _ = ELSEWHERE.set(processors);
}

/// How many processors the actors of plans may run on: those of this process, or what [`plan_for`] said.
///
/// # Errors
/// As [`cpus_of_process`].
pub fn planned() -> Result<u32> {
    match ELSEWHERE.get() {
        Some(processors) => Ok(*processors),
        None => Ok(cpus_of_process()?.len() as u32),
    }
}
