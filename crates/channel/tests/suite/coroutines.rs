//! Requests as futures, in one thread with a server in another.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::os::unix::net::UnixStream;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::thread;

use tollway_channel::coroutine::{Calls, Executor, Lost, Stopped};
use tollway_channel::linux::{Client, Limits, Options, Server, Shared};

use crate::asleep::Thread;
use crate::eventually::eventually;

fn meet(options: &Options) -> (Client, Server) {
    let (here, there) = UnixStream::pair().unwrap();
    let answering = thread::spawn(move || Server::over(there, &Limits::default()).unwrap());
    (Client::over(here, options).unwrap(), answering.join().unwrap())
}

/// Four servers' tasks and sixty-four clients' over sixteen slots: each reply is the one of its request.
#[test]
fn more_tasks_than_slots_all_have_their_replies() {
    let (client, server) = meet(&Options { slots: 16, ..Options::default() });
    let serving = thread::spawn(move || {
        let (incoming, mut dispatcher) = server.into_incoming();
        let mut executor = Executor::new(4, dispatcher.rouser());
        let served = Cell::new(0);
        for _ in 0..4 {
            assert!(executor.spawn(0, async {
                while let Some(request) = incoming.next().await {
                    let mut bytes = [0; 64];
                    let long = incoming.read(&request, &mut bytes);
                    bytes[..long].reverse();
                    let tag = request.tag();
                    incoming.answer(request, tag + 1, &bytes[..long]);
                    served.set(served.get() + 1);
                }
            }));
        }
        assert!(!executor.spawn(0, async {}), "there was room for four");
        executor.run(&mut dispatcher).unwrap();
        drop(executor);
        served.get()
    });
    let (calls, mut dispatcher) = client.into_calls();
    let mut executor = Executor::new(64, dispatcher.rouser());
    let answered = Cell::new(0);
    for task in 0..64u16 {
        let (calls, answered) = (&calls, &answered);
        executor.spawn(usize::from(task % 8), async move {
            for round in 0..100u16 {
                let mut reply = [0; 4];
                let [a, b] = round.to_le_bytes();
                let [c, d] = task.to_le_bytes();
                let answer = calls.call(round, &[a, b, c, d], &mut reply).await;
                assert_eq!((answer, reply), (Ok((round + 1, 4)), [d, c, b, a]));
                answered.set(answered.get() + 1);
            }
        });
    }
    executor.run(&mut dispatcher).unwrap();
    drop(executor);
    assert_eq!(answered.get(), 6400);
    drop((calls, dispatcher));
    assert_eq!(serving.join().unwrap(), 6400);
}

