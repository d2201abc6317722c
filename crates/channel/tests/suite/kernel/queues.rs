//! The queues: how often the kernel is entered, and what is waited for when they are full.

use std::cell::Cell;
use std::time::Duration;

use tollway_channel::coroutine::Executor;
use tollway_channel::linux::kernel::{Options, Ring};

use super::{has_rings, once, run, until};

/// Many tasks over few slots, few buffers and a short submission queue: all of them come to their end, with their own bytes.
#[test]
fn full_queues_are_waited_for() {
    if !has_rings() {
        return;
    }
    for (polled, rounds) in [(None, 20), (Some(Duration::from_millis(1)), 4)] {
        let options = Options {
            operations: 16,
            entries: Some(2),
            completions: Some(2),
            buffers: 5,
            bytes: 64,
            polled,
            ..Options::default()
        };
        let mut ring = Ring::open(&options).unwrap();
        let kernel = ring.kernel();
        let file = kernel.file(tempfile::tempfile().unwrap());
        let done = Cell::new(0);
        let mut executor = Executor::new(64, ring.rouser());
        for task in 0..64u64 {
            let (kernel, file, done) = (&kernel, &file, &done);
            executor.spawn((task % 8) as usize, async move {
                for round in 0..rounds {
                    kernel.nop().await.unwrap();
                    let bytes = (task << 32 | round).to_le_bytes();
                    let buffer = kernel.buffer().await.with(&bytes);
                    let (count, buffer) = kernel.write_at(file, task * 8, buffer).await.unwrap();
                    assert_eq!(count, 8);
                    let (count, buffer) = kernel.read_at(file, task * 8, buffer).await.unwrap();
                    assert_eq!((count, &buffer[..]), (8, &bytes[..]));
                    done.set(done.get() + 1);
                }
            });
        }
        executor.run(&mut ring).unwrap();
        drop(executor);
        assert_eq!((done.get(), kernel.in_flight()), (64 * rounds, 0));
    }
}

/// What tasks ask between two turns enters the kernel by one call.
#[test]
fn what_is_asked_between_turns_enters_at_once() {
    if !has_rings() {
        return;
    }
    let mut ring = Ring::open(&Options { operations: 64, ..Options::default() }).unwrap();
    let kernel = ring.kernel();
    let mut executor = Executor::new(64, ring.rouser());
    for _ in 0..64 {
        executor.spawn(0, async {
            for _ in 0..100 {
                kernel.nop().await.unwrap();
            }
        });
    }
    executor.run(&mut ring).unwrap();
    drop(executor);
    // An interrupted call is made again.
    assert!((100..110).contains(&kernel.entries()), "6400 operations, 64 at a time: {}", kernel.entries());
}

/// With a thread of the kernel that looks, only who finds it asleep enters, and who sleeps itself.
#[test]
fn a_thread_of_the_kernel_takes_entries_without_calls() {
    if !has_rings() {
        return;
    }
    let patience = tollway_channel::wait::Patience { spin: u64::MAX, yields: 0 };
    let polled = Some(Duration::from_secs(5));
    let options = Options { operations: 64, polled, patience: Some(patience), ..Options::default() };
    let mut ring = Ring::open(&options).unwrap();
    let kernel = ring.kernel();
    run(&mut ring, async {
        for _ in 0..500 {
            kernel.nop().await.unwrap();
        }
    });
    let counts = ring.counts();
    assert!(counts.entries <= 10 && counts.wakes <= counts.entries, "{counts:?}");
}

/// A line of tasks for the slots, of which one in the middle is dropped after it was called.
#[test]
fn a_turn_in_line_for_a_slot_is_passed_on() {
    if !has_rings() {
        return;
    }
    let mut ring = Ring::open(&Options { operations: 1, ..Options::default() }).unwrap();
    let kernel = &ring.kernel();
    let mut first = Box::pin(kernel.nop());
    let mut second = Box::pin(kernel.nop());
    let mut third = Box::pin(kernel.nop());
    assert!(once(first.as_mut()).is_pending());
    assert!(once(second.as_mut()).is_pending());
    assert!(once(third.as_mut()).is_pending());
    until(&mut ring, || once(first.as_mut()).is_ready());
    drop(second);
    until(&mut ring, || once(third.as_mut()).is_ready());
    assert_eq!(kernel.in_flight(), 0);
}
