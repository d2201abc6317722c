//! What cannot be opened, what ends in the middle, and what is left behind.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tollway_capture::engine::bpf::Program;
use tollway_capture::engine::source::{Kind, Placement, Read, Settings, Source};
use tollway_wire::{Cable, delete_link, set_mtu, set_up};

use crate::asleep::Thread;

use super::cable::{drain, now, on_a_cable, open, settings};

#[test]
fn errors_name_the_place_and_the_remedy() {
    on_a_cable(|_| {
        let said = |interface: &str, settings: &Settings| {
            Source::open(interface, settings).err().expect("an error").to_string()
        };
        for kind in Kind::ALL {
            let error = said("nowhere", &settings(kind));
            assert!(error.contains("nowhere") && error.contains("ip link"), "{error}");
            set_up(Cable::RIGHT, false).unwrap();
            let error = said(Cable::RIGHT, &settings(kind));
            assert!(error.contains("right") && error.contains("ip link set right up"), "{error}");
            set_up(Cable::RIGHT, true).unwrap();
        }
        let error = said(Cable::RIGHT, &Settings { buffer: 1 << 40, ..settings(Kind::TpacketV3) });
        assert!(error.contains("less than 4 GiB"), "{error}");
        let error = said(Cable::RIGHT, &Settings { queue: 5, ..settings(Kind::AfXdp) });
        assert!(error.contains("1 receive queues"), "{error}");
        let first = open(&settings(Kind::AfXdp));
        let error = said(Cable::RIGHT, &settings(Kind::AfXdp));
        assert!(error.contains("has an XDP program already"), "{error}");
        drop(first);
        open(&settings(Kind::AfXdp));
        set_mtu(Cable::RIGHT, 9000).unwrap();
        let error = said(Cable::RIGHT, &settings(Kind::AfXdp));
        assert!(error.contains("MTU"), "{error}");
    });
}

#[test]
fn who_may_not_is_told_what_would_allow_it() {
    on_a_cable(|_| {
        // Effective capabilities of this thread alone are given up; it ends with the test.
        let none = [0u32; 6];
        // _LINUX_CAPABILITY_VERSION_3
        let header = [0x2008_0522u32, 0];
        // SAFETY: capset reads two words of the header and six of the sets.
        let given_up = unsafe { libc::syscall(libc::SYS_capset, header.as_ptr(), none.as_ptr()) };
        assert_eq!(given_up, 0);
        for kind in Kind::ALL {
            let error = Source::open(Cable::RIGHT, &settings(kind)).err().expect("not allowed");
            let tollway_core::Error::Missing(missing) = error.into() else { panic!("{kind}") };
            println!("{missing}");
            assert!(missing.remedy.contains("CAP_"), "{missing}");
        }
    });
}

/// How long a read may wait: only where it does not notice what it should is that over.
const LONG: Duration = Duration::from_secs(180);

/// Within this all is noticed, however busy the machine is.
const HANG_TIMEOUT: Duration = Duration::from_secs(600);

/// Reads until it ends, however long it would wait for frames, and says how many came and what the error was.
fn until_the_end(source: &mut Source) -> (u64, String) {
    let (mut frames, begun) = (0, Instant::now());
    loop {
        let read = source.read(u64::MAX, LONG, |_| now(), |_| frames += 1);
        assert!(begun.elapsed() < HANG_TIMEOUT, "it does not notice");
        if let Err(error) = read {
            return (frames, error.to_string());
        }
    }
}

#[test]
fn an_interface_that_goes_down_ends_it_and_what_came_before_is_kept() {
    on_a_cable(|sender| {
        for kind in Kind::ALL {
            let mut source = open(&Settings { immediate: false, ..settings(kind) });
            sender.numbered_until_they_came(0..100, 60);
            set_up(Cable::RIGHT, false).unwrap();
            let (frames, error) = until_the_end(&mut source);
            assert_eq!(frames, 100, "{kind}");
            assert!(error.contains("right: it is down") && error.contains("ip link set right up"), "{error}");
            let books = source.finish(|_| now(), |_| ()).unwrap();
            assert_eq!((books.delivered, books.balances()), (100, Some(true)), "{kind}");
            set_up(Cable::RIGHT, true).unwrap();
        }
    });
}

