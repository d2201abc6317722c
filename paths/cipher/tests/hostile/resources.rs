//! What the process with the card in it has: whatever tenants do and leave, it does not grow.

use std::collections::BTreeMap;
use std::fs;
use std::sync::atomic::Ordering;

use tollway_cipher::engine::device::Card;

use super::WAITING;
use super::eventually::eventually;
use super::tenancy::until;

/// What this process has, without tenants that came and went.
#[derive(Debug)]
pub struct Resources {
    kilobytes: u64,
    /// By what they are of.
    descriptors: BTreeMap<String, usize>,
    mappings: usize,
    threads: usize,
    sessions: usize,
}

impl Resources {
    /// Waits until all functions but the first `staying` are left, and looks.
    pub fn now(card: &Card, staying: usize) -> Resources {
        let is_left = || card.status().functions[staying..].iter().all(|function| !function.connected);
        until(is_left, || format!("somebody is still there: {:?}", card.status()));
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let line = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.trim().trim_end_matches(" kB").parse::<u64>().unwrap()
        };
        Resources {
            kilobytes: line("VmRSS:"),
            descriptors: descriptors(),
            mappings: fs::read_to_string("/proc/self/maps").unwrap().lines().count(),
            // A test that waits begins whenever another has ended, and its thread is none of the card's.
            threads: (line("Threads:") as usize).saturating_sub(WAITING.load(Ordering::SeqCst)),
            sessions: card.status().functions.iter().map(|function| function.sessions).sum(),
        }
    }

    /// Once whoever gives memory back, in a thread of its own, has done so: there is nothing then that those who left have brought, but
    /// for memory.
    pub fn once_left(card: &Card, staying: usize, without: &Resources) -> Resources {
        let mut now = Resources::now(card, staying);
        eventually("who left has taken everything along", || {
            now = Resources::now(card, staying);
            now.all() <= without.all() && now.threads <= without.threads && now.sessions == without.sessions
        });
        now
    }

    /// It has nothing more than before, but for what the allocator has not given back yet; soon, as some of it may be on its way out.
    pub fn have_not_grown(card: &Card, staying: usize, before: &Resources) {
        let mut left = String::new();
        eventually("it has no more than before", || match Resources::now(card, staying).within(before) {
            Ok(()) => true,
            Err(now) => {
                if left != now {
                    println!("{now}");
                }
                left = now;
                false
            }
        });
    }

    fn all(&self) -> usize {
        self.descriptors.values().sum()
    }

    /// What there is more of than before.
    fn within(&self, before: &Resources) -> Result<(), String> {
        let left = match () {
            () if self.kilobytes >= before.kilobytes + (4 << 10) => "memory has grown",
            () if self.mappings > before.mappings + 8 => "mappings are left",
            // Something of the first round may still have been on its way out when it was looked: fewer is no leak.
            () if self.all() > before.all() => "descriptors are left",
            () if self.threads > before.threads => "threads are left",
            () if self.sessions != before.sessions => "sessions are left",
            () => return Ok(()),
        };
        Err(format!("{left}: {before:?} and then {self:?}"))
    }
}

/// How many descriptors this process has of what, but for the numbers that tell things of a kind apart.
fn descriptors() -> BTreeMap<String, usize> {
    let mut all = BTreeMap::new();
    for descriptor in fs::read_dir("/proc/self/fd").unwrap().flatten() {
        let of =
            fs::read_link(descriptor.path()).map_or_else(|e| e.to_string(), |of| of.display().to_string());
        *all.entry(of.replace(|c: char| c.is_ascii_digit(), "")).or_default() += 1;
    }
    all
}
