//! Guests that wait: asleep by an exit until somebody rings, or awake at a word of shared memory.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use crate::asleep::Thread;
use crate::pause::pause;

use super::super::*;
use super::{LONG, crossing, increment, kvm, limit, work};

fn wired(wiring: &Wiring) -> (Devices, MicroGuest) {
    let devices = Devices::wired(wiring).unwrap();
    let guest = MicroGuest::over_own_memory(&devices, &Options::default()).unwrap();
    (devices, guest)
}

/// Rings before the sleep end it at once and are all counted; each sleep is one exit.
#[test]
fn rings_before_the_sleep_are_kept() {
    let Some(_one) = kvm() else { return };
    let (devices, mut guest) = wired(&Wiring::default());
    let (waker, bed) = (devices.waker(0), devices.idle_at());
    for rings in [1, 5, 1000] {
        (0..rings).for_each(|_| waker.ring());
        // SAFETY: idles where the devices say.
        let outcome = unsafe { guest.run(limit(LONG), || crossing::idle(bed)) }.unwrap();
        assert_eq!(
            outcome,
            CallOutcome { value: rings, exits: ExitCounts { idle: 1, ..ExitCounts::default() } }
        );
    }
}

/// A sleeping guest uses no processor time, is woken by the host, and knows how often it was rung.
#[test]
fn the_host_wakes_a_sleeper() {
    let Some(_one) = kvm() else { return };
    let (devices, mut guest) = wired(&Wiring::default());
    let (waker, bed) = (devices.waker(0), devices.idle_at());
    let nap = Duration::from_millis(100);
    let used = || rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    let (before, started) = (used(), Instant::now());
    let host = std::thread::spawn(move || {
        pause(nap);
        waker.ring();
    });
    // SAFETY: idles where the devices say.
    let outcome = unsafe { guest.run(limit(LONG), || crossing::idle(bed)) }.unwrap();
    let (took, after) = (started.elapsed(), used());
    host.join().unwrap();
    assert_eq!(outcome.value, 1);
    assert!(took >= nap, "{took:?}");
    let used = Duration::try_from(after).unwrap() - Duration::try_from(before).unwrap();
    assert!(used < nap / 2, "asleep for {took:?}, it used {used:?}");
}

/// The processor time that a guest asks for is its thread's: what it works in the guest is in it, what it sleeps is not.
#[test]
fn a_guest_knows_its_processor_time() {
    let Some(_one) = kvm() else { return };
    let (devices, mut guest) = wired(&Wiring::default());
    const STEPS: u64 = 5_000_000;
    let (waker, bed, time) = (devices.waker(0), devices.idle_at(), devices.time_at());
    let idler = Thread::here();
    let host = std::thread::spawn(move || {
        idler.falls_asleep();
        pause(Duration::from_millis(100));
        waker.ring();
    });
    let outside = || tollway_host::samplers::thread_time::thread().as_nanos() as u64;
    let began = outside();
    // SAFETY: idles, and asks for the time, where the devices say.
    let outcome = unsafe {
        guest.run(limit(LONG), || {
            let first = crossing::processor_time(time);
            std::hint::black_box(work::scramble(std::hint::black_box(1), STEPS));
            let worked = crossing::processor_time(time);
            crossing::idle(bed);
            (first, worked, crossing::processor_time(time))
        })
    };
    let outcome = outcome.unwrap();
    host.join().unwrap();
    let (first, worked, slept) = outcome.value;
    assert!(began < first && slept < outside());
    // No processor does ten steps in a nanosecond.
    assert!(worked - first > STEPS / 10, "{} ns worked", worked - first);
    assert!(slept - worked < 20_000_000, "{} ns asleep", slept - worked);
    assert_eq!(outcome.exits, ExitCounts { idle: 1, other: 3, ..ExitCounts::default() });
}

/// A guest that nobody rings is stopped by its limit, and is good for another call.
#[test]
fn a_sleep_without_end_is_stopped() {
    let Some(_one) = kvm() else { return };
    let (devices, mut guest) = wired(&Wiring::default());
    let bed = devices.idle_at();
    let time = Duration::from_millis(150);
    let started = Instant::now();
    // SAFETY: idles where the devices say.
    let error = unsafe { guest.run(limit(time), || crossing::idle(bed)) }.unwrap_err();
    let took = started.elapsed();
    println!("{error}");
    assert!(matches!(error, MicroError::TimedOut { .. }), "{error}");
    assert!(took >= time && took < time + Duration::from_secs(60), "{took:?}");
    // SAFETY: adds one.
    assert_eq!(unsafe { guest.call(increment, 1, Limits::default()) }.unwrap().value, 2);
}

