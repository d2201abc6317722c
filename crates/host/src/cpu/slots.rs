//! Which processor each core slot of a plan gets.
//!
//! Slots want distinct physical cores, of one package, with one last-level cache, so that "across cores" means the
//! same thing from run to run. Where there are not enough, threads of one core share it, and the result says so: a
//! figure between siblings is not one between cores.

use serde::{Deserialize, Serialize};
use tollway_core::{Error, Missing, Result};

use super::{Topology, allowed_cpus};
use crate::found::Found;

/// Processors for the slots 0, 1, 2 … of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slots {
    /// The processor of each slot.
    pub cpus: Vec<u32>,
    /// Whether two slots are threads of one physical core.
    pub siblings: bool,
    /// Whether the slots span packages.
    pub packages: bool,
    /// Whether all slots share a last-level cache; `None` where the kernel does not say.
    pub one_cache: Option<bool>,
}

/// Chooses processors for `count` slots from those that this process may run on.
///
/// # Errors
/// [`Missing`] if it may run on fewer than `count`.
pub fn choose_slots(count: u32) -> Found<Slots> {
    let allowed = allowed_cpus()
        .map_err(|e| Missing::new("processors", e.to_string(), "allow sched_getaffinity to this process"))?;
    let topology = Topology::read().unwrap_or_default();
    choose_slots_from(count, &allowed, &topology)
}

/// Processors for as many slots as this process has processors, best first: slot 0, 1, 2 … of any plan.
///
/// # Errors
/// [`Error::Missing`] if the kernel does not tell which processors are allowed.
pub fn slots() -> Result<Vec<u32>> {
    let allowed = allowed_cpus()?;
    let topology = Topology::read().unwrap_or_default();
    let all = choose_slots_from(allowed.len() as u32, &allowed, &topology).map_err(Error::Missing)?;
    Ok(all.cpus)
}

/// The processors for the core slots of plans: first two that go together best (distinct cores of one package), then the others
/// that this process may use.
///
/// # Errors
/// [`Error::System`](tollway_core::Error::System) if the kernel does not tell which processors are allowed.
pub fn processors() -> Result<Vec<u32>> {
    let allowed = allowed_cpus()?;
    let mut processors = choose_slots(2).map_or_else(|_| Vec::new(), |pair| pair.cpus);
    processors.extend(allowed.iter().filter(|c| !processors.contains(c)).copied().collect::<Vec<_>>());
    Ok(processors)
}

