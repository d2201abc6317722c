//! Threads that sleep at a channel and at the kernel at once, by either notice: what tasks ask of both comes.

use std::thread;
use std::time::Duration;

use tollway_core::Requirement;
use tollway_host::requirement::{skip_test, test_has};

use crate::linux::kernel::{self, Both, Kernel, Offer, Ring};
use crate::linux::{Client, Notice, Server};
use crate::wait::Patience;
use crate::{PATIENCES, answers, calls, meet, share};

/// Requests of a server's at a time, and tasks of a client.
const TASKS: usize = 6;

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
    let (incoming, dispatcher) = server.into_incoming();
    let mut both = Both::new(ring(patience), dispatcher).unwrap();
    let kernel = both.kernel();
    let asks = async |number: u64| asks_the_kernel(&kernel, number).await;
    answers(TASKS, &incoming, messages, asks, both.rouser(), &mut both);
}

fn asks(client: Client, messages: u64, patience: Patience) {
    let (asked, dispatcher) = client.into_calls();
    let mut both = Both::new(ring(patience), dispatcher).unwrap();
    let kernel = both.kernel();
    let asks = async |number: u64| asks_the_kernel(&kernel, number / TASKS as u64).await;
    calls(TASKS, &asked, messages, asks, both.rouser(), &mut both);
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
