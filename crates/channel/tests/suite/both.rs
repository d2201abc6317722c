//! A thread at a channel and at the kernel at once: whatever comes from either is seen, awake or asleep, and whatever becomes of the other end.

use std::cell::Cell;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use tollway_channel::coroutine::{Executor, Lost, Stopped};
use tollway_channel::linux::kernel::{self, Both, Ring};
use tollway_channel::linux::{Client, Limits, Notice, Options, Server};
use tollway_channel::wait::Patience;
use tollway_core::{Error, Requirement};
use tollway_host::requirement::{skip_test, test_has};

use crate::asleep::Thread;
use crate::eventually::eventually;
use crate::pause::pause;
use crate::peer;

/// Who sleeps at once.
const SLEEPY: Option<Patience> = Some(Patience { spin: 0, yields: 0 });

fn meet(notice: Notice, patience: Option<Patience>) -> (Client, Server) {
    let (here, there) = UnixStream::pair().unwrap();
    let limits = Limits { patience, ..Limits::default() };
    let answering = thread::spawn(move || Server::over(there, &limits).unwrap());
    let options = Options { slots: 16, notice, patience, ..Options::default() };
    (Client::over(here, &options).unwrap(), answering.join().unwrap())
}

fn ring(patience: Option<Patience>) -> Ring {
    let options = kernel::Options { operations: 32, buffers: 16, bytes: 64, patience, ..Default::default() };
    Ring::open(&options).unwrap()
}

/// What makes sense on this machine: rings, and those that wait for futexes.
fn notices() -> Vec<Notice> {
    if !test_has(&[(Requirement::IoUring, "io-uring")]) {
        return vec![];
    }
    match ring(None).offers(kernel::Offer::Futex) {
        Ok(()) => vec![Notice::Futex, Notice::Eventfd],
        Err(missing) => {
            skip_test(&["io-uring"], &missing);
            vec![Notice::Eventfd]
        }
    }
}

/// Waits for a time that is random, or does not: so that ends are met at every step.
fn pauses(random: &mut SmallRng) {
    match random.random_range(0..20) {
        0 => pause(Duration::from_micros(random.random_range(1..300))),
        1..5 => (0..random.random_range(0..2000)).for_each(|_| std::hint::spin_loop()),
        5 => thread::yield_now(),
        _ => {}
    }
}