/// Two guests hand a word to and fro; one sleeps until the other's doorbell wakes it. No wake-up is lost, and the one
/// that rings never leaves for the program.
#[test]
fn a_guest_wakes_another() {
    let Some(_one) = kvm() else { return };
    const ROUNDS: u64 = 200;
    let ball = Box::new(AtomicU64::new(0));
    let sleeper = Devices::new(0).unwrap();
    let ringer = Devices::wired(&Wiring { wakes: vec![sleeper.waker(0)], ..Wiring::default() }).unwrap();
    let both = [sleeper, ringer];
    let mut guests = MicroGuest::several(&both, &Options::default()).unwrap();
    let (bed, bell) = (both[0].idle_at(), both[1].doorbells()[0].store_to);
    let mut ringer = guests.pop().unwrap();
    let mut sleeper = guests.pop().unwrap();
    let ball = &ball;
    std::thread::scope(|scope| {
        let asleep = scope.spawn(move || {
            // SAFETY: touches a word that existed before, and the devices.
            unsafe {
                sleeper.run(limit(LONG), move || {
                    for round in 0..ROUNDS {
                        crossing::wait(ball, 2 * round, 1, bed);
                        ball.store(2 * round + 2, Ordering::Release);
                    }
                })
            }
        });
        let before = crossing::clock();
        // SAFETY: as above.
        let rung = unsafe {
            ringer.run(limit(LONG), move || {
                for round in 0..ROUNDS {
                    ball.store(2 * round + 1, Ordering::Release);
                    crossing::mmio_store(bell, 1);
                    while ball.load(Ordering::Acquire) != 2 * round + 2 {
                        std::hint::spin_loop();
                    }
                }
            })
        };
        let cycles = (crossing::clock() - before) / ROUNDS;
        let (rung, slept) = (rung.unwrap().exits, asleep.join().unwrap().unwrap().exits);
        println!(
            "a guest wakes another, which answers in memory: {cycles} c; {} sleeps in {ROUNDS} rounds",
            slept.idle
        );
        assert_eq!(rung, ExitCounts::default());
        // A ring that came after the word had been seen ends one later sleep early: no more than one each.
        assert!(slept.idle >= 1 && slept.idle <= 2 * ROUNDS + 1, "{slept:?}");
        assert_eq!(ExitCounts { idle: 0, ..slept }, ExitCounts::default());
    });
    assert_eq!(ball.load(Ordering::Relaxed), 2 * ROUNDS);
}

/// Two guests that both sleep until the other rings: one lost wake-up would end this by its limit.
#[test]
fn guests_wake_each_other() {
    let Some(_one) = kvm() else { return };
    const ROUNDS: u64 = 200;
    let wakers = [Waker::new().unwrap(), Waker::new().unwrap()];
    let devices = [0, 1].map(|own: usize| {
        let wiring = Wiring {
            wakes: vec![wakers[1 - own].clone()],
            woken_by: vec![wakers[own].clone()],
            ..Wiring::default()
        };
        Devices::wired(&wiring).unwrap()
    });
    let ball = Box::new(AtomicU64::new(0));
    let ball = &ball;
    let guests = MicroGuest::several(&devices, &Options::default()).unwrap();
    std::thread::scope(|scope| {
        let started = crossing::clock();
        let threads: Vec<_> = guests
            .into_iter()
            .zip(&devices)
            .enumerate()
            .map(|(number, (mut guest, devices))| {
                let (bed, bell) = (devices.idle_at(), devices.doorbells()[0].store_to);
                let play = move || {
                    for round in 0..ROUNDS {
                        let mine = 2 * round + number as u64;
                        // SAFETY: in the guest whose devices these are.
                        unsafe {
                            while ball.load(Ordering::Acquire) != mine {
                                crossing::idle(bed);
                            }
                            ball.store(mine + 1, Ordering::Release);
                            crossing::mmio_store(bell, 1);
                        }
                    }
                };
                // SAFETY: touches a word that existed before, and the guest's own devices.
                scope.spawn(move || unsafe { guest.run(limit(LONG), play) })
            })
            .collect();
        for thread in threads {
            let exits = thread.join().unwrap().unwrap().exits;
            assert!(exits.idle > 0 && exits.port + exits.mmio + exits.other == 0, "{exits:?}");
        }
        println!("two guests wake each other: {} c a round", (crossing::clock() - started) / ROUNDS);
    });
    assert_eq!(ball.load(Ordering::Relaxed), 2 * ROUNDS);
}

/// The processors of one guest sleep and are rung one by one.
#[test]
fn processors_sleep_on_their_own() {
    let Some(_one) = kvm() else { return };
    let (devices, mut guest) = wired(&Wiring { processors: 2, ..Wiring::default() });
    let bed = devices.idle_at();
    devices.waker(1).ring();
    devices.waker(1).ring();
    let time = Duration::from_millis(100);
    let [first, second] = guest.processors() else { panic!("two were asked for") };
    // SAFETY: idles where the devices say.
    let (woken, not) = unsafe {
        (
            second.run(limit(LONG), move || crossing::idle(bed)),
            first.run(limit(time), move || crossing::idle(bed)),
        )
    };
    assert_eq!(woken.unwrap().value, 2);
    assert!(matches!(not, Err(MicroError::TimedOut { .. })), "{not:?}");
}

/// A guest that polls a word sees the host's writes without any exit.
#[test]
fn polling_has_no_exit() {
    let Some(_one) = kvm() else { return };
    const ROUNDS: u64 = 200;
    let words = Box::new([AtomicU64::new(0), AtomicU64::new(0)]);
    let (_devices, mut guest) = wired(&Wiring::default());
    let words = &words;
    let over = &AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for round in 1..=ROUNDS {
                words[0].store(round, Ordering::Release);
                while words[1].load(Ordering::Acquire) != round && !over.load(Ordering::Relaxed) {
                    std::thread::yield_now();
                }
            }
        });
        // SAFETY: touches words that existed before.
        let outcome = unsafe {
            guest.run(limit(LONG), move || {
                let mut seen = 0;
                while seen < ROUNDS {
                    seen = crossing::poll(&words[0], seen);
                    words[1].store(seen, Ordering::Release);
                }
                seen
            })
        };
        over.store(true, Ordering::Relaxed);
        assert_eq!(outcome.unwrap(), CallOutcome { value: ROUNDS, exits: ExitCounts::default() });
    });
}
