//! How long the watched have run: by the processor time clocks of their processes, which are exact at every moment and cost one call a process, however
//! many threads it has.

use std::collections::BTreeMap;
use std::time::Duration;

use tollway_host::samplers::thread_time::process_of;

/// Processor time of processes.
#[derive(Clone, Debug, Default)]
pub(super) struct Clocks {
    /// Of processes that had threads that ended: how long these ran.
    ended: BTreeMap<u32, Duration>,
    /// Of all threads of processes that have ended.
    over: Duration,
}

impl Clocks {
    /// A thread of a process has ended, which ran so long in its life.
    pub fn ended(&mut self, process: u32, ran: Duration) {
        *self.ended.entry(process).or_default() += ran;
    }

    /// How long all ran in their lives: those of the processes that `known` has, and of those that have ended. With each process stands the time of those of its
    /// threads of which the end has not been told here yet. A process that ends is in it by its clock and then by its threads, so that two looks differ by
    /// what was run between them.
    pub fn now(&mut self, known: &BTreeMap<u32, Duration>) -> Duration {
        let over = &mut self.over;
        self.ended.retain(|process, ran| {
            let is_known = known.contains_key(process);
            if !is_known {
                *over += *ran;
            }
            is_known
        });
        let of = |(process, ending): (&u32, &Duration)| {
            let by_threads = || *ending + self.ended.get(process).copied().unwrap_or_default();
            process_of(process.cast_signed()).unwrap_or_else(|_| by_threads())
        };
        self.over + known.iter().map(of).sum::<Duration>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_seen_at_once_and_the_dead_are_not_forgotten() {
        let (me, nobody) = (std::process::id(), 1 << 22);
        let none = Duration::ZERO;
        let mut clocks = Clocks::default();
        let before = clocks.now(&[(me, none), (nobody, none)].into());
        let begun = std::time::Instant::now();
        let mut sum = 0u64;
        while begun.elapsed() < Duration::from_millis(30) {
            sum = sum.wrapping_mul(31).wrapping_add(7);
        }
        std::hint::black_box(sum);
        let ran = clocks.now(&[(me, none)].into()) - before;
        // At least a part of it, whoever else has the processors.
        assert!(ran > Duration::from_millis(1) && ran < Duration::from_secs(10), "{ran:?}");
        // A thread of a process that lives is in its clock already.
        clocks.ended(me, Duration::from_secs(1000));
        clocks.ended(nobody, Duration::from_secs(2000));
        let now = clocks.now(&[(me, none), (nobody, Duration::from_secs(500))].into());
        assert!((2500..3500).contains(&now.as_secs()), "{now:?}");
        assert_eq!(clocks.now(&[].into()), Duration::from_secs(3000));
    }
}
