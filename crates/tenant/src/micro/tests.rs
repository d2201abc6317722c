//! Real machines on `/dev/kvm`: what runs inside, what leaves, and what must not hang.
//!
//! Without `/dev/kvm` each test says why it does nothing, unless `TOLLWAY_REQUIRE` names `micro-guest` or `kvm`.

use std::arch::x86_64::_rdtsc;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::MemfdFlags;
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags};
use tollway_host::samplers::thread_time;
use tollway_payload::crossing::{self, Batch};
use tollway_payload::work;

use super::*;

mod faults;
mod idle;
mod interrupts;
mod many;
mod processors;
mod ring0;

/// One at a time: they measure, and there may be two processors.
static ONE: Mutex<()> = Mutex::new(());

/// The right to use KVM, if this machine has one; else says why not.
fn kvm() -> Option<MutexGuard<'static, ()>> {
    let guard = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Err(error) = check() {
        tollway_host::requirement::skip_test(&["micro-guest", "kvm"], &error);
        return None;
    }
    Some(guard)
}

fn guest() -> MicroGuest {
    MicroGuest::over_own_memory(&Devices::new(0).unwrap(), &Options::default()).unwrap()
}

/// Entries of a folder.
fn count(folder: &str) -> usize {
    std::fs::read_dir(folder).unwrap().count()
}

/// Longer than anything takes, however little of the processor others leave: only what is lost is ended by it.
const LONG: Duration = Duration::from_secs(600);

fn limit(time: Duration) -> Limits {
    Limits { time }
}

unsafe extern "C" fn increment(value: usize) -> usize {
    value + 1
}

/// A loop of `count` crossings of one kind; what came of it and the cycles of one.
fn batch(guest: &mut MicroGuest, entry: Entry, place: usize, count: u64) -> (CallOutcome, u64) {
    let mut batch = Box::new(Batch { count, place, cycles: 0 });
    // SAFETY: the payload's loops do nothing but their crossing; the batch was allocated in memory that is mapped.
    let outcome = unsafe { guest.call(entry, &raw mut *batch as usize, limit(Duration::from_secs(20))) };
    (outcome.unwrap(), batch.cycles / count)
}

/// What this machine has; the kinds of KVM differ by a factor of hundreds, so the measurement is clear.
#[test]
fn the_kind_is_measured() {
    let Some(_one) = kvm() else { return };
    let found = check().unwrap();
    println!("{}: {:.1} c for a step in ring 0", found.kind, found.ring0_step_cycles);
    let flag = std::fs::read_to_string("/proc/cpuinfo").unwrap();
    let has = |name| flag.lines().any(|l| l.starts_with("flags") && l.split(' ').any(|w| w == name));
    assert_eq!(found.kind == KvmKind::Software, !has("vmx") && !has("svm"));
}

/// A function of this program computes the same inside as outside, over memory of this program.
#[test]
fn a_sum_is_the_same_inside() {
    let Some(_one) = kvm() else { return };
    let values: Vec<u64> = (0..100_000).map(|i| i * i).collect();
    let mut guest = guest();
    // SAFETY: only reads memory that existed when the guest was made.
    let outcome = unsafe { guest.run(Limits::default(), || work::sum(&values)) }.unwrap();
    assert_eq!(outcome, CallOutcome { value: work::sum(&values), exits: ExitCounts::default() });
    // SAFETY: adds one.
    let outcome = unsafe { guest.call(increment, 41, Limits::default()) }.unwrap();
    assert_eq!(outcome.value, 42);
}

/// Vector registers work: explicit moves, glibc's memcpy of its own choice, and AVX-512 kept over exits.
#[test]
fn vector_registers_work() {
    let Some(_one) = kvm() else { return };
    if !std::is_x86_feature_detected!("avx") {
        return println!("skipped: no AVX");
    }
    let source: Vec<u8> = (0..1_000_003u32).map(|i| (i * 31 % 251) as u8).collect();
    let (mut by_avx, mut by_libc) = (vec![0u8; source.len()], vec![0u8; source.len()]);
    let mut guest = guest();
    // SAFETY: reads and writes memory that existed when the guest was made.
    unsafe {
        let copy = || {
            work::copy_avx(&mut by_avx, &source);
            by_libc.copy_from_slice(&source);
        };
        guest.run(Limits::default(), copy).unwrap();
    }
    assert!(by_avx == source && by_libc == source);
    if std::is_x86_feature_detected!("avx512f") {
        let mut kept = [0u64; 8];
        // SAFETY: only touches registers, one port and a variable on the stack, which is mapped.
        let exits = unsafe {
            guest.run(Limits::default(), || {
                std::arch::asm!("vpternlogd zmm31, zmm31, zmm31, 0xff", "2:", "out 0xe9, al", "dec ecx", "jnz 2b",
                    "vmovdqu64 [{}], zmm31", in(reg) &raw mut kept, inout("ecx") 10 => _, out("zmm31") _);
            })
        };
        assert_eq!(exits.unwrap().exits.port, 10);
        assert_eq!(kept, [u64::MAX; 8]);
    }
}

