//! The kernel asked through a ring: what comes of it is what the plain calls do, whatever is dropped, full or closed meanwhile.

mod files;
mod leaving;
mod pages;
mod queues;
mod sockets;
mod waking;

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use tollway_channel::coroutine::{Driver, Executor};
use tollway_channel::linux::kernel::Ring;
use tollway_core::Requirement;
use tollway_host::requirement::test_has;

/// Whether there is an io_uring to be tested.
fn has_rings() -> bool {
    test_has(&[(Requirement::IoUring, "io-uring")])
}

/// Runs one task to its end.
fn run(ring: &mut Ring, task: impl Future<Output = ()>) {
    let mut executor = Executor::new(1, ring.rouser());
    assert!(executor.spawn(0, task));
    executor.run(ring).unwrap();
}

/// Polls it once.
fn once<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// Has what was asked done by the kernel, until that is so.
fn until(ring: &mut Ring, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(120);
    while !is_so() {
        assert!(Instant::now() < deadline, "nothing comes");
        ring.turn().unwrap();
        std::thread::yield_now();
    }
}