/// Reads until so many frames have come, or that is so of the interface.
fn until(source: &mut Source, wanted: usize, is_so: impl Fn(&Source) -> bool) -> usize {
    let (mut frames, begun) = (0, Instant::now());
    while frames < wanted || !is_so(source) {
        source.read(u64::MAX, LONG, |_| now(), |_| frames += 1).unwrap();
        assert!(begun.elapsed() < HANG_TIMEOUT, "{frames} frames, {:?}", source.outages());
    }
    frames
}

#[test]
fn an_interface_that_goes_down_and_up_again_is_waited_for_where_that_is_asked_for() {
    on_a_cable(|sender| {
        for kind in Kind::ALL {
            let settings = Settings { immediate: false, waits_for_interface: true, ..settings(kind) };
            let mut source = open(&settings);
            for round in 0..2 {
                sender.numbered_until_they_came(0..100, 60);
                set_up(Cable::RIGHT, false).unwrap();
                let frames = until(&mut source, 100, |source| source.outages().is_down);
                assert_eq!((frames, source.outages().count), (100, round + 1), "{kind}");
                // Called off, it does not wait for the interface.
                let begun = Instant::now();
                source.read(1, Duration::from_millis(1), |_| now(), |_| ()).unwrap();
                assert!(begun.elapsed() < HANG_TIMEOUT, "{kind}");
                set_up(Cable::RIGHT, true).unwrap();
                until(&mut source, 0, |source| !source.outages().is_down);
            }
            sender.numbered(0..100, 60);
            let (frames, books) = drain(&mut source);
            assert_eq!((frames.len(), books.delivered, books.balances()), (100, 300, Some(true)), "{kind}");
        }
    });
}

#[test]
fn an_interface_that_is_waited_for_and_goes_away_ends_it() {
    for kind in Kind::ALL {
        on_a_cable(|_| {
            let mut source = open(&Settings { waits_for_interface: true, ..settings(kind) });
            set_up(Cable::RIGHT, false).unwrap();
            until(&mut source, 0, |source| source.outages().is_down);
            delete_link(Cable::LEFT).unwrap();
            let (_, error) = until_the_end(&mut source);
            assert!(error.contains("right: it has gone"), "{kind}: {error}");
        });
    }
}

#[test]
fn a_filter_with_a_loop_is_refused_by_the_kernel_alone() {
    on_a_cable(|sender| {
        // Unless the first byte is 2, as it is of all these frames, back to the first instruction.
        let list = "4\n48 0 0 0\n21 1 0 2\n5 0 0 4294967293\n6 0 0 262144\n";
        let filter = Program::read(list).unwrap();
        assert_eq!(filter.backward_jumps(), 1);
        for kind in Kind::ALL {
            let settings = |placement| Settings { filter: Some(filter.clone()), placement, ..settings(kind) };
            // Frames of AF_XDP pass no filter of the kernel's.
            let in_kernel = [Placement::Kernel, Placement::Both].into_iter().filter(|_| kind != Kind::AfXdp);
            for placement in in_kernel {
                let error =
                    Source::open(Cable::RIGHT, &settings(placement)).err().expect("refused").to_string();
                assert!(error.contains("no backward jumps") && error.contains("--filter-in user"), "{error}");
            }
            let mut source = open(&settings(Placement::User));
            sender.numbered(0..10, 60);
            assert_eq!(drain(&mut source).0.len(), 10, "{kind}");
        }
    });
}

#[test]
fn an_interface_that_goes_away_ends_it_and_what_came_before_is_kept() {
    for kind in Kind::ALL {
        on_a_cable(|sender| {
            let mut source = open(&Settings { immediate: false, ..settings(kind) });
            sender.numbered_until_they_came(0..100, 60);
            delete_link(Cable::LEFT).unwrap();
            let (frames, error) = until_the_end(&mut source);
            assert_eq!(frames, 100, "{kind}");
            assert!(error.contains("right: it has gone"), "{error}");
            let books = source.finish(|_| now(), |_| ()).unwrap();
            // Its counters went with it: what it lost is not known any more.
            assert_eq!((books.delivered, books.lost_before), (100, None), "{kind}");
        });
    }
}

