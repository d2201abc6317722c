//! Ends in tasks of tokio runtimes, against each other and against ends without it.

use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};
use std::thread;

use ::tokio::runtime::{Builder, Runtime};
use ::tokio::spawn;

use crate::linux::tokio::{Client, Server};
use crate::linux::{self, Limits, Notice, Options};
use crate::wait::Patience;
use crate::{PATIENCES, Seen, in_batches, message, number, reply_to, serves_in_tasks, share};

/// Tasks of a client, and half as many of a server.
const TASKS: u64 = 6;

fn runtime(threads: usize) -> Runtime {
    match threads {
        1 => Builder::new_current_thread().enable_io().build().unwrap(),
        _ => Builder::new_multi_thread().worker_threads(threads).enable_io().build().unwrap(),
    }
}

fn options(patience: Patience) -> Options {
    Options { slots: 4, bytes: 64, notice: Notice::Eventfd, patience: Some(patience), ..Options::default() }
}

fn limits(patience: Patience) -> Limits {
    Limits { patience: Some(patience), ..Limits::default() }
}

async fn answers(server: Server, seen: Arc<Mutex<Seen>>) {
    while let Some(request) = server.next().await {
        let mut bytes = [0; 64];
        assert_eq!(server.read(&request, &mut bytes), 64);
        let number = number(&bytes);
        seen.lock().unwrap().is_new(number);
        server.answer(request, !(number as u16), &reply_to(number));
    }
}

fn serves(link: UnixStream, messages: u64, patience: Patience, threads: usize) {
    let seen = Arc::new(Mutex::new(Seen::new(messages)));
    runtime(threads).block_on(async {
        let server = Server::over(link, &limits(patience)).await.unwrap();
        let tasks: Vec<_> = (0..TASKS / 2).map(|_| spawn(answers(server.clone(), seen.clone()))).collect();
        for task in tasks {
            task.await.unwrap();
        }
    });
    seen.lock().unwrap().is_all();
}

async fn calls(client: Client, task: u64, messages: u64) {
    for number in (task..messages).step_by(TASKS as usize) {
        let mut reply = [0; 64];
        let answer = client.call(number as u16, &message(number), &mut reply).await;
        assert_eq!((answer, reply), (Ok((!(number as u16), 64)), reply_to(number)));
    }
}

fn asks(link: UnixStream, messages: u64, patience: Patience, threads: usize) {
    runtime(threads).block_on(async {
        let client = Client::over(link, &options(patience)).await.unwrap();
        let tasks: Vec<_> = (0..TASKS).map(|task| spawn(calls(client.clone(), task, messages))).collect();
        for task in tasks {
            task.await.unwrap();
        }
    });
}

#[test]
fn under_tokio_no_message_is_lost_doubled_or_changed() {
    let messages = share();
    for patience in PATIENCES {
        for (asking, answering) in [(1, 1), (2, 2)] {
            let (here, there) = UnixStream::pair().unwrap();
            let serving = thread::spawn(move || serves(there, messages, patience, answering));
            asks(here, messages, patience, asking);
            serving.join().unwrap();
        }
        let (here, there) = UnixStream::pair().unwrap();
        let serving = thread::spawn(move || {
            serves_in_tasks(linux::Server::over(there, &limits(patience)).unwrap(), messages);
        });
        asks(here, messages, patience, 1);
        serving.join().unwrap();

        let (here, there) = UnixStream::pair().unwrap();
        let serving = thread::spawn(move || serves(there, messages, patience, 1));
        let options = Options { slots: 16, ..options(patience) };
        in_batches(linux::Client::over(here, &options).unwrap(), messages);
        serving.join().unwrap();
    }
}
