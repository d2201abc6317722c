//! How long the watched have run while they were counted: by the processor time clocks of their processes, which are exact at every moment.

use std::collections::BTreeMap;
use std::time::Duration;

/// Processor time of each process.
#[derive(Clone, Debug, Default)]
pub(super) struct Clocks(BTreeMap<u32, Duration>);

impl Clocks {
    /// Of these processes, as far as they live.
    pub fn of(processes: impl Iterator<Item = u32>) -> Clocks {
        Clocks(processes.filter_map(|process| Some((process, processor_time(process)?))).collect())
    }

    /// How long they ran since an earlier look. A process that ended between is not in it, and one that began is.
    pub fn since(&self, earlier: &Clocks) -> Duration {
        let ran = |(process, now): (&u32, &Duration)| {
            now.saturating_sub(earlier.0.get(process).copied().unwrap_or_default())
        };
        self.0.iter().map(ran).sum()
    }
}

/// The processor time of a process and all its threads (clock_getcpuclockid(3)).
fn processor_time(process: u32) -> Option<Duration> {
    let mut clock = 0;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    let process = libc::pid_t::try_from(process).ok()?;
    // SAFETY: both write one value that is ours.
    let read = unsafe {
        libc::clock_getcpuclockid(process, &raw mut clock) == 0
            && libc::clock_gettime(clock, &raw mut time) == 0
    };
    read.then(|| Duration::new(time.tv_sec.max(0) as u64, time.tv_nsec.clamp(0, 999_999_999) as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_seen_at_once() {
        let me = || Clocks::of([std::process::id(), 1 << 22].into_iter());
        let before = me();
        let begun = std::time::Instant::now();
        let mut sum = 0u64;
        while begun.elapsed() < Duration::from_millis(30) {
            sum = sum.wrapping_mul(31).wrapping_add(7);
        }
        std::hint::black_box(sum);
        let ran = me().since(&before);
        // At least a part of it, whoever else has the processors.
        assert!(ran > Duration::from_millis(1) && ran < Duration::from_secs(10), "{ran:?}");
        assert!(!before.0.contains_key(&(1 << 22)));
    }
}
