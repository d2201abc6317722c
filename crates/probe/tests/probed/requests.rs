//! Requests of which it is known what they pay.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::thread;
use std::time::Duration;

use crate::asleep::sleeper;
use crate::pause::pause;
use crate::quiet::is_quiet;
use tollway_core::Error;
use tollway_host::requirement::skip_test;
use tollway_probe::{Paid, Probe};

/// How long a thread is let sleep.
const SLEEP: Duration = Duration::from_millis(20);

/// `None`, with the reason and the remedy, where it cannot be.
fn probe() -> Option<Probe> {
    match Probe::by_the_kernel() {
        Ok(probe) => Some(probe),
        Err(Error::Missing(missing)) => {
            skip_test(&["bpf"], &missing);
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn calls(times: u64) {
    for _ in 0..times {
        // SAFETY: no address is passed.
        unsafe { libc::syscall(libc::SYS_getppid) };
    }
}

fn fails() {
    // SAFETY: no address is passed, and there is no such descriptor.
    unsafe { libc::syscall(libc::SYS_close, -1) };
}

#[test]
fn calls_and_failures_are_exact() {
    let Some(probe) = probe() else { return };
    for times in [0, 1, 7, 1000, 100_000] {
        let request = probe.request();
        calls(times);
        fails();
        let paid = request.paid();
        assert_eq!((paid.calls, paid.failed, paid.ran), (Some(times + 1), Some(1), None));
        assert!(paid.inside.unwrap() > Duration::ZERO && paid.inside.unwrap() < paid.took, "{paid:?}");
    }
    assert_eq!(probe.lost().unwrap(), 0);
}

#[test]
fn a_mark_makes_no_system_call() {
    let Some(probe) = probe() else { return };
    // The first of a thread looks for its slot.
    let _ = probe.request().paid();
    let outer = probe.request();
    for _ in 0..100_000 {
        let inner = probe.request().paid();
        assert_eq!(inner.calls, Some(0));
    }
    let paid = outer.paid();
    assert_eq!((paid.calls, paid.failed), (Some(0), Some(0)));
    println!("a mark and its end: {:?}, without optimisation", paid.took / 100_000);
}

#[test]
fn requests_in_one_another() {
    let Some(probe) = probe() else { return };
    let outer = probe.request();
    calls(3);
    let inner = probe.request();
    calls(5);
    assert_eq!(inner.paid().calls, Some(5));
    assert_eq!(outer.paid().calls, Some(8));
}

#[test]
fn sleeps_and_the_time_away() {
    let Some(probe) = probe() else { return };
    let mut sleep = sleeper(5, || pause(SLEEP));
    let request = probe.request();
    (0..5).for_each(|_| sleep());
    let paid = request.paid();
    assert_eq!((paid.calls, paid.sleeps), (Some(5), Some(5)), "{paid:?}");
    let (away, took) = (paid.away.unwrap(), paid.took);
    assert!(away >= 5 * SLEEP && away <= took, "{paid:?}");
}

#[test]
fn wake_ups_made_and_had() {
    const ROUNDS: u64 = 1000;
    let Some(probe) = probe() else { return };
    let (mut there, mut to) = std::io::pipe().unwrap();
    let (mut back, mut from) = std::io::pipe().unwrap();
    let other = thread::spawn(move || {
        let mut byte = [0];
        while there.read(&mut byte).unwrap() == 1 {
            from.write_all(&byte).unwrap();
        }
    });
    let request = probe.request();
    for _ in 0..ROUNDS {
        to.write_all(&[1]).unwrap();
        back.read_exact(&mut [0]).unwrap();
    }
    let paid = request.paid();
    drop(to);
    other.join().unwrap();
    assert_eq!(paid.calls, Some(2 * ROUNDS));
    // Who finds the byte there already does not sleep; who is displaced need not.
    let (sleeps, had) = (paid.sleeps.unwrap(), paid.woken_here.unwrap() + paid.woken_across.unwrap());
    let made = paid.wakes_here.unwrap() + paid.wakes_across.unwrap();
    assert!(sleeps <= ROUNDS && had.abs_diff(sleeps) <= ROUNDS / 10 + 5, "{paid:?}");
    let least = if is_quiet() { ROUNDS / 4 } else { 0 };
    assert!(made > least && made < ROUNDS + ROUNDS / 4, "{paid:?}");
}

#[test]
fn faults_on_fresh_pages() {
    const PAGES: usize = 500;
    for probe in [probe(), Some(Probe::by_usage().unwrap())].into_iter().flatten() {
        // SAFETY: a new mapping at an address of the kernel's choice.
        let memory = unsafe {
            let (rights, kind) =
                (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
            let memory = libc::mmap(std::ptr::null_mut(), PAGES * 4096, rights, kind, -1, 0);
            libc::madvise(memory, PAGES * 4096, libc::MADV_NOHUGEPAGE);
            memory.cast::<u8>()
        };
        let request = probe.request();
        for page in 0..PAGES {
            // SAFETY: within the mapping.
            unsafe { memory.add(page * 4096).write_volatile(1) };
        }
        let paid = request.paid();
        let faults = paid.faults.unwrap();
        assert!((PAGES as u64..PAGES as u64 + 20).contains(&faults), "{paid:?}");
        // SAFETY: nothing refers to it any more.
        unsafe { libc::munmap(memory.cast(), PAGES * 4096) };
    }
}

#[test]
fn a_signal() {
    extern "C" fn handler(_: libc::c_int) {}
    let Some(probe) = probe() else { return };
    // SAFETY: the handler does nothing.
    unsafe { libc::signal(libc::SIGUSR1, handler as *const () as libc::sighandler_t) };
    let request = probe.request();
    for _ in 0..10 {
        // SAFETY: to this thread, which has a handler.
        unsafe { libc::raise(libc::SIGUSR1) };
    }
    assert_eq!(request.paid().signals, Some(10));
}

/// More than there are slots, one after the other; and many at once, each with its own totals.
#[test]
fn threads_come_and_go() {
    let Some(probe) = probe() else { return };
    let one = |times: u64| {
        let request = probe.request();
        calls(times);
        assert_eq!(request.paid().calls, Some(times));
    };
    for turn in 0..6000 {
        thread::scope(|scope| scope.spawn(|| one(turn % 7)).join().unwrap());
    }
    thread::scope(|scope| {
        for times in 0..200 {
            scope.spawn(move || one(times));
        }
    });
    assert_eq!(probe.lost().unwrap(), 0);
}

#[test]
fn two_probes_by_turns() {
    let (Some(one), Some(other)) = (probe(), probe()) else { return };
    for times in 0..50 {
        let (in_one, in_other) = (one.request(), other.request());
        // To change from one to the other a thread looks for its slot, which is a call.
        let _ = one.request();
        let marks = in_one.paid().calls.unwrap();
        drop(in_other);
        let request = one.request();
        calls(times);
        assert_eq!(request.paid().calls, Some(times));
        assert!(marks < 20, "{marks}");
    }
}

#[test]
fn a_forked_child_is_not_taken_for_its_parent() {
    let Some(probe) = probe() else { return };
    let _ = probe.request().paid();
    // SAFETY: the child makes system calls only, and ends without what its parent has registered.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let request = probe.request();
        calls(3);
        let unseen = request.paid().calls.is_none();
        // SAFETY: as above.
        unsafe { libc::_exit(if unseen { 7 } else { 1 }) };
    }
    let mut status = 0;
    // SAFETY: the status is ours.
    unsafe { libc::waitpid(child, &raw mut status, 0) };
    assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 7, "{status:x}");
}

/// What a request of the parent's was marked with is another thread's in the child, made by whatever call:
/// begun before or after, it is not priced there, and the probe says why.
#[test]
fn request_in_a_child_that_another_call_made_has_no_bill() {
    for probe in [probe(), Some(Probe::by_usage().unwrap())].into_iter().flatten() {
        let before = probe.request();
        // SAFETY: clone(2) without flags is fork(2): no stack and no other address is passed. The child makes
        // system calls, and ends at once.
        let child = unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) };
        if child == 0 {
            calls(3);
            let nothing = |paid: Paid| paid == Paid { took: paid.took, ..Paid::default() };
            let is_told = nothing(before.paid());
            let after = probe.request();
            calls(3);
            let paid = after.paid();
            let is_told = is_told && paid.calls.is_none() && !probe.unseen().is_empty();
            // SAFETY: as above.
            unsafe { libc::_exit(if is_told { 7 } else { 1 }) };
        }
        let mut status = 0;
        // SAFETY: the status is ours.
        unsafe { libc::waitpid(child as i32, &raw mut status, 0) };
        assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 7, "{status:x}");
    }
}

