//! Processors: which this process may use, and staying on one of them.

mod pinning;

pub use pinning::{allowed_cpus, current_cpu, pin_current_thread, set_affinity};
