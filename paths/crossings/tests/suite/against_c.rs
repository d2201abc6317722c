//! Calls alone held against a plain C program that times each call by itself: twins/calls.c.
//!
//! It has one channel where ours are several, and single stamps where ours are of batches, so that what is compared is more than the
//! same code twice. They need agree by half only, in the median of some turns, and that where nothing else runs.

use std::process::Command;
use std::{env, fs, thread};

use tollway_core::{Clock, Lot, Missing, Params, Place, TenantKind};
use tollway_crossings::engine::asleep::WakeUp;
use tollway_crossings::engine::single::{KINDS, SystemCall};
use tollway_crossings::engine::{Caller, Exchange, Operation, Server};
use tollway_host::clock::RunClock;
use tollway_host::cpu;
use tollway_host::requirement::{program, skip_test};

use crate::quiet::is_quiet;
use crate::turn::alone;

/// What both time.
const KINDS_OF_BOTH: [&str; 13] = [
    "read-pipe",
    "write-pipe",
    "read-unix",
    "write-unix",
    "read-tcp",
    "write-tcp",
    "connect-tcp",
    "epoll-wait",
    "poll",
    "futex-wake-none",
    "fstat",
    "write-null",
    "mmap",
];

/// A wake-up on the same core, which both time as well.
const WAKE_UP: &str = "wake-up";

/// How often each is asked, in turns.
const TURNS: usize = 5;

/// By how much they may differ.
const BETWEEN: std::ops::RangeInclusive<f64> = 1.0 / 1.5..=1.5;

const SAMPLES: usize = 2000;

fn place() -> Place {
    Place {
        tenant: TenantKind::Thread,
        peers: Vec::new(),
        doorbells: Vec::new(),
        exits: None,
        lot: Lot::default(),
    }
}

/// The median of ours, in ticks a call.
fn ours(kind: &str) -> f64 {
    let size = KINDS.iter().find(|k| k.name == kind).unwrap().most.min(1);
    let params = Params::new().with("kind", kind).with("size", size);
    let mut operation = SystemCall::prepare(&params, &place()).unwrap();
    let clock = RunClock::chosen();
    let calls = u64::from(operation.operations());
    let mut samples: Vec<u64> = (0..SAMPLES)
        .map(|_| {
            if operation.uses_up() {
                operation.restock();
            }
            let begun = clock.open();
            operation.once();
            clock.close() - begun
        })
        .collect();
    operation.verify(SAMPLES as u64 * calls).unwrap();
    samples.sort_unstable();
    samples[SAMPLES / 2] as f64 / calls as f64
}

/// The median of a wake-up on the same core, between two threads of ours.
fn wake_up() -> f64 {
    let cpu = cpu::allowed_cpus().unwrap()[0];
    let params = Params::new().with("placement", "same");
    let (mut waker, memory) = WakeUp::caller(&params, &place()).unwrap();
    let mut sleeper = WakeUp::server(&params, memory).unwrap();
    let sleeping = thread::spawn(move || {
        cpu::pin_current_thread(cpu).unwrap();
        sleeper.serve().unwrap()
    });
    let waking = thread::spawn(move || {
        cpu::pin_current_thread(cpu).unwrap();
        let clock = RunClock::chosen();
        let mut samples: Vec<u64> = (0..SAMPLES)
            .map(|_| {
                waker.put_to_sleep();
                let begun = clock.open();
                waker.ask();
                clock.close() - begun
            })
            .collect();
        waker.stop().unwrap();
        let served = sleeping.join().unwrap();
        waker.verify(SAMPLES as u64, served).unwrap();
        samples.sort_unstable();
        samples[SAMPLES / 2] as f64
    });
    waking.join().unwrap()
}

#[test]
fn calls_cost_what_a_plain_c_program_says() {
    let cc = match program("cc", "gcc") {
        Ok(cc) => cc,
        Err(missing) => return skip_test(&["cc"], &missing),
    };
    if cfg!(debug_assertions) {
        let missing = Missing::new("an optimised build", "what is ours counts", "cargo test --release");
        return skip_test(&[], &missing);
    }
    let _alone = alone();
    let folder = env::temp_dir().join(format!("tollway-twin-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let twin = folder.join("calls");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/twins/calls.c");
    let made = Command::new(cc).args(["-O2", "-o"]).arg(&twin).arg(source).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let mut differ = Vec::new();
    for kind in KINDS_OF_BOTH.into_iter().chain([WAKE_UP]) {
        let turn = |_| {
            let theirs = Command::new(&twin).arg(kind).output().unwrap();
            assert!(theirs.status.success(), "{kind}: {}", String::from_utf8_lossy(&theirs.stderr));
            let theirs: f64 = String::from_utf8_lossy(&theirs.stdout).trim().parse().unwrap();
            let ours = if kind == WAKE_UP { wake_up() } else { ours(kind) };
            (ours, theirs)
        };
        let mut seen: Vec<_> = (0..TURNS).map(turn).collect();
        println!("{kind}: ours, theirs {seen:?}");
        seen.sort_by(|a, b| (a.0 / a.1).total_cmp(&(b.0 / b.1)));
        let (ours, theirs) = seen[TURNS / 2];
        if is_quiet() && !BETWEEN.contains(&(ours / theirs)) {
            differ.push((kind, seen));
        }
    }
    fs::remove_dir_all(&folder).unwrap();
    assert!(differ.is_empty(), "{differ:#?}");
}
