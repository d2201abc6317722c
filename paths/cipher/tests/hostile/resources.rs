//! What the process with the card in it has: whatever tenants do and leave, it does not grow.

use std::fs;
use std::thread;
use std::time::Duration;

use tollway_cipher::engine::device::Card;

use super::tenancy::until;

/// What this process has, without tenants that came and went.
#[derive(Debug)]
pub struct Resources {
    kilobytes: u64,
    descriptors: usize,
    mappings: usize,
    threads: usize,
    sessions: usize,
}

impl Resources {
    /// Waits until all functions but the first `staying` are left, and looks.
    pub fn now(card: &Card, staying: usize) -> Resources {
        let is_left = || card.status().functions[staying..].iter().all(|function| !function.connected);
        until(is_left, || format!("somebody is still there: {:?}", card.status()));
        // Whoever gives memory back does so in a thread of its own.
        thread::sleep(Duration::from_millis(200));
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let line = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.trim().trim_end_matches(" kB").parse::<u64>().unwrap()
        };
        Resources {
            kilobytes: line("VmRSS:"),
            descriptors: fs::read_dir("/proc/self/fd").unwrap().count(),
            mappings: fs::read_to_string("/proc/self/maps").unwrap().lines().count(),
            threads: line("Threads:") as usize,
            sessions: card.status().functions.iter().map(|function| function.sessions).sum(),
        }
    }

    /// It has nothing more than before, but for what the allocator has not given back yet.
    pub fn have_not_grown(&self, before: &Resources) {
        let told = format!("{before:?} and then {self:?}");
        assert!(self.kilobytes < before.kilobytes + (4 << 10), "memory has grown: {told}");
        assert!(self.mappings <= before.mappings + 8, "mappings are left: {told}");
        // Something of the first round may still have been on its way out when it was looked: fewer is no leak.
        assert!(self.descriptors <= before.descriptors, "descriptors are left: {told}");
        assert!(self.threads <= before.threads, "threads are left: {told}");
        assert_eq!(self.sessions, before.sessions, "{told}");
    }
}
