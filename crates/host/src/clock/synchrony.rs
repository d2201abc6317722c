//! Whether the counters of two cores agree: a stamp is thrown to and fro, and time must not run backwards on the way.
//!
//! The thrower reads its counter, the catcher reads its own when it sees the throw, the thrower reads again when it
//! sees the answer. If the counters agree, the second reading lies between the other two; how far it lies outside is
//! how far time ran backwards. Each round also bounds the offset: it is not above `b − a1` and not below `b − a2`.
//! Offsets smaller than the shortest passage (hundreds of ticks) cannot be seen, nor do they matter to anything that
//! has to pass between cores itself.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use serde::{Deserialize, Serialize};
use tollway_core::{Clock, Missing, Ticks};

use super::Tsc;
use crate::cpu::pin_current_thread;
use crate::found::Found;

/// Rounds at most.
const ROUNDS: u64 = 20_000;

/// Ticks at most, about 10 ms, if there are [`ENOUGH`] rounds by then.
const BUDGET: Ticks = 30_000_000;

/// Ticks at most, about 0.3 s: on a busy machine the two threads rarely run at the same time.
const LIMIT: Ticks = 30 * BUDGET;

/// Ticks at most until the first round has come to its end, some 3 s: who is displaced on one core for long may be so on the other next.
const LIMIT_OF_FIRST: Ticks = 10 * LIMIT;

/// Rounds that make a comparison.
const ENOUGH: u64 = 100;

/// Two cores' counters compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Synchrony {
    /// The processors compared.
    pub cpus: (u32, u32),
    /// Rounds played.
    pub rounds: u64,
    /// The most by which time ran backwards from one core to the other, in ticks; 0 is what should be.
    pub backwards: Ticks,
    /// The second counter is ahead of the first by no less than this, in ticks.
    pub offset_lo: i64,
    /// The second counter is ahead of the first by no more than this, in ticks.
    pub offset_hi: i64,
}

impl Synchrony {
    /// The shortest way that a cache line took there and back, in ticks: how far these processors are from each other. A
    /// hypervisor may move virtual ones to cores that are further apart, and back.
    pub fn there_and_back(&self) -> Ticks {
        self.offset_hi.abs_diff(self.offset_lo)
    }
}

/// A cache line of its own for each direction.
#[repr(align(128))]
struct Lane(AtomicU64);

const OVER: u64 = u64::MAX;

/// Compares the time-stamp counters of two processors, in about 10 ms; on a busy machine up to 0.3 s, or 3 s if they hardly run at the same time.
///
/// # Errors
/// [`Missing`] if they are the same processor, if this process may not run on one of them, or if not one round came
/// to its end in time.
pub fn synchrony(first: u32, second: u32) -> Found<Synchrony> {
    let what = "comparison of two cores' counters";
    if first == second {
        return Err(Missing::new(what, "it takes two processors", "allow this process a second processor"));
    }
    let refused = |e: tollway_core::Error| Missing::new(what, e.to_string(), "allow both processors");
    let (throw, answer) = (Lane(AtomicU64::new(0)), Lane(AtomicU64::new(0)));
    let mut found = Synchrony {
        cpus: (first, second),
        rounds: 0,
        backwards: 0,
        offset_lo: i64::MIN,
        offset_hi: i64::MAX,
    };

    thread::scope(|scope| {
        let catcher = scope.spawn(|| {
            if let Err(e) = pin_current_thread(second) {
                answer.0.store(OVER, Ordering::Release);
                return Err(e);
            }
            let mut seen = 0;
            loop {
                let thrown = throw.0.load(Ordering::Acquire);
                if thrown == OVER {
                    return Ok(());
                }
                if thrown != seen {
                    seen = thrown;
                    answer.0.store(Tsc.open(), Ordering::Release);
                }
                std::hint::spin_loop();
            }
        });
        // A thread of its own, so that the caller's affinity stays as it is.
        let thrower = scope.spawn(|| {
            let played = pin_current_thread(first).map(|()| play(&throw.0, &answer.0, &mut found));
            throw.0.store(OVER, Ordering::Release);
            played
        });
        let thrown = thrower.join().expect("the thrower does not panic");
        let caught = catcher.join().expect("the catcher does not panic");
        thrown.and(caught).map_err(refused)
    })?;
    if found.rounds == 0 {
        return Err(Missing::new(what, "no round came to its end in 3 s", "try on a quieter machine"));
    }
    Ok(found)
}

fn play(throw: &AtomicU64, answer: &AtomicU64, found: &mut Synchrony) {
    let start = Tsc.now();
    let mut before = answer.load(Ordering::Acquire);
    for _ in 0..ROUNDS {
        let a1 = Tsc.open();
        throw.store(a1, Ordering::Release);
        let b = loop {
            let b = answer.load(Ordering::Acquire);
            let spent = Tsc.now().saturating_sub(start);
            if b != before && b != OVER {
                break b;
            }
            let most = match found.rounds {
                0 => LIMIT_OF_FIRST,
                1..ENOUGH => LIMIT,
                ENOUGH.. => BUDGET,
            };
            if b == OVER || spent > most {
                return;
            }
            std::hint::spin_loop();
        };
        let a2 = Tsc.open();
        before = b;
        found.rounds += 1;
        found.backwards = found.backwards.max(a1.saturating_sub(b)).max(b.saturating_sub(a2));
        found.offset_hi = found.offset_hi.min(b.wrapping_sub(a1) as i64);
        found.offset_lo = found.offset_lo.max(b.wrapping_sub(a2) as i64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::allowed_cpus;

    #[test]
    fn the_counters_of_two_cores_agree_or_it_is_seen() {
        let cpus = allowed_cpus().unwrap();
        let [first, second, ..] = cpus[..] else {
            eprintln!("skipped: one processor only → allow a second");
            return;
        };
        let found = synchrony(first, second).unwrap();
        println!("{found:?}");
        assert!(found.rounds > 0 && found.offset_lo <= found.offset_hi || found.backwards > 0, "{found:?}");
        // Within a processor it takes some tens of nanoseconds, and from one to another less than a microsecond.
        // Where the two rarely ran at the same time, no round may have been as short.
        let way = found.there_and_back();
        assert!(way >= 20 && (way < 20_000 || found.rounds < 10_000), "{found:?}");
        assert_eq!(allowed_cpus().unwrap(), cpus, "the caller's affinity is untouched");
    }

    #[test]
    fn one_core_cannot_be_compared_with_itself() {
        assert!(synchrony(0, 0).is_err());
        assert!(synchrony(0, 8000).is_err());
    }
}