/// The program and the guest read one clock.
#[test]
fn the_clock_is_common() {
    let Some(_one) = kvm() else { return };
    let mut guest = guest();
    for _ in 0..100 {
        let before = crossing::clock();
        // SAFETY: reads the clock.
        let inside = unsafe { guest.run(Limits::default(), crossing::clock) }.unwrap().value;
        let after = crossing::clock();
        assert!(before < inside && inside < after, "{before} {inside} {after}");
    }
}

/// Integer work runs at the same speed inside, by the time that this thread has a processor.
#[test]
fn work_runs_at_native_speed() {
    let Some(_one) = kvm() else { return };
    let mut guest = guest();
    let scramble = || std::hint::black_box(work::scramble(std::hint::black_box(1), 1_000_000));
    let pair = |_| {
        let before = thread_time::thread();
        // SAFETY: stays in registers.
        unsafe { guest.run(Limits::default(), scramble) }.unwrap();
        let between = thread_time::thread();
        scramble();
        (between - before).as_secs_f64() / (thread_time::thread() - between).as_secs_f64()
    };
    let mut ratios: Vec<f64> = (0..21).map(pair).collect();
    ratios.sort_by(f64::total_cmp);
    println!("inside / outside: {ratios:.3?}");
    assert!((0.7..1.4).contains(&ratios[10]), "{ratios:?}");
}

/// Every output and every store to the exit page is one exit, neither more nor less; the price list of this machine.
#[test]
fn exits_are_counted_exactly() {
    let Some(_one) = kvm() else { return };
    let devices = Devices::new(0).unwrap();
    let mut guest = MicroGuest::over_own_memory(&devices, &Options::default()).unwrap();
    let ways = devices.exits();
    let (outcome, port) = batch(&mut guest, crossing::port_outs, ways.port.into(), 1000);
    assert_eq!(outcome.exits, ExitCounts { port: 1000, ..ExitCounts::default() });
    let (outcome, mmio) = batch(&mut guest, crossing::mmio_stores, ways.store_to, 1000);
    assert_eq!(outcome.exits, ExitCounts { mmio: 1000, ..ExitCounts::default() });
    let (outcome, cpuid) = batch(&mut guest, crossing::cpuids, 0, 1000);
    assert_eq!(outcome.exits, ExitCounts::default());
    let before = crossing::clock();
    for _ in 0..200 {
        // SAFETY: adds one.
        unsafe { guest.call(increment, 1, Limits::default()) }.unwrap();
    }
    let call = (crossing::clock() - before) / 200;
    println!("c each: port {port}, mmio {mmio}, cpuid {cpuid}, an empty call {call}");
}

/// A doorbell's event counts every store, and the program sees no exit.
#[test]
fn doorbells_ring() {
    let Some(_one) = kvm() else { return };
    let devices = Devices::new(2).unwrap();
    let mut guest = MicroGuest::over_own_memory(&devices, &Options::default()).unwrap();
    for (bell, count) in devices.doorbells().into_iter().zip([1000u64, 7]) {
        let (outcome, cycles) = batch(&mut guest, crossing::mmio_stores, bell.store_to, count);
        assert_eq!(outcome.exits, ExitCounts::default());
        let mut rung = [0u8; 8];
        // SAFETY: reads eight bytes from a descriptor that is open as long as `devices`.
        assert_eq!(unsafe { libc::read(bell.wakes, rung.as_mut_ptr().cast(), 8) }, 8);
        assert_eq!(u64::from_ne_bytes(rung), count);
        println!("doorbell: {cycles} c");
    }
    assert!(matches!(Devices::new(1 << 20), Err(MicroError::TooMany { .. })));
}

/// CPUID inside gives the vendor of outside.
#[test]
fn cpuid_answers_inside() {
    let Some(_one) = kvm() else { return };
    // SAFETY: one instruction.
    let inside = unsafe { guest().run(Limits::default(), || crossing::cpuid(0, 0)) }.unwrap().value;
    assert_eq!(inside[1..], crossing::cpuid(0, 0)[1..]);
}

/// A hypercall comes back with KVM's "not permitted" for ring 3, by the kernel alone; or as an exit that is counted.
#[test]
fn hypercalls_come_back() {
    let Some(_one) = kvm() else { return };
    let mut guest = guest();
    let (outcome, cycles) = batch(&mut guest, crossing::hypercalls, 0, 100);
    println!("hypercall: {cycles} c, {outcome:?}");
    assert!(outcome.exits.hypercall == 100 || outcome.value as isize == -1);
}

