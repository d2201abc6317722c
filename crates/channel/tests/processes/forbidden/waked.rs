//! What another thread wakes.

use std::future::poll_fn;
use std::sync::mpsc::channel;
use std::task::{Poll, Waker};
use std::thread;

use crate::asleep::Thread;

/// When the waiting thread is waked.
#[allow(dead_code, reason = "each of the two test binaries that have this file uses one of them")]
#[derive(Clone, Copy, PartialEq)]
pub enum Wakes {
    /// It sleeps by then.
    Asleep,
    /// It may be anywhere on its way there.
    AtOnce,
}

/// Waits until another thread has woken it that number of times.
pub async fn is_waked(times: u64, wakes: Wakes) {
    let waiting = Thread::here();
    let (tell, told) = channel::<Waker>();
    let waking = thread::spawn(move || {
        for waker in told {
            if wakes == Wakes::Asleep {
                waiting.falls_asleep();
            }
            waker.wake();
        }
    });
    for _ in 0..times {
        let mut is_first = true;
        poll_fn(|context| {
            if std::mem::take(&mut is_first) {
                tell.send(context.waker().clone()).unwrap();
                return Poll::Pending;
            }
            Poll::Ready(())
        })
        .await;
    }
    drop(tell);
    waking.join().unwrap();
}
