//! Bars of micro-guests: how fast sixty of them run, what memory one takes, how fast code in one is.

use std::hint::black_box;
use std::time::Instant;

use anyhow::{Context, Result};
use tollway_core::{Clock, Error};
use tollway_host::clock::RunClock;
use tollway_host::cpu::pin_current_thread;
use tollway_stats::{Interval, paired_ratio};
use tollway_tenant::micro::{self, Devices, Limits, MicroGuest, Options};

use crate::CONFIDENCE;
use crate::bar::{Bar, Row, Verdict};
use crate::only::Only;

/// How many guests run at once, and how often that is tried.
const GUESTS: usize = 60;
const STARTS: usize = 20;
/// How many guests share the memory that is measured, so that what others do meanwhile weighs little.
const CROWD: usize = 200;
const CROWDS: usize = 7;
/// Pairs of inside and outside, each the best of some tries; steps of the loop.
const PAIRS: usize = 40;
const TRIES: usize = 3;
const STEPS: u64 = 1_000_000;

/// Measures those that are wanted.
pub fn measure(only: &Only) -> Vec<Row> {
    let bars = [
        (format!("{GUESTS} micro-guests have run"), Bar::AtMost(200.0, "ms")),
        ("memory of a micro-guest".to_owned(), Bar::AtMost(1.0, "MB")),
        ("arithmetic in a micro-guest".to_owned(), Bar::Agrees(0.02)),
    ];
    let measures = [start_up, memory, arithmetic];
    bars.into_iter()
        .zip(measures)
        .filter(|((name, _), _)| only.wants(name))
        .map(|((name, bar), measure)| row(name, bar, possible().and_then(|()| measure())))
        .collect()
}

/// Whether there is a KVM here.
fn possible() -> Result<()> {
    micro::check().map_err(Error::from)?;
    Ok(())
}

fn row(name: String, bar: Bar, measured: Result<(String, Interval)>) -> Row {
    let (ours, measured, verdict) = match measured {
        Ok((ours, m)) => (ours, format!("{:.3} [{:.3}, {:.3}]", m.estimate, m.lo, m.hi), bar.judge(&m)),
        Err(error) => (String::new(), String::new(), Verdict::without_figure(&error)),
    };
    Row { name, ours, measured, bar: bar.to_string(), verdict, ..Row::default() }
}

unsafe extern "C" fn increment(value: usize) -> usize {
    value + 1
}

/// So many guests, each of which has executed code while all the others exist.
fn running(count: usize) -> Result<(Vec<Devices>, Vec<MicroGuest>)> {
    let devices = (0..count).map(|_| Devices::new(0)).collect::<Result<Vec<_>, _>>()?;
    let mut guests = MicroGuest::several(&devices, &Options::default())?;
    for (number, guest) in guests.iter_mut().enumerate() {
        // SAFETY: adds one.
        let value = unsafe { guest.call(increment, number, Limits::default()) }?.value;
        anyhow::ensure!(value == number + 1, "guest {number} returned {value}");
    }
    Ok((devices, guests))
}

/// Milliseconds from the call to the last guest's first return; with the longest of all tries.
fn start_up() -> Result<(String, Interval)> {
    let mut times = Vec::with_capacity(STARTS);
    for _ in 0..STARTS {
        let begun = Instant::now();
        let guests = running(GUESTS)?;
        times.push(begun.elapsed().as_secs_f64() * 1e3);
        drop(guests);
    }
    let worst = times.iter().copied().fold(0.0, f64::max);
    Ok((format!("worst {worst:.1}"), tollway_stats::figure(&[times], CONFIDENCE)?))
}

/// Megabytes of the whole machine's memory (the kernel's included) that one of many guests takes; with what of it is the
/// process's.
fn memory() -> Result<(String, Interval)> {
    drop(running(CROWD)?);
    let (mut all, mut own) = (Vec::with_capacity(CROWDS), Vec::with_capacity(CROWDS));
    for _ in 0..CROWDS {
        let before = (kilobytes("/proc/meminfo", "MemFree:")?, kilobytes("/proc/self/smaps_rollup", "Pss:")?);
        let guests = running(CROWD)?;
        let after = (kilobytes("/proc/meminfo", "MemFree:")?, kilobytes("/proc/self/smaps_rollup", "Pss:")?);
        drop(guests);
        let each = |kilobytes: f64| kilobytes * 1024.0 / 1e6 / CROWD as f64;
        all.push(each(before.0 - after.0));
        own.push(each(after.1 - before.1));
    }
    own.sort_unstable_by(f64::total_cmp);
    let pss = format!("Pss {:.3}", own[CROWDS / 2]);
    Ok((pss, tollway_stats::figure(&[all], CONFIDENCE)?))
}

/// A line of a file of the kernel's, in KiB.
fn kilobytes(file: &str, name: &str) -> Result<f64> {
    let text = std::fs::read_to_string(file).with_context(|| format!("reading {file}"))?;
    let value =
        text.lines().find_map(|line| line.strip_prefix(name)?.split_ascii_whitespace().next()?.parse().ok());
    value.with_context(|| format!("{file} has no number after {name}"))
}

/// Ticks inside over ticks outside, of the same code by the same thread, in turns; with the ticks of a step outside.
fn arithmetic() -> Result<(String, Interval)> {
    let cpus = tollway_host::cpu::allowed_cpus()?;
    std::thread::scope(|scope| scope.spawn(|| on_one_processor(cpus[0])).join())
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn on_one_processor(cpu: u32) -> Result<(String, Interval)> {
    pin_current_thread(cpu)?;
    let clock = RunClock::chosen();
    let devices = Devices::new(0)?;
    // Made by this thread, so that it sees the thread's own memory.
    let mut guest = MicroGuest::over_own_memory(&devices, &Options::default())?;
    let timed = || {
        let before = clock.now();
        black_box(scramble(black_box(1), STEPS));
        (clock.now() - before) as f64
    };
    // SAFETY: stays in registers; the benchmark has made sure that the clock is the time-stamp counter.
    let mut inside = || unsafe { guest.run(Limits::default(), timed) }.map(|outcome| outcome.value);
    // The first time inside each page is new to the guest.
    inside()?;
    let mut pairs = Vec::with_capacity(PAIRS);
    for _ in 0..PAIRS {
        let (mut least_outside, mut least_inside) = (f64::MAX, f64::MAX);
        for _ in 0..TRIES {
            least_outside = least_outside.min(timed());
            least_inside = least_inside.min(inside()?);
        }
        pairs.push(vec![(least_outside, least_inside)]);
    }
    let outside = pairs.iter().map(|pair| pair[0].0).fold(f64::MAX, f64::min) / STEPS as f64;
    Ok((format!("{outside:.2} outside"), paired_ratio(&pairs)?.interval(CONFIDENCE)?))
}

/// Dependent steps of xorshift.
#[inline(never)]
fn scramble(mut x: u64, steps: u64) -> u64 {
    for _ in 0..steps {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    x
}
