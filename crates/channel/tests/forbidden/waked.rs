//! What another thread wakes.

use std::future::poll_fn;
use std::sync::mpsc::channel;
use std::task::{Poll, Waker};
use std::thread;
use std::time::Duration;

/// Waits until another thread has waked it, so many times, each so long after it began to wait.
pub async fn is_waked(times: u64, after: Duration) {
    let (tell, told) = channel::<Waker>();
    let waking = thread::spawn(move || {
        for waker in told {
            thread::sleep(after);
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
