//! The turns of the fast path, and the waiting for them, under every interleaving and every order of memory that the language allows.
//!
//! `src/linux/plain/{turn,waiting}.rs` are compiled once more here, as the rest is.
use std::sync::Arc;

use loom::thread;

#[path = "../../src/linux/plain/failed.rs"]
mod failed;
#[path = "../../src/linux/plain/turn.rs"]
mod turn;
#[path = "../../src/linux/plain/waiting.rs"]
mod waiting;

use atomic::{AtomicU64, Ordering};
use failed::{Failed, Violation};
use turn::Turn;
use waiting::{Sleeper, Waiting};

use crate::futex::Futex;
use crate::ring::layout::End;
use crate::wait::{Gone, Patience};
use crate::{atomic, ring, wait};

impl Sleeper for Arc<Futex> {
    fn now(&self) -> u64 {
        0
    }

    fn relax(&self) {}

    fn give_way(&self) {
        thread::yield_now();
    }

    fn cpu(&self) -> u16 {
        0
    }

    fn is_gone(&self) -> bool {
        false
    }

    fn sleep(&self, word: &AtomicU64, value: u64, _: Option<std::time::Duration>) -> Result<(), Gone> {
        self.sleeps_while(|| word.load(Ordering::Relaxed) == value);
        Ok(())
    }

    fn wake(&self, _: &AtomicU64) {
        self.wakes();
    }
}

fn check(preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(model);
}

fn memory(longest: usize) -> Arc<[AtomicU64]> {
    (0..turn::words(longest)).map(|_| AtomicU64::new(0)).collect()
}

/// Both ends of a line of messages of 8 bytes, the client's first, which sleep by the same futex.
fn ends(yields: [u32; 2]) -> [Waiting<Arc<[AtomicU64]>, Arc<Futex>>; 2] {
    let (memory, futex) = (memory(8), Arc::new(Futex::default()));
    let end = |own, yields| {
        let patience = Patience { spin: 0, yields };
        Waiting::new(Turn::new(memory.clone(), own, 8), futex.clone(), patience)
    };
    [end(End::Client, yields[0]), end(End::Server, yields[1])]
}

/// Loom finds a deadlock where a wake-up is lost, and a reply that is not its request's where a message is read too early or changed too soon.
fn answers(preemptions: usize, requests: u64, yields: [u32; 2]) {
    check(preemptions, move || {
        let [mut client, mut server] = ends(yields);
        let answering = thread::spawn(move || {
            for _ in 0..requests {
                let mut number = [0; 8];
                let (tag, bytes) = server.take(&mut number, || None).unwrap();
                assert_eq!(bytes, 8);
                let answer = u64::from_ne_bytes(number) + 100;
                server.give(tag + 1, &answer.to_ne_bytes()).unwrap();
            }
        });
        for number in 0..requests {
            let mut answer = [0; 8];
            client.give(number as u16, &number.to_ne_bytes()).unwrap();
            assert_eq!(client.take(&mut answer, || None), Ok((number as u16 + 1, 8)));
            assert_eq!(u64::from_ne_bytes(answer), number + 100);
        }
        answering.join().unwrap();
    });
}

#[test]
fn every_request_is_answered_by_ends_that_sleep_at_once() {
    answers(4, 2, [0, 0]);
    answers(2, 3, [0, 0]);
}

#[test]
fn every_request_is_answered_by_ends_that_give_way_first() {
    answers(2, 2, [1, 0]);
    answers(2, 2, [0, 1]);
}

/// Whatever another thread writes into the word and whenever: an end sees its turn, or a violation, and hands no length out that is too long.
#[test]
fn a_word_that_changes_meanwhile_is_noticed() {
    for word in [0, 1, 2, 3, 4, 1 << 16, 1 << 63 | 1, 8 << 48 | 1, u64::MAX] {
        check(3, move || {
            let memory = memory(8);
            let scribbling = thread::spawn({
                let memory = memory.clone();
                move || memory[0].store(word, Ordering::Release)
            });
            let mut server = Turn::new(memory, End::Server, 8);
            match server.take() {
                Ok(None) => {}
                Ok(Some(told)) => {
                    assert!(word & 0xffff == 1 || word & 0xffff == 3);
                    assert!(told.bytes <= 8);
                    assert!(server.is_own());
                }
                Err(Violation::Bytes(bytes)) => assert!(bytes > 8),
                Err(Violation::Turn(seen)) => assert_eq!(seen, word as u32),
                Err(other) => panic!("{other:?}"),
            }
            if server.is_own() {
                assert!(server.pass(0, &[1], 0).is_ok());
            }
            scribbling.join().unwrap();
        });
    }
}

#[test]
fn a_turn_that_is_taken_out_of_turn_is_noticed() {
    loom::model(|| {
        let memory = memory(8);
        let mut client = Turn::new(memory.clone(), End::Client, 8);
        memory[0].store(1, Ordering::Release);
        assert_eq!(client.pass(0, &[], 0), Err(Violation::Turn(1)));
        let [mut client, mut server] = ends([0, 0]);
        assert_eq!(server.give(0, &[]), Err(Failed::NotItsTurn));
        assert_eq!(client.take(&mut [], || None), Err(Failed::NotItsTurn));
        assert_eq!(client.give(0, &[0; 9]), Err(Failed::TooLong));
        client.give(0, &[0; 8]).unwrap();
        assert_eq!(client.give(0, &[]), Err(Failed::NotItsTurn));
        assert_eq!(server.take(&mut [0; 3], || None), Ok((0, 3)));
    });
}
