//! Wakers are foreign code: their clone, drop and wake may come back to what tasks wait at. Nothing is borrowed then.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::os::unix::net::UnixStream;
use std::pin::Pin;
use std::ptr;
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};
use std::thread;
use std::time::{Duration, Instant};

use tollway_channel::coroutine::{Driver, Shared, Stopped};
use tollway_channel::linux::kernel::{self, Ring};
use tollway_channel::linux::{Client, Limits, Options, Server};
use tollway_core::Requirement;
use tollway_host::requirement::test_has;

type Entry = Box<dyn Fn()>;

thread_local! {
    /// What a waker's clone, drop and wake do.
    static ENTERS: RefCell<Option<Entry>> = const { RefCell::new(None) };
    /// How often they did.
    static ENTERED: Cell<u64> = const { Cell::new(0) };
}

/// Comes back, but not within itself.
fn enters() {
    let entry = ENTERS.take();
    if let Some(entry) = entry {
        ENTERED.set(ENTERED.get() + 1);
        entry();
        ENTERS.set(Some(entry));
    }
}

static TABLE: RawWakerVTable = RawWakerVTable::new(
    |data| {
        enters();
        RawWaker::new(data, &TABLE)
    },
    |_| enters(),
    |_| enters(),
    |_| enters(),
);

/// One that comes back, and is none of another number.
fn waker(number: usize) -> Waker {
    // SAFETY: nothing is behind the pointer, which no function of the table uses.
    unsafe { Waker::new(ptr::without_provenance(number), &TABLE) }
}

/// From here on wakers of this thread do that.
fn arms(entry: impl Fn() + 'static) {
    ENTERS.set(Some(Box::new(entry)));
}

/// Polls it once, by a waker that comes back.
fn once<F: Future>(future: &mut Pin<Box<F>>, number: usize) -> Poll<F::Output> {
    future.as_mut().poll(&mut Context::from_waker(&waker(number)))
}

/// Polls and drops it: through all that happens to who asks in vain.
fn tries(future: impl Future) {
    let mut future = Box::pin(future);
    let _ = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
}

fn meet() -> (Client, Server) {
    let (here, there) = UnixStream::pair().unwrap();
    let answering = thread::spawn(move || Server::over(there, &Limits::default()).unwrap());
    let client = Client::over(here, &Options { slots: 2, ..Options::default() }).unwrap();
    (client, answering.join().unwrap())
}

#[test]
fn they_may_come_back_to_calls() {
    let (client, mut server) = meet();
    let (calls, mut dispatcher) = client.into_calls();
    let again = calls.clone();
    arms(move || {
        let _ = again.turn();
        again.with(|_| ());
        tries(again.call(0, &[7], &mut []));
    });
    for round in 0..6 {
        let (mut one, mut two, mut three) = ([0; 1], [0; 1], [0; 1]);
        let mut with_server = Box::pin(calls.call(0, &[1], &mut one));
        let mut dropped = Box::pin(calls.call(0, &[2], &mut two));
        let mut in_line = Box::pin(calls.call(0, &[3], &mut three));
        // By another waker each time, which takes the place of the one before.
        for number in 0..3 {
            assert!(once(&mut with_server, number).is_pending());
            assert!(once(&mut dropped, number).is_pending());
            assert!(once(&mut in_line, number).is_pending());
        }
        if round % 2 == 0 {
            drop(dropped);
        }
        let deadline = Instant::now() + Duration::from_secs(120);
        let mut has_reply = false;
        loop {
            while let Some(request) = server.take().unwrap() {
                server.answer(request, 0, &[9]);
            }
            dispatcher.turn().unwrap();
            has_reply = has_reply || once(&mut with_server, round).is_ready();
            if once(&mut in_line, round).is_ready() {
                break;
            }
            assert!(Instant::now() < deadline, "who stands in line is not called");
        }
    }
    let (mut one, mut two) = ([0; 1], [0; 1]);
    let mut last = [Box::pin(calls.call(0, &[1], &mut one)), Box::pin(calls.call(0, &[1], &mut two))];
    last.iter_mut().for_each(|call| assert!(once(call, 0).is_pending()));
    calls.ends(Stopped::Gone);
    last.iter_mut().for_each(|call| assert!(once(call, 1).is_ready()));
    assert!(ENTERED.get() > 100, "{}", ENTERED.get());
    ENTERS.take();
}