#[test]
fn by_usage_what_cannot_be_seen_is_not_0() {
    let probe = Probe::by_usage().unwrap();
    let mut sleep = sleeper(1, || pause(SLEEP));
    let request = probe.request();
    sleep();
    calls(100_000);
    let paid = request.paid();
    assert!(paid.sleeps >= Some(1) && paid.ran > Some(Duration::from_micros(100)), "{paid:?}");
    assert!(paid.took >= SLEEP);
    let none = Paid {
        took: paid.took,
        ran: paid.ran,
        sleeps: paid.sleeps,
        displaced: paid.displaced,
        faults: paid.faults,
        ..Paid::default()
    };
    assert_eq!(paid, none);
    assert!(probe.unseen()[0].contains("neither system calls"));
}

/// Not a test: it is run by one, as a process of its own.
#[test]
fn helper() {
    if std::env::var_os("TOLLWAY_PROBED").is_some() {
        let probe = Probe::here().unwrap();
        let mut sleep = sleeper(1, || ());
        let request = probe.request();
        sleep();
        let paid = request.paid();
        println!("paid {:?} {} . {}", paid.calls, paid.sleeps.unwrap() >= 1, probe.unseen().join("; "));
    }
}

#[test]
fn without_root_it_says_what_it_cannot_see() {
    if std::env::var("USER").is_ok_and(|user| user != "root") {
        println!("skipped: not root");
        return;
    }
    let exe = std::env::temp_dir().join(format!("tollway-probe-{}", std::process::id()));
    fs::copy(std::env::current_exe().unwrap(), &exe).unwrap();
    fs::set_permissions(&exe, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = Command::new("setpriv");
    command.args([
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
        "--inh-caps=-all",
        "--bounding-set=-all",
    ]);
    command
        .arg(&exe)
        .args(["--exact", "requests::helper", "--nocapture"])
        .env("TOLLWAY_PROBED", "1")
        .current_dir("/");
    let output = command.output();
    fs::remove_file(&exe).unwrap();
    match output {
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stdout);
            assert!(text.contains("paid None true"), "{text}");
            assert!(text.contains("CAP_BPF") && text.contains("neither system calls"), "{text}");
        }
        Err(error) => println!("skipped: setpriv: {error}"),
    }
}
