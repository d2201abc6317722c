//! Many guests at once, and many one after another.

use std::fs;
use std::time::Instant;

use crate::eventually::eventually;
use crate::quiet::is_quiet;
use tollway_host::samplers::thread_time;

use super::super::*;
use super::{count, guest, increment, kvm};

/// How much of this thread's processor time sixty machines may take, made and called, where nobody else has a processor.
const BOUND: Duration = Duration::from_millis(400);

/// Sixty machines at once, each to the end of a first call while all the others exist; nothing is left of them.
#[test]
fn sixty_guests() {
    let Some(_one) = kvm() else { return };
    let lines = || own::read().unwrap().lines().filter(|l| l.contains(own::SYSTEM_NAME)).count();
    drop(guest());
    let files = count("/proc/self/fd");
    for _ in 0..2 {
        let (started, had) = (Instant::now(), thread_time::thread());
        let devices: Vec<Devices> = (0..60).map(|_| Devices::new(0).unwrap()).collect();
        let mut guests = MicroGuest::several(&devices, &Options::default()).unwrap();
        let made = started.elapsed();
        for (number, guest) in guests.iter_mut().enumerate() {
            // SAFETY: adds one.
            let outcome = unsafe { guest.call(increment, number, Limits::default()) };
            assert_eq!(outcome.unwrap().value, number + 1);
        }
        let running = started.elapsed();
        let took = thread_time::thread() - had;
        let mappings = own::read().unwrap().lines().count();
        println!(
            "60 guests: made in {made:?}, each had run by {running:?}, {took:?} of a processor; {mappings} mappings"
        );
        assert!(!is_quiet() || took < BOUND, "{took:?}");
        // A page of its own for each, and one set of page tables for all.
        assert_eq!(lines(), 61);
        drop((guests, devices));
    }
    assert_eq!(lines(), 0);
    assert_eq!(count("/proc/self/fd"), files);
}

/// What a process and the machine hold, in bytes and pieces.
#[derive(Debug)]
struct Held {
    files: usize,
    threads: usize,
    mappings: usize,
    resident: u64,
    size: u64,
    kernel: u64,
}

impl Held {
    fn now() -> Held {
        let field = |file: &str, name: &str| -> u64 {
            let text = fs::read_to_string(file).unwrap();
            let line = text.lines().find(|l| l.starts_with(name)).unwrap();
            line.split_ascii_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
        };
        let memory = |name| field("/proc/meminfo", name);
        Held {
            files: count("/proc/self/fd"),
            threads: count("/proc/self/task"),
            mappings: own::read().unwrap().lines().count(),
            resident: field("/proc/self/status", "VmRSS:"),
            size: field("/proc/self/status", "VmSize:"),
            kernel: memory("SUnreclaim:")
                + memory("PageTables:")
                + memory("Percpu:")
                + memory("KernelStack:"),
        }
    }
}

/// Whether this process runs that test and no other, whose threads and descriptors would be counted. If not, one that
/// does is run, and must pass.
fn alone(test: &str) -> bool {
    const ALONE: &str = "TOLLWAY_TEST_ALONE";
    if std::env::var_os(ALONE).is_some() {
        return true;
    }
    let mut other = std::process::Command::new(std::env::current_exe().unwrap());
    let status = other.args(["--exact", test, "--nocapture"]).env(ALONE, "1").status().unwrap();
    assert!(status.success(), "{test}, alone: {status}");
    false
}

/// A thousand guests, one after the other, each called, each tenth stopped by a fault: nothing stays of them.
#[test]
fn a_thousand_cycles_leave_nothing() {
    if !alone("micro::tests::many::a_thousand_cycles_leave_nothing") {
        return;
    }
    let Some(_one) = kvm() else { return };
    unsafe extern "C" fn illegal(_: usize) -> usize {
        // SAFETY: it is the test that this is not allowed.
        unsafe { std::arch::asm!("ud2") };
        0
    }
    let cycle = |number: usize| {
        // Those with a doorbell take 8 ms: see `Machine::build`.
        let devices = Devices::new(u32::from(number.is_multiple_of(20))).unwrap();
        let mut guest = MicroGuest::over_own_memory(&devices, &Options::default()).unwrap();
        // SAFETY: adds one.
        let value = unsafe { guest.call(increment, number, Limits::default()) }.unwrap().value;
        assert_eq!(value, number + 1);
        if number.is_multiple_of(10) {
            // SAFETY: touches nothing.
            let result = unsafe { guest.call(illegal, 0, Limits::default()) };
            assert!(matches!(result, Err(MicroError::Fault(_))), "{result:?}");
        }
    };
    (0..50).for_each(cycle);
    let before = Held::now();
    let started = Instant::now();
    (0..1000).for_each(cycle);
    let took = started.elapsed();
    // The kernel gives some of it back a moment later.
    let close =
        |now: &Held| now.resident < before.resident + (2 << 20) && now.kernel < before.kernel + (8 << 20);
    let mut after = Held::now();
    eventually("its memory is as before", || {
        after = Held::now();
        close(&after)
    });
    println!("1000 cycles in {took:?}\nbefore {before:?}\nafter  {after:?}");
    assert_eq!((after.files, after.threads), (before.files, before.threads));
    // The allocator may have split or joined a mapping of its own.
    assert!(after.mappings <= before.mappings + 2, "{after:?}");
    assert!(after.size <= before.size + (1 << 20), "{after:?}");
}