#[test]
fn they_may_come_back_to_requests() {
    let (mut client, server) = meet();
    let (incoming, mut dispatcher) = server.into_incoming();
    let again = incoming.clone();
    arms(move || {
        again.with(|_| ());
        tries(again.next());
        let _ = again.turn();
    });
    for round in 0..6 {
        let mut waiting = [(); 3].map(|()| Box::pin(incoming.next()));
        for number in 0..3 {
            waiting.iter_mut().for_each(|next| assert!(once(next, number).is_pending()));
        }
        client.send(0, &[1]).unwrap();
        let deadline = Instant::now() + Duration::from_secs(120);
        let mut is_answered = false;
        while !is_answered {
            assert!(Instant::now() < deadline, "nobody has the request");
            dispatcher.turn().unwrap();
            for next in waiting.iter_mut().skip(round % 2) {
                if let Poll::Ready(Some(request)) = once(next, round) {
                    incoming.answer(request, 0, &[]);
                    is_answered = true;
                    break;
                }
            }
            if round % 2 == 1 && !is_answered {
                // Who was called does not come, and is dropped: the next one has it.
                waiting[0] = Box::pin(incoming.next());
            }
        }
        let reply = client.take().unwrap().unwrap();
        client.release(reply);
    }
    let mut waiting = [(); 3].map(|()| Box::pin(incoming.next()));
    waiting.iter_mut().for_each(|next| assert!(once(next, 0).is_pending()));
    incoming.ends(Stopped::Gone);
    waiting.iter_mut().for_each(|next| assert!(matches!(once(next, 1), Poll::Ready(None))));
    assert!(ENTERED.get() > 50, "{}", ENTERED.get());
    ENTERS.take();
}

#[test]
fn they_may_come_back_to_the_kernel() {
    if !test_has(&[(Requirement::IoUring, "io-uring")]) {
        return;
    }
    let options = kernel::Options { operations: 2, buffers: 2, bytes: 64, ..Default::default() };
    let mut ring = Ring::open(&options).unwrap();
    let kernel = ring.kernel();
    let again = kernel.clone();
    arms(move || {
        tries(again.nop());
        tries(again.buffer());
        drop(again.try_buffer());
    });
    for round in 0..6 {
        let held = kernel.try_buffer();
        let mut asked = [(); 4].map(|()| Box::pin(kernel.nop()));
        let mut leases = [(); 3].map(|()| Box::pin(kernel.buffer()));
        let mut leased = Vec::new();
        let mut is_over = [false; 4];
        for number in 0..3 {
            asked.iter_mut().for_each(|nop| assert!(once(nop, number).is_pending()));
            for lease in leases.iter_mut().skip(leased.len()) {
                if let Poll::Ready(buffer) = once(lease, number) {
                    leased.push(buffer);
                }
            }
        }
        drop(held);
        if round % 2 == 0 {
            let [first, ..] = &mut asked;
            *first = Box::pin(kernel.nop());
        }
        let deadline = Instant::now() + Duration::from_secs(120);
        while is_over.contains(&false) {
            assert!(Instant::now() < deadline, "who stands in line is not called");
            ring.turn().unwrap();
            for (nop, is_over) in asked.iter_mut().zip(&mut is_over) {
                *is_over = *is_over || once(nop, round).is_ready();
            }
        }
        drop(leased);
    }
    let mut asked = [(); 4].map(|()| Box::pin(kernel.nop()));
    asked.iter_mut().for_each(|nop| assert!(once(nop, 0).is_pending()));
    drop(ring);
    asked.iter_mut().for_each(|nop| assert!(once(nop, 1).is_ready()));
    assert!(ENTERED.get() > 100, "{}", ENTERED.get());
    ENTERS.take();
}