#[test]
fn a_stop_ends_a_wait_at_once_and_a_signal_returns() {
    on_a_cable(|sender| {
        for kind in Kind::ALL {
            let mut source = open(&settings(kind));
            let stop = source.stop();
            let (begun, reader) = (Instant::now(), Thread::here());
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    reader.falls_asleep();
                    stop.stop();
                });
                let read = source.read(1, LONG, |_| now(), |_| ()).unwrap();
                assert_eq!(read, Read::Stopped, "{kind}");
            });
            assert!(begun.elapsed() < HANG_TIMEOUT, "{kind}");
            assert_eq!(source.read(1, Duration::ZERO, |_| now(), |_| ()).unwrap(), Read::Stopped);
            sender.numbered_until_they_came(1..2, 60);
            let books = source.finish(|_| now(), |_| ()).unwrap();
            assert_eq!(books.delivered, 1, "{kind}: what came is told, stopped or not");
        }
        // A signal whose handler does nothing but return.
        extern "C" fn nothing(_: i32) {}
        // SAFETY: a handler that does nothing, for a signal that nobody else here uses; without SA_RESTART.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = nothing as extern "C" fn(i32) as usize;
            libc::sigaction(libc::SIGUSR2, &raw const action, std::ptr::null_mut());
        }
        let mut source = open(&settings(Kind::TpacketV3));
        // SAFETY: the number of the thread that calls.
        let thread = unsafe { libc::pthread_self() };
        let reader = Thread::here();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                reader.falls_asleep();
                // SAFETY: that thread lives: it waits for this one.
                unsafe { libc::pthread_kill(thread, libc::SIGUSR2) };
            });
            let read = source.read(1, LONG, |_| now(), |_| ()).unwrap();
            assert_eq!(read, Read::Interrupted);
        });
    });
}

/// In a process of its own: descriptors, threads and mappings are counted there.
#[test]
fn nothing_is_left_after_a_hundred_sources() {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "--nocapture", "live::trouble::a_hundred_sources"])
        .output()
        .unwrap();
    let said =
        [output.stdout, output.stderr].map(|said| String::from_utf8_lossy(&said).into_owned()).concat();
    // Of a name that is no test's none runs, which is a success.
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

#[test]
#[ignore = "another test starts it, in a process of its own"]
fn a_hundred_sources() {
    on_a_cable(|sender| {
        let count = |folder: &str| std::fs::read_dir(folder).unwrap().count();
        let maps = || std::fs::read_to_string("/proc/self/maps").unwrap();
        let mapped = |what: &str| maps().lines().filter(|line| line.contains(what)).count();
        let cycle = |kind| {
            let mut source = open(&settings(kind));
            sender.numbered(0..3, 60);
            source.finish(|_| now(), |_| ()).unwrap();
        };
        Kind::ALL.into_iter().for_each(cycle);
        let before =
            (count("/proc/self/fd"), count("/proc/self/task"), mapped("socket:"), maps().lines().count());
        for kind in Kind::ALL {
            (0..100).for_each(|_| cycle(kind));
        }
        let after =
            (count("/proc/self/fd"), count("/proc/self/task"), mapped("socket:"), maps().lines().count());
        assert_eq!((after.0, after.1, after.2), (before.0, before.1, before.2));
        // What malloc has of the kernel may grow; a leak is a hundred times as much.
        assert!(after.3 < before.3 + 20, "{before:?} {after:?}");
        // No program is left on the interface either: there is room for another.
        open(&settings(Kind::AfXdp));
    });
}

/// Tells a process of this program that it is the one to be killed.
const TO_BE_KILLED: &str = "TOLLWAY_TEST_TO_BE_KILLED";

/// What the next test runs in a process of its own: captures until it is killed. Elsewhere nothing.
#[test]
fn captures_until_it_is_killed() {
    if std::env::var_os(TO_BE_KILLED).is_none() {
        return;
    }
    let mut source = open(&settings(Kind::AfXdp));
    println!("captures");
    loop {
        source.read(1, LONG, |_| now(), |_| ()).unwrap();
    }
}

#[test]
fn a_killed_capture_leaves_no_program_on_the_interface() {
    on_a_cable(|sender| {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["live::trouble::captures_until_it_is_killed", "--exact", "--nocapture"])
            .env(TO_BE_KILLED, "yes")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(said.any(|line| line.unwrap().contains("captures")));
        let refused = Source::open(Cable::RIGHT, &settings(Kind::AfXdp)).err().unwrap().to_string();
        assert!(refused.contains("has an XDP program already"), "{refused}");
        child.kill().unwrap();
        child.wait().unwrap();
        let mut source = open(&settings(Kind::AfXdp));
        sender.numbered(0..10, 60);
        assert_eq!(drain(&mut source).0.len(), 10);
    });
}