/// Memory that the program took away under the guest is an error, not a hang.
#[test]
fn memory_that_is_gone_is_an_error() {
    let Some(_one) = kvm() else { return };
    let len = 1 << 16;
    // SAFETY: a new mapping replaces nothing.
    let place = unsafe {
        rustix::mm::mmap_anonymous(
            ptr::null_mut(),
            len,
            ProtFlags::READ | ProtFlags::WRITE,
            MapFlags::PRIVATE,
        )
    }
    .unwrap();
    let mut guest = guest();
    // SAFETY: the mapping is ours, and nobody has it in use.
    unsafe { rustix::mm::mprotect(place, len, MprotectFlags::empty()) }.unwrap();
    let address = place as usize;
    // SAFETY: reads memory that may not be read: the guest's affair.
    let error =
        unsafe { guest.run(Limits::default(), || (address as *const u64).read_volatile()) }.unwrap_err();
    println!("{error}");
    assert!(matches!(error, MicroError::MemoryGone { .. } | MicroError::Fault(_)), "{error}");
    // SAFETY: adds one.
    assert_eq!(unsafe { guest.call(increment, 1, Limits::default()) }.unwrap().value, 2);
    // SAFETY: the mapping is ours.
    unsafe { rustix::mm::munmap(place, len) }.unwrap();
}

/// A thread of the program and a guest play ping-pong over shared memory: no exit.
#[test]
fn shared_memory_without_exits() {
    let Some(_one) = kvm() else { return };
    const ROUNDS: u64 = 300;
    let file = rustix::fs::memfd_create("tollway-ball", MemfdFlags::CLOEXEC).unwrap();
    rustix::fs::ftruncate(&file, 4096).unwrap();
    let protection = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a new mapping replaces nothing; it stays for the rest of the process.
    let ball: &'static AtomicU64 = unsafe {
        &*rustix::mm::mmap(ptr::null_mut(), 4096, protection, MapFlags::SHARED, &file, 0).unwrap().cast()
    };
    let mut guest = guest();
    let other = std::thread::spawn(|| work::ping(ball, ROUNDS));
    // SAFETY: only touches the shared word.
    let result = unsafe { guest.run(limit(LONG), || work::pong(ball, ROUNDS)) };
    assert_eq!(result.unwrap().exits, ExitCounts::default());
    assert_eq!(ball.load(Ordering::Acquire), 2 * ROUNDS);
    println!("a round of shared memory: {} c", other.join().unwrap() / ROUNDS);
}

/// A guest can be made in one thread and called in another, whose thread-local storage it then sees.
#[test]
fn a_guest_can_change_threads() {
    let Some(_one) = kvm() else { return };
    std::thread_local! { static MINE: std::cell::Cell<u32> = const { std::cell::Cell::new(1) } }
    let ((give, take), (set, is_set)) =
        (std::sync::mpsc::channel::<MicroGuest>(), std::sync::mpsc::channel());
    let other = std::thread::spawn(move || {
        MINE.set(7);
        set.send(()).unwrap();
        let mut guest = take.recv().unwrap();
        // SAFETY: reads one word of the calling thread's storage, which existed when the guest was made.
        unsafe { guest.run(Limits::default(), || MINE.get()) }.unwrap().value
    });
    is_set.recv().unwrap();
    let mut guest = guest();
    // SAFETY: as above.
    assert_eq!(unsafe { guest.run(Limits::default(), || MINE.get()) }.unwrap().value, 1);
    give.send(guest).unwrap();
    assert_eq!(other.join().unwrap(), 7);
}

/// Small allocations inside work as long as the allocator needs no system call.
#[test]
fn small_allocations_work() {
    let Some(_one) = kvm() else { return };
    drop(vec![1u8; 64]);
    // SAFETY: the allocator has memory of this size at hand.
    let boxed = unsafe { guest().run(Limits::default(), || Box::new(17u64)) }.unwrap().value;
    assert_eq!(*boxed, 17);
}

/// A mapping that is left out is a page fault.
#[test]
fn what_is_left_out_is_not_there() {
    let Some(_one) = kvm() else { return };
    // SAFETY: a new mapping replaces nothing.
    let place = unsafe {
        rustix::mm::mmap_anonymous(
            ptr::null_mut(),
            4096,
            ProtFlags::READ | ProtFlags::WRITE,
            MapFlags::PRIVATE,
        )
    }
    .unwrap() as usize;
    let range = place..place + 4096;
    let options = Options { leave_out: vec![range], ..Options::default() };
    let mut guest = MicroGuest::over_own_memory(&Devices::new(0).unwrap(), &options).unwrap();
    // SAFETY: reads one word.
    let result = unsafe { guest.run(Limits::default(), || (place as *const u64).read_volatile()) };
    let error = result.unwrap_err();
    assert!(matches!(&error, MicroError::Fault(f) if f.address == Some(place as u64)), "{error}");
    // SAFETY: the mapping is ours.
    unsafe { rustix::mm::munmap(place as *mut _, 4096) }.unwrap();
}

/// The clock of the guest is the program's at once, not from zero.
#[test]
fn a_new_guest_does_not_start_a_clock_of_its_own() {
    let Some(_one) = kvm() else { return };
    let mut guest = guest();
    // SAFETY: the instruction exists on every x86-64; inside it is the same one.
    let (before, inside, after) =
        unsafe { (_rdtsc(), guest.run(Limits::default(), || _rdtsc()).unwrap().value, _rdtsc()) };
    assert!(before < inside && inside < after, "{before} {inside} {after}");
}