/// A server whose tasks read the file that requests name, from a client that asks by tasks and reads of its own; both pause at random, and both sleep
/// at once in one of the rounds: every reply and every read comes.
#[test]
fn nothing_is_lost_of_either() {
    let times = std::env::var("TOLLWAY_BOTH").map_or(600, |times| times.parse().expect("a number"));
    for notice in notices() {
        for (seed, patience) in [(1, SLEEPY), (2, Some(Patience { spin: 20_000, yields: 2 })), (3, SLEEPY)] {
            let (client, server) = meet(notice, patience);
            let file = tempfile::tempfile().unwrap();
            (0..1000u64).for_each(|at| file.write_all_at(&(at * 31).to_le_bytes(), at * 8).unwrap());
            let same = file.try_clone().unwrap();
            let serving = thread::spawn(move || {
                let (incoming, dispatcher) = server.into_incoming();
                let mut both = Both::new(ring(patience), dispatcher).unwrap();
                let kernel = both.kernel();
                let file = kernel.file(same);
                let mut executor = Executor::new(8, both.rouser());
                let mut served = Cell::new(0);
                for task in 0..6 {
                    let (incoming, kernel, file, served) = (&incoming, &kernel, &file, &served);
                    let mut random = SmallRng::seed_from_u64(seed * 100 + task);
                    executor.spawn(0, async move {
                        while let Some(request) = incoming.next().await {
                            pauses(&mut random);
                            let mut at = [0; 8];
                            assert_eq!(incoming.read(&request, &mut at), 8);
                            let mut buffer = kernel.buffer().await;
                            buffer.set_len(8);
                            let at = u64::from_le_bytes(at) % 1000;
                            let (count, buffer) = kernel.read_at(file, at * 8, buffer).await.unwrap();
                            assert_eq!(count, 8);
                            if random.random_range(0..50) == 0 {
                                kernel.timeout(Duration::from_micros(100)).await.unwrap();
                            }
                            incoming.answer(request, 1, &buffer);
                            served.set(served.get() + 1);
                        }
                    });
                }
                executor.run(&mut both).unwrap();
                drop(executor);
                *served.get_mut()
            });
            let (calls, dispatcher) = client.into_calls();
            let mut both = Both::new(ring(patience), dispatcher).unwrap();
            let kernel = both.kernel();
            let file = kernel.file(file);
            let mut executor = Executor::new(8, both.rouser());
            for task in 0..4 {
                let (calls, kernel, file) = (&calls, &kernel, &file);
                let mut random = SmallRng::seed_from_u64(seed * 100 + 50 + task);
                executor.spawn(0, async move {
                    for _ in 0..times {
                        pauses(&mut random);
                        let at: u64 = random.random_range(0..1000);
                        let mut reply = [0; 8];
                        assert_eq!(calls.call(0, &at.to_le_bytes(), &mut reply).await, Ok((1, 8)));
                        assert_eq!(u64::from_le_bytes(reply), at * 31);
                        if random.random_range(0..3) == 0 {
                            let mut buffer = kernel.buffer().await;
                            buffer.set_len(8);
                            let (_, buffer) = kernel.read_at(file, at * 8, buffer).await.unwrap();
                            assert_eq!(buffer[..], reply);
                        }
                    }
                });
            }
            executor.run(&mut both).unwrap();
            drop(executor);
            drop((calls, both));
            assert_eq!(serving.join().unwrap(), 4 * times);
        }
    }
}

/// What the kernel brings wakes who sleeps, though nothing comes through the channel; and the other way about.
#[test]
fn either_wakes_who_sleeps_at_both() {
    for notice in notices() {
        let (client, mut server) = meet(notice, SLEEPY);
        let (calls, dispatcher) = client.into_calls();
        let mut both = Both::new(ring(SLEEPY), dispatcher).unwrap();
        let kernel = &both.kernel();
        let here = Thread::here();
        let asking = here.clone();
        let serving = thread::spawn(move || {
            for sleeps in [false, true, false, true] {
                server.wait().unwrap();
                while let Some(request) = server.take().unwrap() {
                    if sleeps {
                        asking.falls_asleep();
                    }
                    server.answer(request, 7, &[]);
                    server.flush();
                }
            }
            server
        });
        let mut executor = Executor::new(2, both.rouser());
        executor.spawn(0, async {
            for _ in 0..4 {
                kernel.timeout(Duration::from_millis(10)).await.unwrap();
                assert_eq!(calls.call(0, &[], &mut []).await, Ok((7, 0)));
            }
        });
        // Somebody else's thread, too.
        let (tell, told) = std::sync::mpsc::channel::<std::task::Waker>();
        let waking = thread::spawn(move || {
            while let Ok(waker) = told.recv() {
                here.falls_asleep();
                waker.wake();
            }
        });
        executor.spawn(0, async move {
            for _ in 0..10 {
                let mut is_first = true;
                std::future::poll_fn(|context| {
                    if std::mem::take(&mut is_first) {
                        tell.send(context.waker().clone()).unwrap();
                        return std::task::Poll::Pending;
                    }
                    std::task::Poll::Ready(())
                })
                .await;
            }
        });
        executor.run(&mut both).unwrap();
        drop(executor);
        waking.join().unwrap();
        drop(serving.join().unwrap());
        assert!(both.counts().waits.asleep > 0, "it never slept: {:?}", both.counts());
    }
}

