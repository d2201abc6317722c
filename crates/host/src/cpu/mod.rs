//! Processors: which there are, which this process may use, which of them a plan's slots get, and staying there;
//! the random numbers that they draw.

mod caches;
pub mod draw;
mod pinning;
mod planned;
mod policy;
mod slots;
mod topology;

pub use caches::last_level_caches;
pub use pinning::{allowed_cpus, cpus_of_process, current_cpu, pin_current_thread, set_affinity};
pub use planned::{plan_for, planned};
pub use policy::{Policy, policy, set_policy};
pub use slots::{Slots, choose_slots, choose_slots_from, processors, slots};
pub use topology::{Processor, Topology, parse_list};