/// Polls it once.
fn once<F: Future>(future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// A call that is dropped keeps its slot until the reply has come: nothing of it is written, and nobody else has the reply.
#[test]
fn a_dropped_call_leaves_its_slot_until_the_reply_came() {
    let (client, mut server) = meet(&Options { slots: 1, ..Options::default() });
    let (calls, mut dispatcher) = client.into_calls();
    let mut reply = [0; 8];
    {
        let mut call = pin!(calls.call(0, &[1], &mut reply));
        assert!(once(call.as_mut()).is_pending());
    }
    let mut second = [0; 8];
    let request = server.take().unwrap().unwrap();
    {
        let mut waiting = pin!(calls.call(0, &[2], &mut second));
        assert!(once(waiting.as_mut()).is_pending());
        // There is no slot for it yet.
        assert!(server.take().unwrap().is_none());
        server.answer(request, 0, &[9; 8]);
        use tollway_channel::coroutine::Driver;
        assert!(dispatcher.turn().unwrap());
        assert!(once(waiting.as_mut()).is_pending());
        let request = server.take().unwrap().unwrap();
        server.answer(request, 5, &[3; 8]);
        assert!(dispatcher.turn().unwrap());
        assert_eq!(once(waiting.as_mut()), Poll::Ready(Ok((5, 8))));
    }
    assert_eq!((reply, second), ([0; 8], [3; 8]));
}

/// Who stood in line and was called, but was dropped before it was polled, passes its turn on.
#[test]
fn a_turn_in_line_is_passed_on() {
    use tollway_channel::coroutine::Driver;
    let (client, mut server) = meet(&Options { slots: 1, ..Options::default() });
    let (calls, mut dispatcher) = client.into_calls();
    let woken = RefCell::new(Vec::new());
    let mut executor = Executor::new(2, dispatcher.rouser());
    let mut first = [0; 1];
    let mut first = Box::pin(calls.call(0, &[1], &mut first));
    assert!(once(first.as_mut()).is_pending());
    let mut never = [0; 1];
    let mut never = Box::pin(calls.call(0, &[2], &mut never));
    assert!(once(never.as_mut()).is_pending());
    executor.spawn(0, async {
        let mut reply = [0; 1];
        let answer = calls.call(0, &[3], &mut reply).await.unwrap();
        woken.borrow_mut().push(answer);
    });
    let serving = thread::spawn(move || {
        let mut seen = Vec::new();
        while let Ok(()) = server.wait() {
            while let Some(request) = server.take().unwrap() {
                let mut byte = [0];
                server.read(&request, &mut byte);
                seen.push(byte[0]);
                server.answer(request, 0, &byte);
            }
        }
        seen
    });
    // The third stands behind the second, whom the first one's slot calls.
    eventually("the first has its reply", || dispatcher.turn().unwrap());
    assert!(once(first.as_mut()).is_ready());
    drop(never);
    executor.run(&mut dispatcher).unwrap();
    drop(executor);
    assert_eq!(*woken.borrow(), [(0, 1)]);
    drop(dispatcher);
    drop(first);
    drop(calls);
    assert_eq!(serving.join().unwrap(), [1, 3]);
}

/// When the server goes everybody who waits is told.
#[test]
fn who_waits_is_told_that_the_server_is_gone() {
    let (client, mut server) = meet(&Options { slots: 2, ..Options::default() });
    let (calls, mut dispatcher): (Calls<Shared>, _) = client.into_calls();
    let asking = Thread::here();
    let going = thread::spawn(move || {
        server.wait().unwrap();
        let request = server.take().unwrap().unwrap();
        server.answer(request, 0, &[]);
        server.flush();
        asking.falls_asleep();
    });
    let told = RefCell::new(Vec::new());
    let mut executor = Executor::new(4, dispatcher.rouser());
    for _ in 0..4 {
        executor.spawn(0, async {
            let answer = calls.call(0, &[], &mut []).await;
            told.borrow_mut().push(answer);
        });
    }
    executor.run(&mut dispatcher).unwrap();
    drop(executor);
    let gone = Err(Lost::Stopped(Stopped::Gone));
    assert_eq!(*told.borrow(), [Ok((0, 0)), gone, gone, gone]);
    going.join().unwrap();
}

/// Somebody else's thread wakes a task of an executor that sleeps.
#[test]
fn another_thread_wakes_a_sleeping_executor() {
    let (client, _server) = meet(&Options::default());
    let (_calls, mut dispatcher) = client.into_calls();
    let (tell, told) = std::sync::mpsc::channel::<Waker>();
    let sleeping = Thread::here();
    let waking = thread::spawn(move || {
        let waker = told.recv().unwrap();
        sleeping.falls_asleep();
        waker.wake();
    });
    let mut polls = 0;
    let mut executor = Executor::new(1, dispatcher.rouser());
    executor.spawn(
        0,
        std::future::poll_fn(|context| {
            polls += 1;
            if polls == 1 {
                tell.send(context.waker().clone()).unwrap();
                Poll::Pending
            } else {
                Poll::Ready(())
            }
        }),
    );
    executor.run(&mut dispatcher).unwrap();
    drop(executor);
    waking.join().unwrap();
}

/// Who has just had a slot does not have the next one before those who stand in line: everybody is served, though nobody ever stops asking.
#[test]
fn who_stands_in_line_is_served_before_who_asks_again() {
    let (client, mut server) = meet(&Options { slots: 2, ..Options::default() });
    let serving = thread::spawn(move || server.serve(|_, _, _| (0, 0)).unwrap());
    let (calls, mut dispatcher) = client.into_calls();
    let rounds: Vec<Cell<u32>> = (0..6).map(|_| Cell::new(0)).collect();
    let mut executor = Executor::new(6, dispatcher.rouser());
    for own in &rounds {
        let (calls, rounds) = (&calls, &rounds);
        executor.spawn(0, async move {
            // The others would never have had theirs if each that asks again took the slot that it had.
            while rounds.iter().any(|rounds| rounds.get() < 100) {
                calls.call(0, &[], &mut []).await.unwrap();
                own.set(own.get() + 1);
            }
        });
    }
    executor.run(&mut dispatcher).unwrap();
    drop(executor);
    let rounds: Vec<u32> = rounds.into_iter().map(Cell::into_inner).collect();
    assert!(rounds.iter().all(|rounds| (100..110).contains(rounds)), "{rounds:?}");
    drop((calls, dispatcher));
    serving.join().unwrap();
}

/// What was sent before there were tasks leaves its slot to them when its reply has come.
#[test]
fn requests_on_their_way_keep_no_slot() {
    let (mut client, mut server) = meet(&Options { slots: 2, ..Options::default() });
    let serving = thread::spawn(move || server.serve(|tag, _, _| (tag, 0)));
    client.send(1, b"").unwrap();
    client.send(2, b"").unwrap();
    client.flush();
    let (calls, mut dispatcher) = client.into_calls();
    let mut executor = Executor::new(2, dispatcher.rouser());
    for tag in [3, 4] {
        let calls = &calls;
        executor.spawn(0, async move { assert_eq!(calls.call(tag, b"", &mut []).await, Ok((tag, 0))) });
    }
    executor.run(&mut dispatcher).unwrap();
    drop(executor);
    drop((calls, dispatcher));
    serving.join().unwrap().unwrap();
}
