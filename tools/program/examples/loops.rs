//! Programs that make a known number of system calls, for the bar of counts from slices: `loops NAME COUNT`.

use std::env;
use std::fs::{self, File};
use std::hint::black_box;
use std::io::{Read, Write, pipe};
use std::os::unix::process::parent_id;
use std::process::ExitCode;
use std::thread;

use rustix::process::{getppid, getuid};

/// Calls of a short phase: 20 ms of them (AMD EPYC, 2026), less than there is from one slice to the next.
const PHASE: usize = 200_000;
/// By how much long ones are longer: half a second.
const LONGER: usize = 20;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [name, count] = &arguments[..] else { return usage() };
    let Ok(count) = count.parse::<usize>() else { return usage() };
    match name.as_str() {
        "getppid" => calls(count),
        // By a function of the C library, as most programs make calls: what counting adds is another.
        "getppid-by-libc" => (0..count).for_each(|_| _ = black_box(parent_id())),
        "stat" => stats(count),
        // So many openat and close.
        "open" => (0..count).for_each(|_| drop(File::open("/dev/null").unwrap())),
        // So many read and write.
        "read-write" => moves(count),
        // So many write and read, of two threads.
        "pipes" => streams(count),
        // So many getppid of one thread, while another computes and makes a getuid now and then, and a third stats.
        "threads" => unlike(count),
        // So many getppid, in phases between which it computes or stats.
        "short-phases" => phases(count, 1),
        "phases" => phases(count, LONGER),
        _ => return usage(),
    }
    ExitCode::SUCCESS
}

fn usage() -> ExitCode {
    eprintln!("loops getppid|getppid-by-libc|stat|open|read-write|pipes|threads|short-phases|phases COUNT");
    ExitCode::from(2)
}

fn calls(count: usize) {
    for _ in 0..count {
        black_box(getppid());
    }
}

fn stats(count: usize) {
    for _ in 0..count {
        black_box(fs::metadata("/dev/null").unwrap());
    }
}

fn moves(count: usize) {
    let (mut from, mut to) = (File::open("/dev/zero").unwrap(), File::create("/dev/null").unwrap());
    let mut bytes = [0; 512];
    for _ in 0..count {
        from.read_exact(&mut bytes).unwrap();
        to.write_all(&bytes).unwrap();
    }
}

fn streams(count: usize) {
    let (mut from, mut to) = pipe().unwrap();
    let reads = thread::spawn(move || {
        let mut bytes = [0; 64];
        (0..count).for_each(|_| from.read_exact(&mut bytes).unwrap());
    });
    (0..count).for_each(|_| to.write_all(&[1; 64]).unwrap());
    reads.join().unwrap();
}

fn unlike(count: usize) {
    thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..count / 1000 {
                compute(20_000);
                black_box(getuid());
            }
        });
        scope.spawn(|| stats(count / 10));
        calls(count);
    });
}

fn phases(count: usize, longer: usize) {
    let mut left = count;
    while left > 0 {
        let now = left.min(PHASE * longer);
        calls(now);
        compute(30_000_000 * longer as u64);
        stats(now / 10);
        left -= now;
    }
}

fn compute(rounds: u64) {
    let sum = (0..rounds).fold(0u64, |sum, round| sum.rotate_left(5) ^ black_box(round));
    black_box(sum);
}
