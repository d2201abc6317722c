//! Threads that sleep at a channel and at the kernel at once, by either notice: what tasks ask of both comes.

use std::cell::{Cell, RefCell};
use std::thread;
use std::time::Duration;

use tollway_core::Requirement;
use tollway_host::requirement::{skip_test, test_has};

use crate::coroutine::Executor;
use crate::linux::kernel::{self, Both, Kernel, Offer, Ring};
use crate::linux::{Client, Notice, Server};
use crate::wait::Patience;
use crate::{PATIENCES, Seen, meet, message, number, reply_to, share};

/// Requests of a server's at a time, and tasks of a client.
const TASKS: u64 = 6;

fn ring(patience: Patience) -> Ring {
    let patience = Some(patience);
    Ring::open(&kernel::Options { operations: 16, buffers: 0, patience, ..Default::default() }).unwrap()
}

/// Mostly what the kernel has done at once; now and then what it has not.
async fn asks_the_kernel(kernel: &Kernel, number: u64) {
    match number % 64 {
        7 => kernel.timeout(Duration::from_micros(20)).await.unwrap(),
        n if n % 4 == 0 => kernel.nop().await.unwrap(),
        _ => {}
    }
}

fn serves(server: Server, messages: u64, patience: Patience) {
    let seen = RefCell::new(Seen::new(messages));
    let (incoming, dispatcher) = server.into_incoming();
    let mut both = Both::new(ring(patience), dispatcher).unwrap();
    let kernel = both.kernel();
    let mut executor = Executor::new(TASKS as usize, both.rouser());
    for _ in 0..TASKS {
        executor.spawn(1, async {
            while let Some(request) = incoming.next().await {
                let mut bytes = [0; 64];
                assert_eq!(incoming.read(&request, &mut bytes), 64);
                let number = number(&bytes);
                seen.borrow_mut().is_new(number);
                asks_the_kernel(&kernel, number).await;
                incoming.answer(request, !(number as u16), &reply_to(number));
            }
        });
    }
    executor.run(&mut both).unwrap();
    drop(executor);
    seen.into_inner().is_all();
}

fn asks(client: Client, messages: u64, patience: Patience) {
    let (calls, dispatcher) = client.into_calls();
    let mut both = Both::new(ring(patience), dispatcher).unwrap();
    let kernel = both.kernel();
    let replies = Cell::new(0);
    let mut executor = Executor::new(TASKS as usize, both.rouser());
    for task in 0..TASKS {
        let (calls, kernel, replies) = (&calls, &kernel, &replies);
        executor.spawn(task as usize % 8, async move {
            for number in (task..messages).step_by(TASKS as usize) {
                let mut reply = [0; 64];
                let answer = calls.call(number as u16, &message(number), &mut reply).await;
                assert_eq!((answer, reply), (Ok((!(number as u16), 64)), reply_to(number)));
                replies.set(replies.get() + 1);
                asks_the_kernel(kernel, number / TASKS).await;
            }
        });
    }
    executor.run(&mut both).unwrap();
    drop(executor);
    assert_eq!(replies.get(), messages);
}

#[test]
fn at_a_channel_and_the_kernel_no_message_is_lost_doubled_or_changed() {
    by(&[Notice::Futex, Notice::Eventfd], share());
}

/// So many messages by each of these notices.
pub fn by(notices: &[Notice], messages: u64) {
    if !test_has(&[(Requirement::IoUring, "io-uring")]) {
        return;
    }
    for &notice in notices {
        if notice == Notice::Futex
            && let Err(missing) = ring(PATIENCES[0]).offers(Offer::Futex)
        {
            skip_test(&["io-uring"], &missing);
            continue;
        }
        for patience in PATIENCES {
            let (client, server) = meet(4, notice, Some(patience));
            let serving = thread::spawn(move || serves(server, messages, patience));
            asks(client, messages, patience);
            serving.join().unwrap();
        }
    }
}
