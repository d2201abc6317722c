//! Interrupts in ring 3: each that is raised is handled once, and what it interrupted goes on unharmed.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::asleep::Thread;

use super::super::*;
use super::{LONG, MutexGuard, crossing, kvm, limit};

static TAKEN: [AtomicU64; 256] = [const { AtomicU64::new(0) }; 256];
static OVER: AtomicBool = AtomicBool::new(false);

unsafe extern "C" fn count(vector: usize) {
    TAKEN[vector].fetch_add(1, Ordering::SeqCst);
}

/// Uses what the interrupted code may be using: vector registers, flags, every scratch register.
unsafe extern "C" fn disturb(vector: usize) {
    let noise = [vector as f64; 64];
    let mut other = [0.0; 64];
    other.copy_from_slice(std::hint::black_box(&noise));
    std::hint::black_box(other.iter().map(|x| x * 1.5).sum::<f64>());
    if std::is_x86_feature_detected!("avx") {
        // SAFETY: the processor has AVX.
        unsafe {
            std::arch::asm!("vpcmpeqd xmm0, xmm0, xmm0", "vpcmpeqd xmm15, xmm15, xmm15", "vzeroall", out("xmm0") _,
            out("xmm1") _, out("xmm2") _, out("xmm3") _, out("xmm4") _, out("xmm5") _, out("xmm6") _, out("xmm7") _,
            out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _, out("xmm12") _, out("xmm13") _,
            out("xmm14") _, out("xmm15") _)
        };
    }
    TAKEN[vector].fetch_add(1, Ordering::SeqCst);
}

unsafe extern "C" fn fail(_: usize) {
    // SAFETY: it is the test that this is not allowed.
    unsafe { std::arch::asm!("ud2") };
}

/// The right to use KVM where it delivers interrupts; else says why not.
fn interruptible() -> Option<MutexGuard<'static, ()>> {
    let guard = kvm()?;
    if let Err(error) = check_interrupts() {
        tollway_host::requirement::skip_test(&["interrupts"], &error);
        return None;
    }
    Some(guard)
}

fn guest(interrupts: Vec<(u8, InterruptHandler)>, processors: u32) -> (Devices, Vec<Processor>) {
    let devices = Devices::wired(&Wiring { processors, ..Wiring::default() }).unwrap();
    let options = Options { interrupts, ..Options::default() };
    (devices.clone(), MicroGuest::over_own_memory(&devices, &options).unwrap().into_processors())
}

/// Waits until `vector` has been taken `times`.
fn taken(vector: u8, times: u64) -> bool {
    let started = std::time::Instant::now();
    while TAKEN[usize::from(vector)].load(Ordering::SeqCst) < times {
        if started.elapsed() > Duration::from_secs(60) {
            return false;
        }
        std::hint::spin_loop();
    }
    true
}

/// What the probe finds, in words.
#[test]
fn the_probe_ends() {
    let Some(_one) = kvm() else { return };
    match check_interrupts() {
        Ok(()) => println!("interrupts are delivered to ring 3"),
        Err(error) => println!("{error}"),
    }
}

/// A thousand interrupts, each raised when the one before was taken, while the guest computes; every one is counted,
/// and what is computed is right.
#[test]
fn every_interrupt_is_taken() {
    let Some(_one) = interruptible() else { return };
    const TIMES: u64 = 1000;
    const VECTOR: u8 = 0x51;
    let (_devices, mut processors) = guest(vec![(VECTOR, disturb), (0x52, count)], 1);
    let interrupter = processors[0].interrupter().unwrap();
    let before = TAKEN[usize::from(VECTOR)].load(Ordering::SeqCst);
    OVER.store(false, Ordering::SeqCst);
    let raiser = std::thread::spawn(move || {
        let mut all = true;
        let mut cycles = Vec::new();
        for time in 1..=TIMES {
            let start = crossing::clock();
            interrupter.raise(VECTOR);
            all &= taken(VECTOR, before + time);
            cycles.push(crossing::clock() - start);
        }
        interrupter.raise(0x52);
        OVER.store(true, Ordering::SeqCst);
        cycles.sort_unstable();
        (all, (cycles[0], cycles[cycles.len() / 2]))
    });
    let expected = (tollway_payload::work::scramble(9, 1000), [1.25f64; 64].iter().sum::<f64>());
    // SAFETY: stays in registers, its stack, and statics.
    let outcome = unsafe {
        processors[0].run(limit(LONG), move || {
            let (mut rounds, mut wrong) = (0u64, 0u64);
            while !OVER.load(Ordering::SeqCst) {
                let values = std::hint::black_box([1.25f64; 64]);
                let got = (tollway_payload::work::scramble(9, 1000), values.iter().sum::<f64>());
                wrong += u64::from(got != expected);
                rounds += 1;
            }
            (rounds, wrong)
        })
    }
    .unwrap();
    let (all, cycles) = raiser.join().unwrap();
    println!("raised in one thread, handled in the guest: (least, median) {cycles:?} c; {outcome:?}");
    assert!(all);
    assert_eq!(outcome.value.1, 0, "{outcome:?}");
    assert!(outcome.exits.interrupts >= TIMES, "{outcome:?}");
    assert_eq!(TAKEN[usize::from(VECTOR)].load(Ordering::SeqCst), before + TIMES);
}

