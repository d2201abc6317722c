//! Ctrl-C and SIGTERM: the first asks the run to end after the running trial, the second ends it at once.

use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// A flag that an interruption sets. Call it before anything is measured.
pub fn flag() -> Result<&'static AtomicBool> {
    static FLAG: OnceLock<Arc<AtomicBool>> = OnceLock::new();
    if let Some(set) = FLAG.get() {
        // Registered twice, one signal would count as two.
        return Ok(set);
    }
    let set = FLAG.get_or_init(|| Arc::new(AtomicBool::new(false)));
    for signal in [SIGINT, SIGTERM] {
        // In this order: the second signal finds the flag set and ends the process.
        flag::register_conditional_shutdown(signal, 130, Arc::clone(set))
            .and_then(|_| flag::register(signal, Arc::clone(set)))
            .context("taking notice of interruptions")?;
    }
    Ok(set)
}
