//! Wakers that an end keeps so that the same task need not clone its own: they are there for who asks again at once, and keep no task alive for long.

use std::cell::Cell;
use std::future::{Future, pending};
use std::os::unix::net::UnixStream;
use std::pin::Pin;
use std::ptr;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, Weak};
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Wake, Waker};
use std::thread;

use tollway_channel::coroutine::{Calls, Incoming, Lost, Shared, Stopped, Together};
use tollway_channel::linux::kernel::{Both, Offer, Ring};
use tollway_channel::linux::{self, Limits, Options};
use tollway_channel::ring::client::Client;
use tollway_channel::ring::layout::Geometry;
use tollway_channel::ring::server::Server;
use tollway_core::Requirement;
use tollway_host::requirement::test_has;

type Words = Arc<[AtomicU64]>;

fn ends() -> (Client<Words>, Server<Words>) {
    let geometry = Geometry::new(4, 64).unwrap();
    let words: Words = (0..geometry.words()).map(|_| AtomicU64::new(0)).collect();
    (Client::new(words.clone(), geometry), Server::new(words, geometry))
}

/// Answers all that has come.
fn answers(server: &mut Server<Words>) {
    while let Some(request) = server.take().unwrap() {
        server.answer(request, 1, &[]);
    }
}

/// A task that belongs to its wakers and to whoever runs it, as those of many executors do.
struct Task(Mutex<Pin<Box<dyn Future<Output = ()> + Send>>>);

impl Wake for Task {
    fn wake(self: Arc<Task>) {}
}

impl Task {
    fn of(future: impl Future<Output = ()> + Send + 'static) -> Arc<Task> {
        Arc::new(Task(Mutex::new(Box::pin(future))))
    }

    fn poll(self: &Arc<Task>) -> Poll<()> {
        let waker = self.clone().into();
        self.0.lock().unwrap().as_mut().poll(&mut Context::from_waker(&waker))
    }

    /// Nobody runs it any more: it is freed as soon as no waker is left.
    fn given_up(self: Arc<Task>) -> Weak<Task> {
        Arc::downgrade(&self)
    }
}

fn is_freed(task: &Weak<Task>) -> bool {
    task.strong_count() == 0
}

/// A client, its server, and a task that owns the client too: it has asked, been answered and waked; and waits for something else if it ran once more.
fn asked(runs_on: bool) -> (Calls<Words, Together>, Server<Words>, Weak<Task>) {
    let (client, mut server) = ends();
    let calls = Calls::<_, Together>::over(client);
    let own = calls.clone();
    let task = Task::of(async move {
        own.call(0, &[1], &mut []).await.unwrap();
        pending().await
    });
    assert!(task.poll().is_pending());
    answers(&mut server);
    assert_eq!(calls.turn(), Ok(true));
    if runs_on {
        assert!(task.poll().is_pending());
    }
    (calls, server, task.given_up())
}

#[test]
fn a_task_that_owns_its_client_is_freed_when_nothing_comes() {
    for runs_on in [true, false] {
        let (calls, _server, task) = asked(runs_on);
        assert_eq!(calls.turn(), Ok(false));
        assert!(is_freed(&task));
        assert_eq!(calls.with(Client::in_flight), 0);
    }
}

#[test]
fn a_task_that_owns_its_client_is_freed_when_all_ends() {
    for runs_on in [true, false] {
        let (calls, _server, task) = asked(runs_on);
        calls.ends(Stopped::Gone);
        assert!(is_freed(&task));
        assert_eq!(calls.with(Client::in_flight), 0);
    }
}

#[test]
fn a_task_that_owns_its_client_is_freed_where_others_ask_without_end() {
    for runs_on in [true, false] {
        let (calls, mut server, task) = asked(runs_on);
        let own = calls.clone();
        let other = Task::of(async move {
            loop {
                own.call(0, &[2], &mut []).await.unwrap();
            }
        });
        for _ in 0..300 {
            assert!(other.poll().is_pending());
            answers(&mut server);
            assert_eq!(calls.turn(), Ok(true));
        }
        assert!(is_freed(&task));
    }
}

/// A server's task, that has had a request, or was waked for it.
fn answered(runs_on: bool) -> (Incoming<Words, Together>, Client<Words>, Weak<Task>) {
    let (mut client, server) = ends();
    let incoming = Incoming::<_, Together>::over(server);
    let own = incoming.clone();
    let task = Task::of(async move {
        let request = own.next().await.unwrap();
        own.answer(request, 0, &[]);
        pending().await
    });
    assert!(task.poll().is_pending());
    client.send(0, &[]).unwrap();
    assert_eq!(incoming.turn(), Ok(true));
    if runs_on {
        assert!(task.poll().is_pending());
    }
    (incoming, client, task.given_up())
}

