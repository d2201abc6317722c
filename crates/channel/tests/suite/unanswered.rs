//! Requests that nobody answers: a task of the server's drops them, panics or is dropped itself. Each client
//! is told, and each slot has the next request.

use std::cell::Cell;
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::atomic::AtomicU64;
use std::thread;

use tollway_channel::Failed;
use tollway_channel::coroutine::{Calls, Executor, Incoming, Lost, Shared};
use tollway_channel::linux::{Client, Limits, Notice, Options, Server};
use tollway_channel::ring::{client, layout::Geometry, server};
use tollway_channel::wait::Patience;

fn meet(notice: Notice) -> (Client, Server) {
    let (here, there) = UnixStream::pair().unwrap();
    let patience = Some(Patience { spin: 0, yields: 0 });
    let answering =
        thread::spawn(move || Server::over(there, &Limits { patience, ..Limits::default() }).unwrap());
    // One slot: were it lost, the next request would have none.
    let options = Options { slots: 1, notice, patience, ..Options::default() };
    (Client::over(here, &options).unwrap(), answering.join().unwrap())
}

/// Every third request is dropped, by every third a task of the server's panics; the third is answered.
#[test]
fn request_that_a_task_drops_or_panics_on_is_told_and_its_slot_is_free() {
    for notice in [Notice::Futex, Notice::Eventfd] {
        let (client, server) = meet(notice);
        let serving = thread::spawn(move || {
            let (incoming, mut dispatcher) = server.into_incoming();
            let (mut panics, came) = (0, Cell::new(0));
            let mut executor = Executor::new(1, dispatcher.rouser());
            loop {
                executor.spawn(0, async {
                    while let Some(request) = incoming.next().await {
                        came.set(came.get() + 1);
                        match request.tag() % 3 {
                            0 => drop(request),
                            1 => panic!("on a request"),
                            tag => {
                                incoming.answer(request, tag, &[]);
                            }
                        }
                    }
                });
                match catch_unwind(AssertUnwindSafe(|| executor.run(&mut dispatcher))) {
                    Ok(_) => return (panics, came.get()),
                    Err(_) => panics += 1,
                }
            }
        });
        let mut client = client;
        for tag in 0..300u16 {
            let expected = if tag % 3 == 2 { Ok((2, 0)) } else { Err(Failed::Unanswered) };
            assert_eq!(client.call(tag, &[], &mut []), expected);
        }
        drop(client);
        assert_eq!(serving.join().unwrap(), (100, 300));
    }
}

/// Threads and futures of the client's are told as its plain calls are.
#[test]
fn every_kind_of_call_is_told_that_it_has_no_answer() {
    let gives_up = |mut server: Server| {
        thread::spawn(move || {
            while server.wait().is_ok() {
                while let Ok(Some(request)) = server.take() {
                    server.give_up(request);
                }
                server.flush();
            }
        })
    };
    let (client, server) = meet(Notice::Futex);
    let serving = gives_up(server);
    let caller = client.into_caller();
    for _ in 0..3 {
        assert_eq!(caller.call(0, &[], &mut []), Err(Failed::Unanswered));
        assert_eq!(caller.send(0, &[]).unwrap().wait(&mut []), Err(Failed::Unanswered));
    }
    drop(caller);
    serving.join().unwrap();

    let (client, server) = meet(Notice::Futex);
    let serving = gives_up(server);
    let (calls, mut dispatcher) = client.into_calls();
    let mut executor = Executor::new(1, dispatcher.rouser());
    executor.spawn(0, async {
        for _ in 0..3 {
            assert_eq!(calls.call(0, &[], &mut []).await, Err(Lost::Unanswered));
        }
    });
    executor.run(&mut dispatcher).unwrap();
    drop(executor);
    drop((calls, dispatcher));
    serving.join().unwrap();
}

type Words = Rc<[AtomicU64]>;

fn ends() -> (Calls<Words>, Incoming<Words>) {
    let geometry = Geometry::new(1, 64).unwrap();
    let words: Words = (0..geometry.words()).map(|_| AtomicU64::new(0)).collect();
    let client = client::Client::new(words.clone(), geometry);
    (Calls::new(client), Incoming::new(server::Server::new(words, geometry)))
}

/// What came for one client is not answered to another; and its own client is told that nobody does.
#[test]
fn request_of_another_end_is_refused_and_given_up() {
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};
    let mut context = Context::from_waker(Waker::noop());
    let ((calls, incoming), (others_calls, others)) = (ends(), ends());
    let mut reply = [0];
    let mut call = pin!(calls.call(0, &[], &mut reply));
    assert!(call.as_mut().poll(&mut context).is_pending());
    let mut foreign = [0];
    let mut others_call = pin!(others_calls.call(0, &[], &mut foreign));
    assert!(others_call.as_mut().poll(&mut context).is_pending());
    let mut taken = |incoming: &Incoming<Words>| {
        incoming.turn().unwrap();
        match pin!(incoming.next()).poll(&mut context) {
            Poll::Ready(Some(request)) => request,
            _ => panic!("it came"),
        }
    };
    let (own, request) = (taken(&incoming), taken(&others));
    let told = catch_unwind(AssertUnwindSafe(|| incoming.answer(request, 1, &[1]))).unwrap_err();
    assert!(
        told.downcast_ref::<String>().is_some_and(|told| told.contains("another end")) || told.is::<&str>()
    );
    incoming.answer(own, 2, &[2]);
    calls.turn().unwrap();
    others_calls.turn().unwrap();
    assert_eq!(call.as_mut().poll(&mut context), Poll::Ready(Ok((2, 1))));
    assert_eq!(others_call.as_mut().poll(&mut context), Poll::Ready(Err(Lost::Unanswered)));
}
