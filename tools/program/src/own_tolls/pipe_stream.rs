//! What a stream through a pipe costs both of its ends: a write, what is read of it, and the sleeps and wake-ups that the pipe's room brings.
//!
//! A write by itself finds its pages at hand, in the caches of the one processor that has just read them. In a stream they come from the kernel's
//! lists and were last in another's caches; how many a pipe holds decides how often its ends sleep. So what larger writes bring is no
//! difference of single calls.

use std::fs::File;
use std::io::{Read, Write};
use std::thread;
use std::time::Duration;

use rustix::pipe::{PipeFlags, pipe_with};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use tollway_core::{Error, Placement, Result};
use tollway_host::samplers::thread_time::thread as ran;

use super::Own;
use crate::prices::pipe_stream;

/// Bytes that go through the pipe for a sample.
const BYTES: usize = 8 << 20;
/// Room that the reader has, as cat(1) of GNU coreutils.
const ROOM: usize = 128 << 10;

/// Tolls of all sizes: with both ends on one core, and, where this process may use two, each on one of its own.
pub(super) fn own() -> Vec<Own> {
    let same: [(u64, super::Sample); 3] =
        [(512, sample::<512, false>), (4096, sample::<4096, false>), (65_536, sample::<65_536, false>)];
    let across: [(u64, super::Sample); 3] =
        [(512, sample::<512, true>), (4096, sample::<4096, true>), (65_536, sample::<65_536, true>)];
    let is_possible = processors().is_ok_and(|[first, second]| first != second);
    let of = |placement| {
        move |(size, sample)| Own {
            toll: pipe_stream(size, placement),
            title: "a write into a pipe whose other end reads all the while, for both ends",
            caveats: "By the processor time of a thread that writes 8 MiB and of one that reads them with room for 128 KiB; sleeps, wake-ups and what both do in user mode are in it.",
            sample,
        }
    };
    let across = across.into_iter().filter(|_| is_possible).map(of(Placement::Across));
    same.into_iter().map(of(Placement::Same)).chain(across).collect()
}

/// The first two processors that this process may use; twice the same where there is one.
fn processors() -> std::io::Result<[usize; 2]> {
    let allowed = sched_getaffinity(None)?;
    let mut each = (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu));
    let first = each.next().unwrap_or(0);
    Ok([first, each.next().unwrap_or(first)])
}

fn stay(processor: usize) -> std::io::Result<()> {
    let mut one = CpuSet::new();
    one.set(processor);
    Ok(sched_setaffinity(None, &one)?)
}

/// Writes, and the processor time that both ends had for them.
fn sample<const SIZE: usize, const ACROSS: bool>() -> Result<(u32, Duration)> {
    let failed = |e: std::io::Error| Error::system("measuring a stream through a pipe", e);
    let both = || -> std::io::Result<(u64, Duration)> {
        let [first, second] = processors()?;
        let (from, to) = pipe_with(PipeFlags::CLOEXEC)?;
        let reader = thread::spawn(move || -> std::io::Result<(u64, Duration)> {
            stay(if ACROSS { second } else { first })?;
            let (mut from, mut room, mut came) = (File::from(from), vec![0; ROOM], 0);
            let begun = ran();
            loop {
                match from.read(&mut room)? {
                    0 => return Ok((came, ran().saturating_sub(begun))),
                    some => came += some as u64,
                }
            }
        });
        let writer = thread::spawn(move || -> std::io::Result<Duration> {
            stay(first)?;
            let (mut to, bytes) = (File::from(to), [7; SIZE]);
            let begun = ran();
            for _ in 0..BYTES / SIZE {
                to.write_all(&bytes)?;
            }
            Ok(ran().saturating_sub(begun))
        });
        let panicked = |_| Err(std::io::Error::other("a thread panicked"));
        let wrote = writer.join().unwrap_or_else(panicked)?;
        let (came, read) =
            reader.join().unwrap_or_else(|_| Err(std::io::Error::other("a thread panicked")))?;
        Ok((came, wrote + read))
    };
    let (came, took) = both().map_err(failed)?;
    if came != BYTES as u64 {
        return Err(Error::Wrong(format!("{came} of {BYTES} bytes came out of a pipe")));
    }
    Ok(((BYTES / SIZE) as u32, took))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_has_a_toll_for_each_placement_that_is_possible() {
        let tolls: Vec<_> = own().into_iter().map(|own| own.toll).collect();
        let placements = if processors().unwrap()[0] == processors().unwrap()[1] { 1 } else { 2 };
        assert_eq!(tolls.len(), 3 * placements);
        assert!(tolls.iter().enumerate().all(|(at, toll)| !tolls[..at].contains(toll)), "{tolls:?}");
    }

    #[test]
    fn a_stream_comes_out_whole_and_takes_both_ends_time() {
        for own in own() {
            let (calls, took) = (own.sample)().unwrap();
            let size = own.toll.size.unwrap() as usize;
            assert_eq!(calls as usize, BYTES / size, "{}", own.toll);
            // 8 MiB are copied twice: no machine does that in 100 µs.
            assert!(took > Duration::from_micros(100), "{}: {took:?}", own.toll);
        }
    }
}
