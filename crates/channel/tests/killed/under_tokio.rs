//! Tasks of tokio runtimes, of one thread and of two, from either end.

use std::os::unix::net::UnixStream;

use tokio::runtime::{Builder, Runtime};
use tokio::spawn;
use tollway_channel::coroutine::{Lost, Stopped};
use tollway_channel::linux::Notice;
use tollway_channel::linux::tokio::{Client, Server};
use tollway_channel::wait::Patience;

use crate::{Way, is_second, limits, link, options, patience};

pub fn ways() -> Vec<Way> {
    [false, true]
        .into_iter()
        .flat_map(|is_second| {
            [
                Way { name: "requests under tokio", other: "under_tokio::serves", is_second, works: calls },
                Way { name: "a server under tokio", other: "under_tokio::asks", is_second, works: answers },
            ]
        })
        .collect()
}

/// Of one thread, or of two.
fn runtime(is_second: bool) -> Runtime {
    if is_second {
        Builder::new_multi_thread().worker_threads(2).enable_io().build().unwrap()
    } else {
        Builder::new_current_thread().enable_io().build().unwrap()
    }
}

#[test]
#[ignore = "the test of all ways starts it, as a process of its own, and kills it"]
fn serves() {
    answers(is_second(), patience(), link());
}

#[test]
#[ignore = "the test of all ways starts it, as a process of its own, and kills it"]
fn asks() {
    calls(is_second(), patience(), link());
}

fn calls(is_second: bool, patience: Option<Patience>, link: UnixStream) {
    runtime(is_second).block_on(async {
        let Ok(client) = Client::over(link, &options(Notice::Eventfd, patience)).await else { return };
        let asking = |client: Client| async move {
            loop {
                let mut reply = [0; 64];
                match client.call(7, &[2; 64], &mut reply).await {
                    Ok(answer) => assert_eq!((answer, reply), ((7, 64), [2; 64])),
                    Err(lost) => return lost,
                }
            }
        };
        let tasks: Vec<_> = (0..6).map(|_| spawn(asking(client.clone()))).collect();
        for task in tasks {
            assert_eq!(task.await.unwrap(), Lost::Stopped(Stopped::Gone));
        }
    });
}

fn answers(is_second: bool, patience: Option<Patience>, link: UnixStream) {
    runtime(is_second).block_on(async {
        let Ok(server) = Server::over(link, &limits(patience)).await else { return };
        let answering = |server: Server| async move {
            while let Some(request) = server.next().await {
                let mut bytes = [0; 64];
                let count = server.read(&request, &mut bytes);
                let tag = request.tag();
                server.answer(request, tag, &bytes[..count]);
            }
        };
        let tasks: Vec<_> = (0..2).map(|_| spawn(answering(server.clone()))).collect();
        for task in tasks {
            task.await.unwrap();
        }
    });
}
