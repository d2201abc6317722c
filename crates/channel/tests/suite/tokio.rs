//! The ends under tokio: in one runtime and in two, of one thread and of several, against ends without it; dropped, gone and unasked-for.

use std::future::Future;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::pin::pin;
use std::task::{Context, Waker};
use std::thread;
use std::time::Duration;

use ::tokio::runtime::{Builder, Runtime};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use tollway_channel::coroutine::{Lost, Stopped};
use tollway_channel::linux::tokio::{Client, Server};
use tollway_channel::linux::{self, Limits, Notice, Options};
use tollway_channel::wait::Patience;

use crate::asleep::{Thread, all_are_idle};
use crate::pause::pause;
use crate::watched::watched;

fn one_thread() -> Runtime {
    Builder::new_current_thread().enable_io().build().unwrap()
}

fn two_threads() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_io().build().unwrap()
}

/// With that many slots, for ends that sleep at once or look first.
fn options(slots: usize, is_sleepy: bool) -> (Options, Limits) {
    let patience = is_sleepy.then_some(Patience { spin: 0, yields: 0 });
    let options = Options { slots, patience, ..Options::default() };
    (options, Limits { patience, ..Limits::default() })
}

async fn meet((options, limits): (Options, Limits)) -> (Client, Server) {
    let (here, there) = UnixStream::pair().unwrap();
    let answering = ::tokio::spawn(async move { Server::over(there, &limits).await.unwrap() });
    let client = Client::over(here, &options).await.unwrap();
    (client, answering.await.unwrap())
}

/// Gives way, or has the thread wait.
async fn pauses(random: &mut SmallRng) {
    match random.random_range(0..30) {
        0 => pause(Duration::from_micros(random.random_range(1..300))),
        1..5 => ::tokio::task::yield_now().await,
        _ => {}
    }
}

/// Answers each request with its bytes in reverse and its tag plus 1, by a task for each; how many there were.
async fn serves(server: Server, seed: u64) -> u64 {
    let mut served = 0;
    while let Some(request) = server.next().await {
        let (server, mut random) = (server.clone(), SmallRng::seed_from_u64(seed + served));
        served += 1;
        ::tokio::spawn(async move {
            pauses(&mut random).await;
            let mut bytes = [0; 64];
            let count = server.read(&request, &mut bytes);
            bytes[..count].reverse();
            let tag = request.tag();
            server.answer(request, tag.wrapping_add(1), &bytes[..count]);
        });
    }
    served
}

/// Asks by many tasks at once, each many times, pausing at random.
async fn asks(client: &Client, tasks: u64, times: u64) {
    let asking: Vec<_> = (0..tasks)
        .map(|task| {
            let client = client.clone();
            ::tokio::spawn(async move {
                let mut random = SmallRng::seed_from_u64(task);
                for time in 0..times {
                    let number = task << 32 | time;
                    let mut reply = [0; 8];
                    let answer = client.call(time as u16, &number.to_le_bytes(), &mut reply).await;
                    assert_eq!(answer, Ok(((time as u16).wrapping_add(1), 8)));
                    assert_eq!(u64::from_be_bytes(reply), number);
                    pauses(&mut random).await;
                }
            })
        })
        .collect();
    for task in asking {
        task.await.unwrap();
    }
}

const TIMES: u64 = 100;

#[test]
fn both_ends_in_one_runtime() {
    let _watched = watched();
    for (runtime, is_sleepy) in
        [(one_thread(), true), (one_thread(), false), (two_threads(), true), (two_threads(), false)]
    {
        runtime.block_on(async {
            let (client, server) = meet(options(8, is_sleepy)).await;
            let serving = ::tokio::spawn(serves(server, 1));
            asks(&client, 24, TIMES).await;
            drop(client);
            assert_eq!(serving.await.unwrap(), 24 * TIMES);
        });
    }
}

