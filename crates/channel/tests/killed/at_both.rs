//! Threads that are at a channel and at the kernel at once: who asks the kernel is answered, whoever is killed.

use std::os::unix::net::UnixStream;
use std::time::Duration;

use tollway_channel::coroutine::{Executor, Lost, Stopped};
use tollway_channel::linux::kernel::{self, Both, Kernel, Offer, Ring};
use tollway_channel::linux::{Client, Server};
use tollway_channel::wait::Patience;
use tollway_core::Requirement;
use tollway_host::requirement::{skip_test, test_has};

use crate::by_rings::{ASKS, SERVES};
use crate::{Way, by_notices, limits, notice, options};

pub fn ways() -> Vec<Way> {
    if !test_has(&[(Requirement::IoUring, "io-uring")]) {
        return Vec::new();
    }
    let ways = [
        by_notices("requests at channel and kernel", SERVES, asks),
        by_notices("a server at channel and kernel", ASKS, answers),
    ];
    let offers = ring(None).offers(Offer::Futex);
    if let Err(missing) = &offers {
        skip_test(&["io-uring"], missing);
    }
    ways.concat().into_iter().filter(|way| way.is_second || offers.is_ok()).collect()
}

fn ring(patience: Option<Patience>) -> Ring {
    Ring::open(&kernel::Options { operations: 8, buffers: 0, patience, ..Default::default() }).unwrap()
}

/// What is done at once, and what is not.
async fn asks_the_kernel(kernel: &Kernel, turn: u64) {
    if turn.is_multiple_of(8) {
        kernel.timeout(Duration::from_micros(30)).await.unwrap();
    } else {
        kernel.nop().await.unwrap();
    }
}

fn asks(is_second: bool, patience: Option<Patience>, link: UnixStream) {
    let Ok(client) = Client::over(link, &options(notice(is_second), patience)) else { return };
    let (calls, dispatcher) = client.into_calls();
    let mut both = Both::new(ring(patience), dispatcher).unwrap();
    let kernel = both.kernel();
    let mut executor = Executor::new(4, both.rouser());
    for task in 0..4 {
        let (calls, kernel) = (&calls, &kernel);
        executor.spawn(task, async move {
            for turn in 0.. {
                if task.is_multiple_of(2) {
                    asks_the_kernel(kernel, turn).await;
                }
                if let Err(lost) = calls.call(7, &[2; 64], &mut [0; 64]).await {
                    assert_eq!(lost, Lost::Stopped(Stopped::Gone));
                    break;
                }
            }
            asks_the_kernel(kernel, 0).await;
        });
    }
    executor.run(&mut both).unwrap();
}

fn answers(_: bool, patience: Option<Patience>, link: UnixStream) {
    let Ok(server) = Server::over(link, &limits(patience)) else { return };
    let (incoming, dispatcher) = server.into_incoming();
    let mut both = Both::new(ring(patience), dispatcher).unwrap();
    let kernel = both.kernel();
    let mut executor = Executor::new(2, both.rouser());
    for _ in 0..2 {
        executor.spawn(0, async {
            let mut turn = 0;
            while let Some(request) = incoming.next().await {
                turn += 1;
                asks_the_kernel(&kernel, turn).await;
                incoming.answer(request, 0, &[]);
            }
            asks_the_kernel(&kernel, 0).await;
        });
    }
    executor.run(&mut both).unwrap();
}
