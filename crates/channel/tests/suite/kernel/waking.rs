//! What ends a sleep at a ring: time, events, other threads.

use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use tollway_channel::linux::kernel::{Options, Ring};

use super::{has_rings, run};
use crate::asleep::Thread;

#[test]
fn time_passes_and_events_are_told() {
    if !has_rings() {
        return;
    }
    let mut ring = Ring::open(&Options { operations: 4, ..Options::default() }).unwrap();
    let kernel = &ring.kernel();
    let (here, mut there) = UnixStream::pair().unwrap();
    let begun = Instant::now();
    run(&mut ring, async {
        kernel.timeout(Duration::from_millis(20)).await.unwrap();
        assert!(begun.elapsed() >= Duration::from_millis(20));
        let here = kernel.file(OwnedFd::from(here));
        there.write_all(b"x").unwrap();
        assert_eq!(kernel.poll(&here, libc::POLLIN as u32).await.unwrap(), libc::POLLIN as u32);
    });
}

/// Somebody else's thread wakes a task of an executor that sleeps at a ring.
#[test]
fn another_thread_wakes_who_sleeps_at_a_ring() {
    if !has_rings() {
        return;
    }
    let mut ring = Ring::open(&Options { operations: 4, ..Options::default() }).unwrap();
    for _ in 0..3 {
        let (tell, told) = std::sync::mpsc::channel::<Waker>();
        let sleeping = Thread::here();
        let waking = std::thread::spawn(move || {
            let waker = told.recv().unwrap();
            sleeping.falls_asleep();
            waker.wake();
        });
        let mut polls = 0;
        run(
            &mut ring,
            std::future::poll_fn(move |context| {
                polls += 1;
                match polls {
                    1 => {
                        tell.send(context.waker().clone()).unwrap();
                        Poll::Pending
                    }
                    _ => Poll::Ready(()),
                }
            }),
        );
        waking.join().unwrap();
    }
}