#[test]
fn ends_in_runtimes_of_their_own() {
    let _watched = watched();
    for is_sleepy in [true, false] {
        let (here, there) = UnixStream::pair().unwrap();
        let (options, limits) = options(8, is_sleepy);
        let serving = thread::spawn(move || {
            one_thread().block_on(async move { serves(Server::over(there, &limits).await.unwrap(), 2).await })
        });
        two_threads().block_on(async {
            let client = Client::over(here, &options).await.unwrap();
            asks(&client, 24, TIMES).await;
        });
        assert_eq!(serving.join().unwrap(), 24 * TIMES);
    }
}

/// One request at a time between ends that sleep at once, each sent a little later or earlier after the other: it meets the server at every step of its
/// lying down. With the driver looking before it says that it sleeps it stopped after 260,836 rounds: a longer form says more (`TOLLWAY_WAKES`).
#[test]
fn no_wake_up_is_lost() {
    let rounds = std::env::var("TOLLWAY_WAKES").map_or(8000, |rounds| rounds.parse().expect("a number"));
    let (here, there) = UnixStream::pair().unwrap();
    let (options, limits) = options(2, true);
    let serving = thread::spawn(move || {
        one_thread().block_on(async move {
            let server = Server::over(there, &limits).await.unwrap();
            while let Some(request) = server.next().await {
                server.answer(request, 0, &[]);
            }
        });
    });
    let (tell, told) = std::sync::mpsc::channel();
    let asking = thread::spawn(move || {
        one_thread().block_on(async move {
            let client = Client::over(here, &options).await.unwrap();
            for round in 0..rounds {
                // Of a prime number of lengths, up to some microseconds.
                (0..round % 1009).for_each(|_| std::hint::spin_loop());
                client.call(0, &[], &mut []).await.unwrap();
                tell.send(round).unwrap();
            }
        });
    });
    for round in 0..rounds {
        assert_eq!(told.recv_timeout(Duration::from_secs(120)), Ok(round), "nobody is woken any more");
    }
    let _watched = watched();
    asking.join().unwrap();
    serving.join().unwrap();
}

/// A client without tokio, and a server without it.
#[test]
fn ends_are_the_same_without_tokio() {
    let _watched = watched();
    let (here, there) = UnixStream::pair().unwrap();
    let serving = thread::spawn(move || {
        one_thread()
            .block_on(async { serves(Server::over(there, &Limits::default()).await.unwrap(), 3).await })
    });
    let mut client =
        linux::Client::over(here, &Options { notice: Notice::Eventfd, ..Options::default() }).unwrap();
    for number in 0..TIMES {
        let mut reply = [0; 8];
        assert_eq!(client.call(1, &number.to_le_bytes(), &mut reply), Ok((2, 8)));
        assert_eq!(u64::from_be_bytes(reply), number);
    }
    drop(client);
    assert_eq!(serving.join().unwrap(), TIMES);

    let (here, there) = UnixStream::pair().unwrap();
    let serving = thread::spawn(move || {
        let mut server = linux::Server::over(there, &Limits::default()).unwrap();
        server
            .serve(|tag, request, reply| {
                reply.iter_mut().zip(request.iter().rev()).for_each(|(to, from)| *to = *from);
                (tag.wrapping_add(1), request.len())
            })
            .unwrap();
    });
    one_thread().block_on(async {
        let client = Client::over(here, &Options::default()).await.unwrap();
        asks(&client, 8, TIMES).await;
    });
    serving.join().unwrap();
}

/// Ends that have slept are woken, and both have.
#[test]
fn who_sleeps_is_woken() {
    let _watched = watched();
    one_thread().block_on(async {
        let (client, server) = meet(options(4, true)).await;
        let serving = ::tokio::spawn(serves(server.clone(), 4));
        for time in 0..20 {
            // In this runtime nothing else is to be done: both come to sleep meanwhile.
            for _ in 0..20 {
                ::tokio::task::yield_now().await;
            }
            let slept = server.counts().sleeps;
            assert!(slept > 0 || time == 0, "it does not sleep");
            client.call(0, &[1, 2], &mut [0; 2]).await.unwrap();
        }
        let (mine, its) = (client.counts(), server.counts());
        assert!(mine.sleeps > 0 && mine.notices > 0 && its.sleeps > 0 && its.notices > 0, "{mine:?} {its:?}");
        assert!(mine.notices <= 21 && its.notices <= 21, "more notices than messages: {mine:?} {its:?}");
        drop(client);
        assert_eq!(serving.await.unwrap(), 20);
    });
}

