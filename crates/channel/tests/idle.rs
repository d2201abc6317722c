//! Ends that have nothing to do use no processor.

use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tollway_channel::coroutine::Executor;
use tollway_channel::linux::{Client, Limits, Notice, Options, Server};
use tollway_channel::wait::Gone;

/// How long nobody does anything.
const WINDOW: Duration = Duration::from_millis(200);

/// Before that ends may look, for as long as their patience lasts, and a busy machine may keep them from it.
const SETTLED: Duration = Duration::from_millis(100);

/// What two ends and their helpers may use in that time, of 400 ms that two of them would if they looked.
const MOST: Duration = Duration::from_millis(10);

/// Processor time of this process.
fn used() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn meet(notice: Notice) -> (Client, Server) {
    let (here, there) = UnixStream::pair().unwrap();
    let answering = thread::spawn(move || Server::over(there, &Limits::default()).unwrap());
    (Client::over(here, &Options { notice, ..Options::default() }).unwrap(), answering.join().unwrap())
}

fn is_idle(who: &str, notice: Notice) {
    thread::sleep(SETTLED);
    // In one of a few windows: the kernel's own work for a busy machine is told of whom it interrupted.
    let least = (0..5).map(|_| {
        let before = used();
        thread::sleep(WINDOW);
        used() - before
    });
    let least = least.inspect(|used| println!("{who} by {notice:?}: {used:?}")).find(|used| *used < MOST);
    assert!(least.is_some(), "{who} by {notice:?} is not idle");
}

/// Only one test runs in this process: all that is used is the channels'.
#[test]
fn who_waits_uses_no_processor() {
    for notice in [Notice::Futex, Notice::Eventfd] {
        // A server without requests; then its client without replies.
        let (mut client, mut server) = meet(notice);
        let serving = thread::spawn(move || {
            server.wait().unwrap();
            let request = server.take().unwrap().unwrap();
            (server, request)
        });
        is_idle("a server", notice);
        let asking = thread::spawn(move || client.call(0, &[1], &mut [0]).unwrap());
        let (mut server, request) = serving.join().unwrap();
        is_idle("a client", notice);
        server.answer(request, 5, &[2]);
        server.flush();
        assert_eq!(asking.join().unwrap(), (5, 1));
        assert_eq!(server.wait(), Err(Gone));

        // Tasks on both sides, none of which has anything to do; and threads.
        let (client, server) = meet(notice);
        let serving = thread::spawn(move || {
            let (incoming, mut dispatcher) = server.into_incoming();
            let mut executor = Executor::new(1, dispatcher.rouser());
            executor.spawn(0, async {
                let mut kept = Vec::new();
                while let Some(request) = incoming.next().await {
                    kept.push(request);
                    // Three of the client's threads wait until a fourth asks.
                    if kept.len() == 4 {
                        break;
                    }
                }
                for request in kept {
                    incoming.answer(request, 1, &[]);
                }
            });
            executor.run(&mut dispatcher).unwrap();
            drop(executor);
            drop((incoming, dispatcher));
        });
        is_idle("a server's tasks", notice);
        let caller = client.into_caller();
        thread::scope(|scope| {
            let three: Vec<_> = (0..3).map(|_| scope.spawn(|| caller.call(0, &[], &mut []))).collect();
            is_idle("a client's threads", notice);
            assert_eq!(caller.call(0, &[], &mut []), Ok((1, 0)));
            three.into_iter().for_each(|one| assert_eq!(one.join().unwrap(), Ok((1, 0))));
        });
        drop(caller);
        serving.join().unwrap();
    }
}