/// What is raised before a call is taken when it begins, highest vector first; twice the same is once.
#[test]
fn what_was_raised_before_is_taken_first() {
    let Some(_one) = interruptible() else { return };
    static ORDER: AtomicU64 = AtomicU64::new(0);
    unsafe extern "C" fn note(vector: usize) {
        ORDER.store(ORDER.load(Ordering::SeqCst) << 8 | vector as u64, Ordering::SeqCst);
    }
    let (_devices, mut processors) = guest(vec![(0x20, note), (0x91, note), (0xff, note)], 1);
    let interrupter = processors[0].interrupter().unwrap();
    for vector in [0x91, 0x20, 0xff, 0x91] {
        interrupter.raise(vector);
    }
    // SAFETY: looks at a static.
    let outcome = unsafe {
        processors[0].run(Limits::default(), || {
            while ORDER.load(Ordering::SeqCst) < 0x1_0000 {
                std::hint::spin_loop();
            }
        })
    };
    assert_eq!(outcome.unwrap().exits.interrupts, 3);
    assert_eq!(ORDER.load(Ordering::SeqCst), 0x00ff_9120);
}

/// An interrupt ends the sleep of a processor that idles; each processor has interrupts of its own.
#[test]
fn interrupts_end_a_sleep() {
    let Some(_one) = interruptible() else { return };
    let (devices, mut processors) = guest(vec![(0x61, count)], 2);
    let bed = devices.idle_at();
    let interrupter = processors[1].interrupter().unwrap();
    let before = TAKEN[0x61].load(Ordering::SeqCst);
    let idler = Thread::here();
    let raiser = std::thread::spawn(move || {
        idler.falls_asleep();
        interrupter.raise(0x61);
    });
    // SAFETY: idles where the devices say.
    let outcome = unsafe {
        processors[1].run(limit(LONG), move || {
            let rings = crossing::idle(bed);
            while TAKEN[0x61].load(Ordering::SeqCst) == before {
                std::hint::spin_loop();
            }
            rings
        })
    };
    raiser.join().unwrap();
    let exits = ExitCounts { idle: 1, interrupts: 1, ..ExitCounts::default() };
    assert_eq!(outcome.unwrap(), CallOutcome { value: 0, exits });
}

/// A handler that does what it must not ends the call, as do vectors without a handler; the limit holds in a storm.
#[test]
fn bad_interrupts_are_contained() {
    let Some(_one) = interruptible() else { return };
    let (_devices, mut processors) = guest(vec![(0x71, fail), (0x72, count)], 1);
    let interrupter = processors[0].interrupter().unwrap();
    unsafe extern "C" fn forever(_: usize) -> usize {
        loop {
            std::hint::spin_loop();
        }
    }
    for (vector, instruction) in [(0x71, Some("ud2")), (0x90, None)] {
        interrupter.raise(vector);
        // SAFETY: touches nothing.
        let error = unsafe { processors[0].call(forever, 0, Limits::default()) }.unwrap_err();
        println!("{error}");
        assert!(matches!(&error, MicroError::Fault(fault) if fault.instruction == instruction), "{error}");
    }
    let storm = interrupter.clone();
    OVER.store(false, Ordering::SeqCst);
    let raiser = std::thread::spawn(move || {
        while !OVER.load(Ordering::SeqCst) {
            storm.raise(0x72);
        }
    });
    let time = Duration::from_millis(200);
    let started = std::time::Instant::now();
    // SAFETY: touches nothing.
    let error = unsafe { processors[0].call(forever, 0, limit(time)) }.unwrap_err();
    let took = started.elapsed();
    OVER.store(true, Ordering::SeqCst);
    raiser.join().unwrap();
    println!("{error}; {} taken", TAKEN[0x72].load(Ordering::SeqCst));
    assert!(matches!(error, MicroError::TimedOut { .. }), "{error}");
    assert!(took < time + Duration::from_secs(60), "{took:?}");
}
