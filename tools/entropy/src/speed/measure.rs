//! Draws with so many threads for so long, and counts.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use tollway_entropy::engine::source::{Counts, Kind};
use tollway_host::cpu::pin_current_thread;
use tollway_host::samplers::thread_time;

use crate::args::speed::Speed;

/// One source with so many threads, each time it was measured.
pub struct Measured {
    /// Which source.
    pub source: String,
    /// How many threads drew.
    pub threads: u32,
    /// Each time.
    pub rounds: Vec<Round>,
}

/// What one measurement came to, over all threads.
#[derive(Clone, Copy, Debug, Default)]
pub struct Round {
    /// How long it took, in seconds.
    pub seconds: f64,
    /// What was drawn.
    pub counts: Counts,
    /// Processor time of all threads, in seconds.
    pub cpu_seconds: f64,
}

/// Bytes asked for at once: as much as fits well into the first cache, and rounds end soon.
const BLOCK: usize = 4096;
/// The same of a source that gives a few bytes a microsecond.
const SMALL_BLOCK: usize = 64;

/// How many threads draw at once: 1, 2, 4, 8 and so on, and `most`.
pub fn steps(most: u32) -> Vec<u32> {
    let doubled = std::iter::successors(Some(1), |threads: &u32| threads.checked_mul(2));
    doubled.take_while(|threads| *threads < most).chain([most]).collect()
}

/// Every source with each of these numbers of threads, in turns.
pub fn all(sources: &[Kind], steps: &[u32], options: &Speed, cpus: &[u32]) -> Result<Vec<Measured>> {
    let mut measured: Vec<Measured> = Vec::new();
    for source in sources {
        let every = steps.iter().map(|threads| Measured {
            source: source.to_string(),
            threads: *threads,
            rounds: Vec::new(),
        });
        measured.extend(every);
    }
    for _ in 0..options.runs {
        for (i, one) in measured.iter_mut().enumerate() {
            let kind = &sources[i / steps.len()];
            one.rounds.push(round(kind, one.threads, Duration::from_secs_f64(options.time), cpus)?);
        }
    }
    Ok(measured)
}

/// One measurement. Threads begin together; each ends its draw after the time is up.
fn round(kind: &Kind, threads: u32, time: Duration, cpus: &[u32]) -> Result<Round> {
    let start = Barrier::new(threads as usize);
    let over = AtomicBool::new(false);
    let each = thread::scope(|scope| {
        let running: Vec<_> = (0..threads as usize)
            .map(|i| {
                let (start, over) = (&start, &over);
                scope.spawn(move || draw(kind, start, over, time, cpus[i % cpus.len()], i == 0))
            })
            .collect();
        running
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|_| Err(anyhow!("a thread that drew has died"))))
            .collect::<Vec<_>>()
    });
    let mut whole = Round::default();
    for one in each {
        let one = one?;
        whole.counts.bytes += one.counts.bytes;
        whole.counts.draws += one.counts.draws;
        whole.counts.failures += one.counts.failures;
        whole.cpu_seconds += one.cpu_seconds;
        whole.seconds = whole.seconds.max(one.seconds);
    }
    Ok(whole)
}

/// What one thread does. The first says when time is up. All reach the barrier, else the others would wait for ever.
fn draw(
    kind: &Kind,
    start: &Barrier,
    over: &AtomicBool,
    time: Duration,
    cpu: u32,
    first: bool,
) -> Result<Round> {
    let prepared = kind.open().and_then(|mut source| {
        // The size of blocks: one that takes less than a tenth of the time.
        let begun = Instant::now();
        source.fill(&mut [0; SMALL_BLOCK])?;
        let small = begun.elapsed() * (BLOCK / SMALL_BLOCK) as u32 > time / 10;
        Ok((source, if small { SMALL_BLOCK } else { BLOCK }))
    });
    let pinned = pin_current_thread(cpu);
    start.wait();
    let (mut source, block) = prepared.map_err(tollway_core::Error::from)?;
    pinned?;
    let mut buffer = [0; BLOCK];
    let (before, cpu_before) = (source.counts(), thread_time::thread());
    let begun = Instant::now();
    while !over.load(Ordering::Relaxed) {
        source.fill(&mut buffer[..block]).map_err(tollway_core::Error::from)?;
        std::hint::black_box(&mut buffer);
        if first && begun.elapsed() >= time {
            over.store(true, Ordering::Relaxed);
        }
    }
    let seconds = begun.elapsed().as_secs_f64();
    let after = source.counts();
    Ok(Round {
        seconds,
        counts: Counts {
            bytes: after.bytes - before.bytes,
            draws: after.draws - before.draws,
            failures: after.failures - before.failures,
        },
        cpu_seconds: (thread_time::thread() - cpu_before).as_secs_f64(),
    })
}

#[cfg(test)]
mod tests {
    use super::steps;

    #[test]
    fn threads_double() {
        for (most, each) in [(1, &[1][..]), (2, &[1, 2]), (6, &[1, 2, 4, 6]), (8, &[1, 2, 4, 8])] {
            assert_eq!(steps(most), each);
        }
        assert_eq!(steps(1024).len(), 11);
    }
}
