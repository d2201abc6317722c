//! Rings: one request after the other, tasks, threads; a server that answers one after the other, and one by tasks.

use std::os::unix::net::UnixStream;
use std::thread;

use tollway_channel::Failed;
use tollway_channel::coroutine::{Executor, Lost, Stopped};
use tollway_channel::linux::{Client, Server};
use tollway_channel::wait::Patience;

use crate::{Way, by_notices, is_second, limits, link, notice, options, patience};

pub const SERVES: &str = "by_rings::serves";
pub const ASKS: &str = "by_rings::asks";

pub fn ways() -> Vec<Way> {
    [
        by_notices("one request at a time", SERVES, calls),
        by_notices("requests of tasks", SERVES, tasks),
        by_notices("requests of threads", SERVES, threads),
        by_notices("a server", ASKS, answers),
        by_notices("a server's tasks", ASKS, answers_in_tasks),
    ]
    .concat()
}

#[test]
#[ignore = "the test of all ways starts it, as a process of its own, and kills it"]
fn serves() {
    let mut server = Server::over(link(), &limits(patience())).unwrap();
    server
        .serve(|tag, request, reply| {
            reply[..request.len()].copy_from_slice(request);
            (tag, request.len())
        })
        .unwrap();
}

#[test]
#[ignore = "the test of all ways starts it, as a process of its own, and kills it"]
fn asks() {
    let mut client = Client::over(link(), &options(notice(is_second()), patience())).unwrap();
    loop {
        while client.in_flight() < 3 {
            client.send(0, &[1; 64]).unwrap();
        }
        client.wait().unwrap();
        while let Some(reply) = client.take().unwrap() {
            client.release(reply);
        }
    }
}

fn calls(is_second: bool, patience: Option<Patience>, link: UnixStream) {
    let Ok(mut client) = Client::over(link, &options(notice(is_second), patience)) else { return };
    let failed = loop {
        if let Err(failed) = client.call(7, &[2; 64], &mut [0; 64]) {
            break failed;
        }
    };
    assert_eq!(failed, Failed::Gone);
}

fn tasks(is_second: bool, patience: Option<Patience>, link: UnixStream) {
    let Ok(client) = Client::over(link, &options(notice(is_second), patience)) else { return };
    let (calls, mut dispatcher) = client.into_calls();
    let mut executor = Executor::new(6, dispatcher.rouser());
    for task in 0..6 {
        let calls = &calls;
        executor.spawn(task, async move {
            let lost = loop {
                if let Err(lost) = calls.call(7, &[2; 64], &mut [0; 64]).await {
                    break lost;
                }
            };
            assert_eq!(lost, Lost::Stopped(Stopped::Gone));
        });
    }
    executor.run(&mut dispatcher).unwrap();
}

fn threads(is_second: bool, patience: Option<Patience>, link: UnixStream) {
    let Ok(client) = Client::over(link, &options(notice(is_second), patience)) else { return };
    let caller = client.into_caller();
    thread::scope(|scope| {
        for _ in 0..3 {
            let caller = &caller;
            scope.spawn(move || {
                let failed = loop {
                    if let Err(failed) = caller.call(7, &[2; 64], &mut [0; 64]) {
                        break failed;
                    }
                };
                assert_eq!(failed, Failed::Gone);
            });
        }
    });
}

fn answers(_: bool, patience: Option<Patience>, link: UnixStream) {
    let Ok(mut server) = Server::over(link, &limits(patience)) else { return };
    server.serve(|tag, request, reply| (tag, request.len().min(reply.len()))).unwrap();
}

fn answers_in_tasks(_: bool, patience: Option<Patience>, link: UnixStream) {
    let Ok(server) = Server::over(link, &limits(patience)) else { return };
    let (incoming, mut dispatcher) = server.into_incoming();
    let mut executor = Executor::new(2, dispatcher.rouser());
    for _ in 0..2 {
        executor.spawn(0, async {
            while let Some(request) = incoming.next().await {
                incoming.answer(request, 0, &[]);
            }
        });
    }
    executor.run(&mut dispatcher).unwrap();
}
