//! Guests with memory of their own: the payload's image in them, its ways out, its speed and its price.
//!
//! Without `/dev/kvm` each test says why it does nothing, unless `TOLLWAY_REQUIRE` names `micro-guest` or `kvm`.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::turn::kvm;
use tollway_payload::crossing::{self, Batch};
use tollway_payload::{Entry, IMAGE, work};
use tollway_tenant::micro::{
    CallOutcome, Devices, ExitCounts, Image, IsolatedGuest, IsolatedOptions, Limits, MicroError, Ring,
    Window, Wiring,
};

const NO_EXITS: ExitCounts = ExitCounts { port: 0, mmio: 0, hypercall: 0, idle: 0, interrupts: 0, other: 0 };

fn image() -> Image {
    Image::from_elf(IMAGE).unwrap()
}

/// A guest of the payload, and its window.
fn guest() -> (IsolatedGuest, Window) {
    let window = Window::new(1 << 16).unwrap();
    let devices = Devices::new(0).unwrap();
    (IsolatedGuest::new(&image(), &window, &devices, &IsolatedOptions::default()).unwrap(), window)
}

fn call(guest: &mut IsolatedGuest, entry: Entry, argument: usize) -> CallOutcome {
    guest.call(entry as usize, argument, Limits { time: Duration::from_secs(20) }).unwrap()
}

/// A loop of `count` crossings of one kind at `place`; what came of it and the cycles of one.
fn batch(
    guest: &mut IsolatedGuest,
    window: &Window,
    entry: Entry,
    place: usize,
    count: u64,
) -> (CallOutcome, u64) {
    window.word(0).unwrap().store(count, Ordering::Relaxed);
    window.word(8).unwrap().store(place as u64, Ordering::Relaxed);
    assert_eq!(std::mem::offset_of!(Batch, cycles), 16);
    let outcome = call(guest, entry, IsolatedGuest::WINDOW);
    (outcome, window.word(16).unwrap().load(Ordering::Relaxed) / count)
}