/// The other end goes: who waits for it is told, and who asks the kernel goes on to its end.
#[test]
fn who_asks_the_kernel_outlives_the_other_end() {
    for notice in notices() {
        for patience in [SLEEPY, None] {
            let (client, server) = meet(notice, patience);
            let (calls, dispatcher) = client.into_calls();
            let mut both = Both::new(ring(patience), dispatcher).unwrap();
            let kernel = &both.kernel();
            let asking = Thread::here();
            let going = thread::spawn(move || {
                asking.falls_asleep();
                drop(server);
            });
            let (here, there) = UnixStream::pair().unwrap();
            let (here, there) = (kernel.file(OwnedFd::from(here)), kernel.file(OwnedFd::from(there)));
            let is_told = Cell::new(false);
            let mut executor = Executor::new(2, both.rouser());
            executor.spawn(0, async {
                let gone = Err(Lost::Stopped(Stopped::Gone));
                assert_eq!(calls.call(0, &[], &mut []).await, gone);
                assert_eq!(calls.call(0, &[], &mut []).await, gone);
                is_told.set(true);
                kernel.send(&there, kernel.buffer().await.with(b"the end")).await.unwrap();
            });
            executor.spawn(0, async {
                let (count, buffer) = kernel.receive(&here, kernel.buffer().await).await.unwrap();
                assert_eq!(&buffer[..count], b"the end");
                kernel.timeout(Duration::from_millis(20)).await.unwrap();
                assert!(is_told.get());
            });
            executor.run(&mut both).unwrap();
            drop(executor);
            going.join().unwrap();
            // And with nothing left to wait for, whoever waits nevertheless is told.
            let mut executor = Executor::new(1, both.rouser());
            executor.spawn(0, std::future::pending());
            assert_eq!(executor.run(&mut both), Err(Stopped::Gone));
        }
    }
}

/// A kernel that cannot have a ring wait for a futex is told from one that can.
#[test]
fn what_the_kernel_lacks_is_said() {
    if !notices().contains(&Notice::Futex) {
        let (client, _server) = meet(Notice::Futex, SLEEPY);
        let refused = Both::new(ring(SLEEPY), client.into_calls().1);
        assert!(matches!(refused, Err(Error::Missing(_))) || notices().is_empty());
    }
}

/// The other end breaks the rules: who waits for it is told, who asks the kernel goes on, and who runs it learns why when nothing is left.
#[test]
fn who_asks_the_kernel_outlives_a_lying_end() {
    use tollway_channel::ring::Violation;

    if notices().is_empty() {
        return;
    }
    let (here, there) = UnixStream::pair().unwrap();
    let lying = thread::spawn(move || {
        let (memory, _) = peer::agrees(&there, &[]);
        // The first lap's first entries: for the server, and for the client.
        let (requests, replies) = (2 * 16, 2 * 16 + 16);
        let asked = || memory.words()[requests].load(std::sync::atomic::Ordering::SeqCst);
        eventually("the client has asked", || asked() != 0);
        // A reply in slot 7, which has no request.
        memory.words()[replies].store(7 | 1 << 48, std::sync::atomic::Ordering::SeqCst);
        (memory, there)
    });
    // It looks all the time: a liar rings no bell.
    let patience = Some(Patience { spin: u64::MAX, yields: 0 });
    let client = Client::over(here, &Options { slots: 16, patience, ..Options::default() }).unwrap();
    let (calls, dispatcher) = client.into_calls();
    let mut both = match Both::new(ring(patience), dispatcher) {
        Err(Error::Missing(missing)) => return skip_test(&["io-uring"], &missing),
        both => both.unwrap(),
    };
    let kernel = &both.kernel();
    let broken = Stopped::Broken(Violation::Slot(7));
    let is_told = Cell::new(false);
    let mut executor = Executor::new(2, both.rouser());
    executor.spawn(0, async {
        assert_eq!(calls.call(0, &[], &mut []).await, Err(Lost::Stopped(broken)));
        kernel.timeout(Duration::from_millis(20)).await.unwrap();
        is_told.set(true);
    });
    executor.spawn(0, std::future::pending());
    assert_eq!(executor.run(&mut both), Err(broken));
    drop(executor);
    assert!(is_told.get());
    drop(lying.join().unwrap());
}