#[test]
fn a_task_that_owns_its_server_is_freed() {
    for runs_on in [true, false] {
        let (incoming, _client, task) = answered(runs_on);
        assert_eq!(incoming.turn(), Ok(false));
        assert!(is_freed(&task));

        let (incoming, _client, task) = answered(runs_on);
        incoming.ends(Stopped::Gone);
        assert!(is_freed(&task));

        let (incoming, mut client, task) = answered(runs_on);
        let own = incoming.clone();
        let other = Task::of(async move {
            while let Some(request) = own.next().await {
                own.answer(request, 0, &[]);
            }
        });
        for _ in 0..300 {
            assert!(other.poll().is_pending());
            while let Some(reply) = client.take().unwrap() {
                client.release(reply);
            }
            client.send(0, &[]).unwrap();
            assert_eq!(incoming.turn(), Ok(true));
        }
        assert!(is_freed(&task));
    }
}

thread_local! {
    static CLONED: Cell<u64> = const { Cell::new(0) };
    /// How many clones are left.
    static LEFT: Cell<u64> = const { Cell::new(0) };
    static WOKEN: Cell<u64> = const { Cell::new(0) };
}

fn dropped() {
    LEFT.set(LEFT.get() - 1);
}

static TABLE: RawWakerVTable = RawWakerVTable::new(
    |data| {
        CLONED.set(CLONED.get() + 1);
        LEFT.set(LEFT.get() + 1);
        RawWaker::new(data, &TABLE)
    },
    |_| {
        WOKEN.set(WOKEN.get() + 1);
        dropped();
    },
    |_| WOKEN.set(WOKEN.get() + 1),
    |_| dropped(),
);

/// One whose clones are counted in this thread.
fn counted() -> Waker {
    LEFT.set(LEFT.get() + 1);
    // SAFETY: nothing is behind the pointer, which no function of the table uses.
    unsafe { Waker::new(ptr::null(), &TABLE) }
}

#[test]
fn who_asks_again_at_once_clones_no_waker() {
    let (client, server) = ends();
    let (calls, incoming) = (Calls::new(client), Incoming::new(server));
    let waker = counted();
    let mut context = Context::from_waker(&waker);
    {
        let mut asks = Box::pin(async {
            loop {
                calls.call(0, &[], &mut []).await.unwrap();
            }
        });
        let mut answers = Box::pin(async {
            while let Some(request) = incoming.next().await {
                incoming.answer(request, 0, &[]);
            }
        });
        for _ in 0..1000 {
            let _: Poll<()> = asks.as_mut().poll(&mut context);
            assert!(answers.as_mut().poll(&mut context).is_pending());
            assert_eq!((incoming.turn(), calls.turn()), (Ok(true), Ok(false)));
            assert!(answers.as_mut().poll(&mut context).is_pending());
            assert_eq!((incoming.turn(), calls.turn()), (Ok(false), Ok(true)));
        }
        assert_eq!(CLONED.get(), 2, "one for each task");
    }
    drop((calls, incoming));
    assert_eq!(LEFT.get(), 1);
}

fn meet() -> (linux::Client, linux::Server) {
    let (here, there) = UnixStream::pair().unwrap();
    let answering = thread::spawn(move || linux::Server::over(there, &Limits::default()).unwrap());
    let client = linux::Client::over(here, &Options { slots: 1, ..Options::default() }).unwrap();
    (client, answering.join().unwrap())
}

/// Who waits, with the server or in line, is told when what drives the end is dropped; no waker is left.
#[test]
fn nobody_waits_for_what_nobody_brings() {
    let has_rings = test_has(&[(Requirement::IoUring, "io-uring")]);
    for at_both in [false, true] {
        let (client, _server) = meet();
        let (calls, dispatcher) = client.into_calls();
        let waker = counted();
        let (left, woken) = (LEFT.get(), WOKEN.get());
        let mut context = Context::from_waker(&waker);
        let (mut one, mut two) = ([0; 1], [0; 1]);
        let mut waiting = [Box::pin(calls.call(0, &[], &mut one)), Box::pin(calls.call(0, &[], &mut two))];
        waiting.iter_mut().for_each(|call| assert!(call.as_mut().poll(&mut context).is_pending()));
        if at_both {
            if !has_rings {
                return;
            }
            let ring = Ring::open(&Default::default()).unwrap();
            if ring.offers(Offer::Futex).is_err() {
                return;
            }
            drop(Both::new(ring, dispatcher).unwrap());
        } else {
            drop(dispatcher);
        }
        assert_eq!((WOKEN.get(), LEFT.get()), (woken + 2, left));
        for call in &mut waiting {
            assert_eq!(call.as_mut().poll(&mut context), Poll::Ready(Err(Lost::Stopped(Stopped::Gone))));
        }
    }
    let (_client, server) = meet();
    let (incoming, dispatcher) = server.into_incoming();
    let mut next = Box::pin(incoming.next());
    assert!(next.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    drop(dispatcher);
    assert!(matches!(next.as_mut().poll(&mut Context::from_waker(Waker::noop())), Poll::Ready(None)));
}
