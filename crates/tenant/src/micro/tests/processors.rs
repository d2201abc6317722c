//! Several virtual processors in one guest, each in a thread of its own.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use super::super::*;
use super::{LONG, increment, kvm, limit};

/// A guest with so many processors.
fn with_processors(processors: u32) -> (Devices, Vec<Processor>) {
    let devices = Devices::wired(&Wiring { processors, ..Wiring::default() }).unwrap();
    let guest = MicroGuest::over_own_memory(&devices, &Options::default()).unwrap();
    (devices, guest.into_processors())
}

/// Calls each processor in a thread of its own, at the same time; what each call brought.
fn at_once<R: Send>(
    processors: &mut [Processor],
    time: impl Fn(usize) -> Duration + Sync,
    f: impl Fn(usize) -> R + Sync,
) -> Vec<Result<CallOutcome<R>, MicroError>> {
    // What is moved into a closure is carried on the guest's stack, so that it does not matter that these threads, and
    // so their stacks, are newer than the guest.
    let (time, f) = (&time, &f);
    std::thread::scope(|scope| {
        let threads: Vec<_> = processors
            .iter_mut()
            .map(|processor| {
                scope.spawn(move || {
                    let number = processor.number();
                    // SAFETY: every caller's closure stays within memory that existed when the guest was made.
                    unsafe { processor.run(limit(time(number)), move || f(number)) }
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// Two processors hand a word to and fro: no exit, and neither could do it alone.
#[test]
fn two_processors_pass_a_word() {
    let Some(_one) = kvm() else { return };
    const ROUNDS: u64 = 1000;
    let ball = Box::new(AtomicU64::new(0));
    let (_devices, mut processors) = with_processors(2);
    let outcomes = at_once(
        &mut processors,
        |_| LONG,
        |number| {
            if number == 0 {
                tollway_payload::work::ping(&ball, ROUNDS)
            } else {
                tollway_payload::work::pong(&ball, ROUNDS);
                0
            }
        },
    );
    for outcome in outcomes {
        let outcome = outcome.unwrap();
        assert_eq!(outcome.exits, ExitCounts::default());
        if outcome.value > 0 {
            println!("a round between two processors: {} c", outcome.value / ROUNDS);
        }
    }
    assert_eq!(ball.load(Ordering::Relaxed), 2 * ROUNDS);
}

/// Atomic additions of four processors add up, and each has a stack of its own.
#[test]
fn atomics_add_up() {
    let Some(_one) = kvm() else { return };
    const EACH: u64 = 200_000;
    let sum = Box::new(AtomicU64::new(0));
    let (_devices, mut processors) = with_processors(4);
    let outcomes = at_once(
        &mut processors,
        |_| LONG,
        |number| {
            let mut local = [0u64; 32];
            for i in 0..EACH {
                sum.fetch_add(1, Ordering::Relaxed);
                local[i as usize % 32] += number as u64;
            }
            std::hint::black_box(&local).iter().sum::<u64>()
        },
    );
    for (number, outcome) in outcomes.into_iter().enumerate() {
        assert_eq!(outcome.unwrap().value, EACH * number as u64);
    }
    assert_eq!(sum.load(Ordering::Relaxed), 4 * EACH);
}

/// A fault on one processor while the other runs: told of the one, and the other goes on to its right result.
#[test]
fn a_fault_on_one_leaves_the_other() {
    let Some(_one) = kvm() else { return };
    let (running, over) = (Box::new(AtomicBool::new(false)), Box::new(AtomicBool::new(false)));
    let (_devices, mut processors) = with_processors(2);
    let (first, second) = processors.split_at_mut(1);
    std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            // SAFETY: waits for words that existed when the guest was made.
            unsafe {
                second[0].run(limit(LONG), || {
                    running.store(true, Ordering::Release);
                    let mut rounds = 0u64;
                    while !over.load(Ordering::Acquire) {
                        rounds += 1;
                    }
                    rounds
                })
            }
        });
        while !running.load(Ordering::Acquire) && !other.is_finished() {
            std::thread::yield_now();
        }
        for _ in 0..3 {
            // SAFETY: it is the test that this is not allowed.
            let result = unsafe { first[0].run(Limits::default(), || (64 as *const u8).read_volatile()) };
            assert!(matches!(&result, Err(MicroError::Fault(f)) if f.address == Some(64)), "{result:?}");
        }
        // SAFETY: adds one.
        assert_eq!(unsafe { first[0].call(increment, 4, Limits::default()) }.unwrap().value, 5);
        over.store(true, Ordering::Release);
        assert!(other.join().unwrap().unwrap().value > 0);
    });
}

/// An endless loop on one is stopped by its limit; the other's result is right, and both can be called again.
#[test]
fn an_endless_loop_on_one_leaves_the_other() {
    let Some(_one) = kvm() else { return };
    let (_devices, mut processors) = with_processors(2);
    let time = Duration::from_millis(300);
    let started = Instant::now();
    let outcomes = at_once(
        &mut processors,
        |number| if number == 0 { time } else { LONG },
        |number| {
            if number == 0 {
                loop {
                    std::hint::spin_loop();
                }
            }
            tollway_payload::work::scramble(7, 1_000_000)
        },
    );
    let took = started.elapsed();
    assert!(matches!(outcomes[0], Err(MicroError::TimedOut { .. })), "{outcomes:?}");
    assert_eq!(outcomes[1].as_ref().unwrap().value, tollway_payload::work::scramble(7, 1_000_000));
    assert!(took >= time && took < time + Duration::from_secs(60), "{took:?}");
    for outcome in at_once(&mut processors, |_| LONG, |number| number + 40) {
        assert!(outcome.unwrap().value >= 40);
    }
}

/// As many as may be, and no more; the machine lives as long as the last of them.
#[test]
fn the_number_of_processors_is_limited() {
    let Some(_one) = kvm() else { return };
    for processors in [0, 17, 1 << 20] {
        let wiring = Wiring { processors, ..Wiring::default() };
        assert!(matches!(Devices::wired(&wiring), Err(MicroError::TooMany { most: 16, .. })));
    }
    let (devices, mut processors) = with_processors(16);
    drop(devices);
    let mut last = processors.pop().unwrap();
    drop(processors);
    // SAFETY: adds one.
    assert_eq!(unsafe { last.call(increment, 1, Limits::default()) }.unwrap().value, 2);
}
