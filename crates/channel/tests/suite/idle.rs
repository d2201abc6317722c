//! Ends that have nothing to do use no processor: each goes to sleep, until somebody wakes it.

use std::cell::Cell;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use tollway_channel::coroutine::Executor;
use tollway_channel::linux::{Caller, Client, Failed, Limits, Notice, Options, Server};
use tollway_host::requirement::skip_test;

use crate::asleep::{Thread, all_are_idle};

/// Has `nudges` give these threads something to do, after which they wait for more: all of them sleep then, in calls that no time ends. Who sleeps so
/// uses no processor. How much is used until then is what `round_trips idle` says, and how long is looked at most what `waits` has.
fn sleep_soon(threads: usize, told: &Receiver<Thread>, mut nudges: impl FnMut()) {
    let ends: Vec<_> = told.iter().take(threads).collect();
    for _ in 0..3 {
        nudges();
        all_are_idle(&ends);
    }
}

fn meet(notice: Notice) -> (Client, Server) {
    let (here, there) = UnixStream::pair().unwrap();
    let answering = thread::spawn(move || Server::over(there, &Limits::default()).unwrap());
    (Client::over(here, &Options { notice, ..Options::default() }).unwrap(), answering.join().unwrap())
}

/// Answers that number of requests.
fn answers(server: &mut Server, requests: usize) {
    let mut left = requests;
    while left > 0 {
        server.wait().unwrap();
        while left > 0
            && let Some(request) = server.take().unwrap()
        {
            server.answer(request, 5, &[]);
            left -= 1;
        }
        server.flush();
    }
}

fn a_server(notice: Notice) {
    let (mut client, mut server) = meet(notice);
    let (tells, told) = channel();
    let serving = thread::spawn(move || {
        tells.send(Thread::here()).unwrap();
        server.serve(|_, _, _| (5, 0))
    });
    sleep_soon(1, &told, || assert_eq!(client.call(0, &[1], &mut []), Ok((5, 0))));
    drop(client);
    assert_eq!(serving.join().unwrap(), Ok(()));
}

fn a_servers_tasks(notice: Notice) {
    let (mut client, server) = meet(notice);
    let (tells, told) = channel();
    let serving = thread::spawn(move || {
        let (incoming, mut dispatcher) = server.into_incoming();
        let mut executor = Executor::new(2, dispatcher.rouser());
        for _ in 0..2 {
            executor.spawn(0, async {
                while let Some(request) = incoming.next().await {
                    incoming.answer(request, 5, &[]);
                }
            });
        }
        tells.send(Thread::here()).unwrap();
        executor.run(&mut dispatcher).unwrap();
    });
    sleep_soon(1, &told, || {
        assert_eq!(client.call(0, &[1], &mut []), Ok((5, 0)));
    });
    drop(client);
    serving.join().unwrap();
}

fn a_client(notice: Notice) {
    let (mut client, mut server) = meet(notice);
    let (tells, told) = channel();
    let asking = thread::spawn(move || {
        tells.send(Thread::here()).unwrap();
        while client.call(0, &[1], &mut []) == Ok((5, 0)) {}
    });
    sleep_soon(1, &told, || answers(&mut server, 1));
    drop(server);
    asking.join().unwrap();
}

fn a_clients_tasks(notice: Notice) {
    let (client, mut server) = meet(notice);
    let (tells, told) = channel();
    let asking = thread::spawn(move || {
        let (calls, mut dispatcher) = client.into_calls();
        let (calls, asked) = (&calls, &Cell::new(0));
        let mut executor = Executor::new(2, dispatcher.rouser());
        for _ in 0..2 {
            executor.spawn(0, async move {
                while calls.call(0, &[1], &mut []).await == Ok((5, 0)) {
                    asked.set(asked.get() + 1);
                }
            });
        }
        tells.send(Thread::here()).unwrap();
        executor.run(&mut dispatcher).unwrap();
        assert!(asked.get() >= 2);
    });
    sleep_soon(1, &told, || answers(&mut server, 2));
    drop(server);
    asking.join().unwrap();
}

fn a_clients_threads(notice: Notice) {
    fn asks(caller: &Caller, tells: Sender<Thread>) {
        tells.send(Thread::here()).unwrap();
        while caller.call(0, &[1], &mut []) == Ok((5, 0)) {}
        assert_eq!(caller.call(0, &[1], &mut []), Err(Failed::Gone));
    }
    let (client, mut server) = meet(notice);
    let (tells, told) = channel();
    let caller = client.into_caller();
    thread::scope(|scope| {
        for _ in 0..3 {
            let (caller, tells) = (&caller, tells.clone());
            scope.spawn(move || asks(caller, tells));
        }
        sleep_soon(3, &told, || answers(&mut server, 3));
        drop(server);
    });
}

#[test]
fn who_waits_uses_no_processor() {
    let mut notices = vec![Notice::Futex, Notice::Eventfd];
    // SAFETY: no words, and nothing is written: a kernel that has the call says EINVAL.
    unsafe { libc::syscall(libc::SYS_futex_waitv, 0, 0, 0, 0, 0) };
    if std::io::Error::last_os_error().raw_os_error() == Some(libc::ENOSYS) {
        // An end looks every now and then there.
        skip_test(&[], &"who sleeps by a futex alone looks now and then: this kernel has no futex_waitv(2)");
        notices.remove(0);
    }
    for notice in notices {
        a_server(notice);
        a_servers_tasks(notice);
        a_client(notice);
        a_clients_tasks(notice);
        a_clients_threads(notice);
    }
}