/// Values go in by the window, a sum comes back; it is that of the same code outside.
#[test]
fn a_sum_is_the_same_inside() {
    let Some(_one) = kvm() else { return };
    let values: Vec<u64> = (0..8192u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
    let (mut guest, window) = guest();
    for (number, value) in values.iter().enumerate() {
        window.write(number * 8, &value.to_le_bytes()).unwrap();
    }
    let outcome = call(&mut guest, Entry::Sum, values.len());
    assert_eq!(outcome, CallOutcome { value: work::sum(&values) as usize, exits: NO_EXITS });
    assert_eq!(call(&mut guest, Entry::Increment, 41).value, 42);
    assert_eq!(call(&mut guest, Entry::Scramble, 1000).value, work::scramble(1, 1000) as usize);
}

/// Bytes go from the window through the guest's own memory and back, by vector registers.
#[test]
fn vector_registers_work() {
    let Some(_one) = kvm() else { return };
    if !std::is_x86_feature_detected!("avx") {
        return println!("skipped: no AVX");
    }
    let (mut guest, window) = guest();
    let half = window.len() / 2;
    let source: Vec<u8> = (0..half as u32).map(|i| (i * 31 % 251) as u8).collect();
    window.write(0, &source).unwrap();
    assert_eq!(call(&mut guest, Entry::CopyAvx, 0).value, half);
    let mut target = vec![0; half];
    window.read(half, &mut target).unwrap();
    assert!(target == source);
}

/// Exits are counted one by one and cost what they cost in guests of the other kind.
#[test]
fn exits_are_counted_exactly() {
    let Some(_one) = kvm() else { return };
    let (mut guest, window) = guest();
    let (outcome, port) = batch(&mut guest, &window, Entry::PortOuts, 0xe9, 1000);
    assert_eq!(outcome.exits, ExitCounts { port: 1000, ..NO_EXITS });
    let (outcome, cpuid) = batch(&mut guest, &window, Entry::Cpuids, 0, 1000);
    assert_eq!(outcome.exits, NO_EXITS);
    let (outcome, hypercall) = batch(&mut guest, &window, Entry::Hypercalls, 0, 100);
    assert!(outcome.exits.hypercall == 100 || outcome.value as isize == -1);
    let before = crossing::clock();
    for _ in 0..200 {
        call(&mut guest, Entry::Increment, 1);
    }
    let empty = (crossing::clock() - before) / 200;
    println!("c each: port {port}, cpuid {cpuid}, hypercall {hypercall}, an empty call {empty}");
}

/// Doorbells raise their events without an exit; there are as many as were asked for.
#[test]
fn doorbells_ring() {
    let Some(_one) = kvm() else { return };
    let devices = Devices::new(2).unwrap();
    let window = Window::new(1).unwrap();
    let mut guest = IsolatedGuest::new(&image(), &window, &devices, &IsolatedOptions::default()).unwrap();
    for (number, bell) in devices.doorbells().into_iter().enumerate() {
        for _ in 0..3 {
            assert_eq!(call(&mut guest, Entry::Ring, number), CallOutcome { value: 1, exits: NO_EXITS });
        }
        let mut rung = [0u8; 8];
        // SAFETY: reads eight bytes from a descriptor that is open as long as `devices`.
        assert_eq!(unsafe { libc::read(bell.wakes, rung.as_mut_ptr().cast(), 8) }, 8);
        assert_eq!(u64::from_ne_bytes(rung), 3);
    }
    assert_eq!(call(&mut guest, Entry::Ring, 2).value, 0);
}

/// A processor that idles is woken as often as it is rung, and the time limit ends an idling that nobody ends.
#[test]
fn idlers_are_woken() {
    let Some(_one) = kvm() else { return };
    let devices = Devices::new(0).unwrap();
    let window = Window::new(1).unwrap();
    let mut guest = IsolatedGuest::new(&image(), &window, &devices, &IsolatedOptions::default()).unwrap();
    let (waker, word) = (devices.waker(0), window.clone());
    let other = std::thread::spawn(move || {
        for round in 0..20 {
            waker.ring();
            while word.word(0).unwrap().load(Ordering::Acquire) <= round {
                std::thread::yield_now();
            }
        }
    });
    let outcome = call(&mut guest, Entry::Idle, 20);
    other.join().unwrap();
    assert_eq!(outcome, CallOutcome { value: 20, exits: ExitCounts { idle: 20, ..NO_EXITS } });
    let error = guest.call(Entry::Idle as usize, 1, Limits { time: Duration::from_millis(30) }).unwrap_err();
    assert!(matches!(error, MicroError::TimedOut { .. }), "{error}");
}

/// The two processors of one guest see one memory and exchange words without an exit; so do two guests with one window.
#[test]
fn processors_and_guests_share() {
    let Some(_one) = kvm() else { return };
    const ROUNDS: usize = 100;
    let devices = Devices::wired(&Wiring { processors: 2, ..Wiring::default() }).unwrap();
    let window = Window::new(1).unwrap();
    let options = IsolatedOptions::default();
    let two = IsolatedGuest::new(&image(), &window, &devices, &options).unwrap().into_processors();
    let devices = Devices::new(0).unwrap();
    let mut others = Vec::new();
    for _ in 0..2 {
        others.extend(IsolatedGuest::new(&image(), &window, &devices, &options).unwrap().into_processors());
    }
    for (what, pair) in [("processors of a guest", two), ("guests", others)] {
        window.word(0).unwrap().store(0, Ordering::Release);
        let limits = Limits { time: Duration::from_secs(600) };
        let [mut ping, mut pong]: [_; 2] = pair.try_into().unwrap();
        let cycles = std::thread::scope(|scope| {
            let pong = scope.spawn(move || pong.call(Entry::Pong as usize, ROUNDS, limits).unwrap());
            let outcome = ping.call(Entry::Ping as usize, ROUNDS, limits).unwrap();
            assert_eq!((outcome.exits, pong.join().unwrap().exits), (NO_EXITS, NO_EXITS));
            outcome.value
        });
        println!("a round between two {what}: {} c", cycles / ROUNDS);
        assert_eq!(window.word(0).unwrap().load(Ordering::Acquire), 2 * ROUNDS as u64);
    }
}

/// What one processor does wrong ends its own call: the other one goes on.
#[test]
fn a_processor_harms_no_other() {
    let Some(_one) = kvm() else { return };
    let devices = Devices::wired(&Wiring { processors: 2, ..Wiring::default() }).unwrap();
    let window = Window::new(1).unwrap();
    let guest = IsolatedGuest::new(&image(), &window, &devices, &IsolatedOptions::default()).unwrap();
    let [mut bad, mut good]: [_; 2] = guest.into_processors().try_into().unwrap();
    std::thread::scope(|scope| {
        let bad = scope.spawn(move || {
            // What ends by itself gets time for it, however busy the machine is.
            let ends =
                [(Entry::Panic, 20_000), (Entry::Scramble, 20), (Entry::Panic, 20_000), (Entry::Idle, 20)];
            let call = |(entry, ms)| {
                let limits = Limits { time: Duration::from_millis(ms) };
                bad.call(entry as usize, usize::MAX, limits).unwrap_err()
            };
            ends.into_iter().cycle().take(12).map(call).collect::<Vec<_>>()
        });
        let mut count = 0;
        while !bad.is_finished() {
            count = good
                .call(Entry::Increment as usize, count, Limits { time: Duration::from_secs(20) })
                .unwrap()
                .value;
        }
        let errors = bad.join().unwrap();
        println!("{count} calls beside {} and {}", errors[0], errors[1]);
        let late = errors.iter().filter(|error| matches!(error, MicroError::TimedOut { .. })).count();
        assert!(late == 6 && count > 0, "{errors:?}");
        assert!(errors[0].to_string().contains("`ud2`"), "a panic is ud2: {}", errors[0]);
    });
}

/// Integer work takes as long inside as outside, in turns on one processor.
#[test]
fn work_runs_at_native_speed() {
    let Some(_one) = kvm() else { return };
    let (mut guest, _window) = guest();
    let (mut inside, mut outside) = (u64::MAX, u64::MAX);
    for _ in 0..20 {
        inside = inside.min(call(&mut guest, Entry::ScrambleCycles, 1_000_000).value as u64);
        let before = crossing::clock();
        std::hint::black_box(work::scramble(std::hint::black_box(1), 1_000_000));
        outside = outside.min(crossing::clock() - before);
    }
    let ratio = inside as f64 / outside as f64;
    println!("inside : outside {ratio:.3} ({inside} : {outside} c)");
    // A debug build has no such loop outside as the image has.
    if !cfg!(debug_assertions) {
        assert!((0.7..1.4).contains(&ratio), "{ratio}");
    }
}

/// The program's own resident memory, in bytes: pages of statm(5).
fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

/// Sixty at once: made, each called, and nothing left of them.
#[test]
fn sixty_guests() {
    let Some(_one) = kvm() else { return };
    let count = |what: &str| std::fs::read_dir(what).unwrap().count();
    let mappings = || std::fs::read_to_string("/proc/self/maps").unwrap().lines().count();
    drop(guest());
    let (files, maps, memory) = (count("/proc/self/fd"), mappings(), resident());
    let started = Instant::now();
    let first = guest();
    let one = started.elapsed();
    let started = Instant::now();
    let mut guests: Vec<_> = std::iter::once(first).chain((1..60).map(|_| guest())).collect();
    let made = started.elapsed() + one;
    for (number, (guest, _)) in guests.iter_mut().enumerate() {
        assert_eq!(call(guest, Entry::Increment, number).value, number + 1);
    }
    let called = started.elapsed() + one;
    let each = (resident().saturating_sub(memory)) / 60;
    println!("one made in {one:?}, sixty in {made:?}, called by {called:?}; {} KiB each", each >> 10);
    assert!(each < 1 << 20, "{each}");
    drop(guests);
    assert_eq!(count("/proc/self/fd"), files);
    // A test's thread that begins meanwhile has some; of one that each left there would be sixty.
    assert!(mappings() <= maps + 8, "{} after {maps}", mappings());
}

/// Too much of anything, ring 0 where it is emulated, and entries that do not exist.
#[test]
fn what_cannot_be_is_refused() {
    let Some(_one) = kvm() else { return };
    let (image, window, devices) = (image(), Window::new(1).unwrap(), Devices::new(0).unwrap());
    for options in [
        IsolatedOptions { memory_bytes: (1 << 30) + 1, ..IsolatedOptions::default() },
        IsolatedOptions { stack_bytes: usize::MAX, ..IsolatedOptions::default() },
    ] {
        let error = IsolatedGuest::new(&image, &window, &devices, &options).unwrap_err();
        assert!(matches!(error, MicroError::TooMany { .. }), "{error}");
    }
    let options = IsolatedOptions { ring: Ring::Kernel, ..IsolatedOptions::default() };
    match IsolatedGuest::new(&image, &window, &devices, &options) {
        Ok(mut guest) => assert_eq!(call(&mut guest, Entry::Increment, 1).value, 2),
        Err(error) => assert!(matches!(error, MicroError::Unavailable(_)), "{error}"),
    }
    let mut guest = IsolatedGuest::new(&image, &window, &devices, &IsolatedOptions::default()).unwrap();
    let error = guest.call(image.entries(), 0, Limits::default()).unwrap_err();
    assert!(matches!(error, MicroError::NoEntry { .. }), "{error}");
}