/// A call that is dropped keeps its slot until the reply has come, which nobody reads; who waits for the slot has it then.
#[test]
fn a_dropped_call_leaves_its_slot() {
    let _watched = watched();
    two_threads().block_on(async {
        let (client, server) = meet(options(1, true)).await;
        let mut reply = [0; 8];
        {
            let mut call = pin!(client.call(0, &[1], &mut reply));
            assert!(call.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        }
        let first = server.next().await.unwrap();
        let waiting = {
            let client = client.clone();
            ::tokio::spawn(async move {
                let mut reply = [0; 8];
                (client.call(0, &[2], &mut reply).await, reply)
            })
        };
        {
            let mut next = pin!(server.next());
            for _ in 0..50 {
                ::tokio::task::yield_now().await;
                assert!(next.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
            }
        }
        server.answer(first, 9, &[9; 8]);
        let second = server.next().await.unwrap();
        let mut byte = [0];
        server.read(&second, &mut byte);
        assert_eq!(byte, [2]);
        server.answer(second, 3, &[3; 8]);
        assert_eq!(waiting.await.unwrap(), (Ok((3, 8)), [3; 8]));
        assert_eq!(reply, [0; 8]);
    });
}

/// The server's driver sleeps when a request is dropped, its task aborted, or its task panics: the client is
/// told, and the only slot has the next request.
#[test]
fn request_that_a_task_drops_or_leaves_is_told_and_its_slot_is_free() {
    let _watched = watched();
    two_threads().block_on(async {
        for is_sleepy in [true, false] {
            let (client, server) = meet(options(1, is_sleepy)).await;
            let serving = ::tokio::spawn(async move {
                let mut panics = 0;
                while let Some(request) = server.next().await {
                    // Long enough for the driver to sleep, where it sleeps at once.
                    ::tokio::task::yield_now().await;
                    match request.tag() % 4 {
                        0 => drop(request),
                        1 => {
                            let held = ::tokio::spawn(async move {
                                let _held = request;
                                std::future::pending::<()>().await;
                            });
                            held.abort();
                        }
                        2 => {
                            let panicking = ::tokio::spawn(async move {
                                let _held = request;
                                panic!("on a request");
                            });
                            panics += u32::from(panicking.await.is_err());
                        }
                        tag => {
                            server.answer(request, tag, &[]);
                        }
                    }
                }
                panics
            });
            for tag in 0..200u16 {
                let expected = if tag % 4 == 3 { Ok((3, 0)) } else { Err(Lost::Unanswered) };
                assert_eq!(client.call(tag, &[], &mut []).await, expected);
            }
            drop(client);
            assert_eq!(serving.await.unwrap(), 50);
        }
    });
}

/// What is asked for that nobody can give is refused before anything is connected to.
#[test]
fn options_that_nobody_can_give_are_refused_before_connecting() {
    let _watched = watched();
    one_thread().block_on(async {
        let wrong = Options { slots: 0, ..Options::default() };
        let refused = Client::connect("/nonexistent/channel.sock", &wrong).await;
        assert!(matches!(refused, Err(tollway_core::Error::Input { .. })));
    });
}

/// Ends are told that the other one is gone, whoever waits and whoever asks afterwards.
#[test]
fn who_waits_is_told_that_the_other_end_is_gone() {
    let _watched = watched();
    let gone = Err(Lost::Stopped(Stopped::Gone));
    for is_sleepy in [true, false] {
        two_threads().block_on(async {
            let (client, server) = meet(options(4, is_sleepy)).await;
            let waiting: Vec<_> = (0..6)
                .map(|_| {
                    let client = client.clone();
                    ::tokio::spawn(async move { client.call(0, &[1], &mut []).await })
                })
                .collect();
            let first = server.next().await.unwrap();
            server.answer(first, 5, &[]);
            // Of the others some are with the server and some in line.
            let mut answers = Vec::new();
            drop(server);
            for task in waiting {
                answers.push(task.await.unwrap());
            }
            answers.sort_by_key(Result::is_err);
            assert_eq!((answers[0], &answers[1..]), (Ok((5, 0)), &[gone; 5][..]));
            assert_eq!(client.call(0, &[1], &mut []).await, gone);
        });
    }
}

/// A runtime that ends tells who waits in another.
#[test]
fn a_runtime_that_ends_takes_its_ends_along() {
    let _watched = watched();
    let runtime = two_threads();
    let (tell, told) = std::sync::mpsc::channel();
    let (client, _server) = runtime.block_on(meet(options(4, true)));
    let waiting = {
        let client = client.clone();
        let tell = tell.clone();
        thread::spawn(move || {
            tell.send(Thread::here()).unwrap();
            one_thread().block_on(client.call(0, &[1], &mut []))
        })
    };
    told.recv().unwrap().falls_asleep();
    drop(runtime);
    assert_eq!(waiting.join().unwrap(), Err(Lost::Stopped(Stopped::Gone)));
}

/// What a client writes where nothing is to be written neither ends nor occupies a server.
#[test]
fn a_link_that_chatters_is_not_listened_to() {
    let _watched = watched();
    two_threads().block_on(async {
        let (here, there) = UnixStream::pair().unwrap();
        let chatter = here.try_clone().unwrap();
        let (options, limits) = options(4, true);
        let answering = ::tokio::spawn(async move { Server::over(there, &limits).await.unwrap() });
        let client = Client::over(here, &options).await.unwrap();
        let server = answering.await.unwrap();
        let serving = ::tokio::spawn(serves(server.clone(), 5));
        chatter.set_nonblocking(true).unwrap();
        for _ in 0..100 {
            let _ = (&chatter).write(&[7; 100]);
            assert_eq!(client.call(0, &[1, 2], &mut [0; 2]).await, Ok((1, 2)));
        }
        drop((client, chatter));
        assert_eq!(serving.await.unwrap(), 100);
    });
}

#[test]
fn a_client_that_is_woken_by_a_futex_is_refused() {
    let _watched = watched();
    one_thread().block_on(async {
        let (here, there) = UnixStream::pair().unwrap();
        let asking = thread::spawn(move || linux::Client::over(here, &Options::default()).map(drop));
        let error = Server::over(there, &Limits::default()).await.err().unwrap().to_string();
        assert!(error.contains("eventfd") || error.contains("Eventfd"), "{error}");
        // Told so, rather than that the server is gone with the first request.
        let why = asking.join().unwrap().unwrap_err().to_string();
        assert!(why.contains("Notice::Eventfd"), "{why}");
    });
}

/// Where nothing happens, nothing is done.
#[test]
fn idle_ends_do_nothing() {
    let _watched = watched();
    let runtime = one_thread();
    runtime.block_on(async {
        let (client, server) = meet(options(4, false)).await;
        let serving = ::tokio::spawn(serves(server.clone(), 6));
        client.call(0, &[1], &mut [0]).await.unwrap();
        let here = Thread::here();
        // The runtime's only thread sleeps until somebody wakes it, and only this would.
        ::tokio::task::spawn_blocking(move || all_are_idle(&[here])).await.unwrap();
        let (mine, its) = (client.counts(), server.counts());
        // Each has lain down after that call, and has not been up since: there was nothing that could have woken it.
        assert!(mine.sleeps <= 6 && its.sleeps <= 6, "{mine:?} {its:?}");
        drop((client, server));
        assert_eq!(serving.await.unwrap(), 1);
    });
}