/// Chooses from a given set; a processor that the topology does not know is a core of its own.
///
/// # Errors
/// [`Missing`] if there are fewer than `count`.
pub fn choose_slots_from(count: u32, allowed: &[u32], topology: &Topology) -> Found<Slots> {
    if allowed.len() < count as usize {
        return Err(Missing::new(
            format!("{count} processors"),
            format!("this process may run on {}", allowed.len()),
            "allow it more (taskset, cpuset, the machine's size), or run what needs fewer cores",
        ));
    }
    let core =
        |cpu: u32| topology.processor(cpu).and_then(|p| p.siblings.iter().min().copied()).unwrap_or(cpu);
    let package = |cpu: u32| topology.processor(cpu).map_or(0, |p| p.package);
    let mates = |cpu: u32| topology.processor(cpu).map(|p| p.cache_mates.as_slice()).unwrap_or_default();
    // One allowed thread of each core first, the cores' other threads after all of them.
    let mut firsts: Vec<u32> = Vec::new();
    let mut others: Vec<u32> = Vec::new();
    for cpu in allowed {
        let list = if firsts.iter().any(|f| core(*f) == core(*cpu)) { &mut others } else { &mut firsts };
        list.push(*cpu);
    }
    // The home is where most cores are close: the same cache, then the same package; the lowest of equals.
    let near = |home: u32, cpu: u32| (!mates(home).contains(&cpu), package(cpu) != package(home));
    let wanted = (count as usize).min(firsts.len());
    let close = |home: u32, shared: bool| {
        firsts
            .iter()
            .filter(|c| if shared { !near(home, **c).0 } else { !near(home, **c).1 })
            .count()
            .min(wanted)
    };
    let home = firsts.iter().copied().rev().max_by_key(|home| (close(*home, true), close(*home, false)));
    if let Some(home) = home {
        firsts.sort_by_key(|cpu| (near(home, *cpu).1, near(home, *cpu).0, *cpu));
        others.sort_by_key(|cpu| (near(home, *cpu).1, near(home, *cpu).0, *cpu));
    }
    let cpus: Vec<u32> = firsts.into_iter().chain(others).take(count as usize).collect();
    let distinct = |key: &dyn Fn(u32) -> i64| {
        let mut keys: Vec<i64> = cpus.iter().map(|cpu| key(*cpu)).collect();
        keys.sort_unstable();
        keys.dedup();
        keys.len()
    };
    let cache = cpus.first().map(|cpu| mates(*cpu)).filter(|mates| !mates.is_empty());
    Ok(Slots {
        siblings: distinct(&|cpu| i64::from(core(cpu))) < cpus.len(),
        packages: distinct(&package) > 1,
        one_cache: cache.map(|mates| cpus.iter().all(|cpu| mates.contains(cpu))),
        cpus,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::Processor;
    use proptest::prelude::*;

    /// Two packages of two cores of two threads, numbered as Linux often does: the threads' second halves come last.
    fn eight() -> Topology {
        let processor = |cpu: u32| {
            let core = cpu % 4;
            let package = i64::from(core / 2);
            let base = core / 2 * 2;
            Processor {
                cpu,
                package,
                siblings: vec![core, core + 4],
                cache_mates: vec![base, base + 1, base + 4, base + 5],
            }
        };
        Topology { processors: (0..8).map(processor).collect() }
    }

    #[test]
    fn distinct_cores_of_one_package_come_first() {
        let all: Vec<u32> = (0..8).collect();
        let two = choose_slots_from(2, &all, &eight()).unwrap();
        assert_eq!(two, Slots { cpus: vec![0, 1], siblings: false, packages: false, one_cache: Some(true) });
        let three = choose_slots_from(3, &all, &eight()).unwrap();
        assert_eq!((three.cpus, three.siblings, three.packages), (vec![0, 1, 2], false, true));
        let five = choose_slots_from(5, &all, &eight()).unwrap();
        assert!(five.siblings);
    }

    #[test]
    fn the_allowed_set_decides() {
        let slots = choose_slots_from(2, &[0, 2, 3, 6], &eight()).unwrap();
        assert_eq!((slots.cpus, slots.packages), (vec![2, 3], false));
        let only_siblings = choose_slots_from(2, &[1, 5], &eight()).unwrap();
        assert_eq!((only_siblings.cpus, only_siblings.siblings), (vec![1, 5], true));
        assert!(choose_slots_from(3, &[1, 5], &eight()).is_err());
    }

    #[test]
    fn an_unknown_topology_is_no_obstacle() {
        let slots = choose_slots_from(2, &[0, 1], &Topology::default()).unwrap();
        assert_eq!(slots, Slots { cpus: vec![0, 1], siblings: false, packages: false, one_cache: None });
        assert!(choose_slots(1).is_ok());
        assert_eq!(super::slots().unwrap().len(), allowed_cpus().unwrap().len());
    }

    proptest! {
        #[test]
        fn slots_are_distinct_and_allowed(set in prop::collection::btree_set(0u32..8, 0..8), count in 0u32..9) {
            let allowed: Vec<u32> = set.into_iter().collect();
            if let Ok(slots) = choose_slots_from(count, &allowed, &eight()) {
                let mut cpus = slots.cpus.clone();
                cpus.sort_unstable();
                cpus.dedup();
                prop_assert_eq!(cpus.len(), count as usize);
                prop_assert!(cpus.iter().all(|c| allowed.contains(c)));
            } else {
                prop_assert!(allowed.len() < count as usize);
            }
        }
    }
}
