//! A thread that scribbles over all that is shared, without a pause, while an honest end works in it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use tollway_channel::ring::client::{Client, Refused};
use tollway_channel::ring::layout::Geometry;
use tollway_channel::ring::server::Server;
use tollway_channel::ring::{Violation, Watched};

type Words = Arc<[AtomicU64]>;

/// Ends that noticed a lie begin anew at the first lap, with the memory as it is.
const SLOTS: usize = 8;

/// So many words, and as many more as it takes until the other has believed one.
fn scribbles(words: &[AtomicU64], seed: u64, writes: u64, is_believed: &AtomicBool) {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut wrote = 0;
    while wrote < writes || !is_believed.load(Ordering::Relaxed) {
        wrote += 1;
        let dice = random.next_u64();
        let (at, value) = match dice % 16 {
            0 => (dice as usize >> 8 & 31, dice >> 60),
            1 => ((dice as usize >> 8) % words.len(), random.next_u64()),
            // Mostly what an honest end might write, so that the rings go on.
            _ => {
                let (slot, bytes, lap) =
                    (dice >> 16 & 7, dice >> 24 & 127, [1, 1, 2, 3][(dice >> 32) as usize & 3]);
                (
                    32 + 16 * (dice as usize >> 8 & 1) + (dice as usize >> 9 & 7),
                    slot | bytes << 16 | lap << 48,
                )
            }
        };
        words[at].store(value, Ordering::Relaxed);
    }
}

/// How many messages an end took for such, and how many lies it noticed.
pub struct Seen {
    pub believed: u64,
    pub noticed: u64,
}

/// An honest end works while another thread writes that often; a server, or a client.
pub fn race(seed: u64, writes: u64, is_server: bool) -> Seen {
    let geometry = Geometry::new(SLOTS, 64).unwrap();
    let words: Words = (0..geometry.words()).map(|_| AtomicU64::new(0)).collect();
    let [is_over, is_believed] = [(); 2].map(|()| AtomicBool::new(false));
    let mut seen = Seen { believed: 0, noticed: 0 };
    thread::scope(|scope| {
        scope.spawn(|| {
            scribbles(&words, seed, writes, &is_believed);
            is_over.store(true, Ordering::Release);
        });
        // Once more after the last word was written.
        loop {
            let was_over = is_over.load(Ordering::Acquire);
            let noticed = match is_server {
                true => serves(Server::new(words.clone(), geometry), &mut seen),
                false => asks(Client::new(words.clone(), geometry), &mut seen),
            };
            is_believed.store(seen.believed > 0, Ordering::Relaxed);
            seen.noticed += u64::from(noticed.is_some());
            if was_over {
                break;
            }
        }
    });
    seen
}

/// Until a lie is noticed, or nothing came for a while.
fn serves(mut server: Server<Words>, seen: &mut Seen) -> Option<Violation> {
    let mut here = [false; SLOTS];
    let mut kept = Vec::new();
    let mut vain = 0;
    while vain < 1000 {
        match server.take() {
            Ok(Some(request)) => {
                seen.believed += 1;
                assert!(!std::mem::replace(&mut here[usize::from(request.slot())], true), "twice");
                assert!(request.bytes() <= 64);
                assert_eq!(server.read(&request, &mut [0; 64]), request.bytes());
                kept.push(request);
            }
            Ok(None) => vain += 1,
            Err(violation) => {
                assert_eq!(server.take(), Err(violation));
                return Some(violation);
            }
        }
        if kept.len() > vain % SLOTS {
            let request = kept.swap_remove(0);
            here[usize::from(request.slot())] = false;
            server.answer(request, 0, &[7; 64]);
            let _ = server.theirs().answer();
        }
    }
    None
}

fn asks(mut client: Client<Words>, seen: &mut Seen) -> Option<Violation> {
    let mut away = [false; SLOTS];
    let mut vain = 0;
    while vain < 1000 {
        match client.send(0, &[3; 64]) {
            Ok(slot) => assert!(!std::mem::replace(&mut away[usize::from(slot)], true), "twice"),
            Err(refused) => assert_eq!(refused, Refused::Full),
        }
        match client.take() {
            Ok(Some(reply)) => {
                seen.believed += 1;
                assert!(std::mem::replace(&mut away[usize::from(reply.slot())], false), "not asked");
                assert!(reply.bytes() <= 64);
                assert_eq!(client.read(&reply, &mut [0; 64]), reply.bytes());
                client.release(reply);
            }
            Ok(None) => vain += 1,
            Err(violation) => {
                assert_eq!(client.take(), Err(violation));
                assert_eq!(client.send(0, &[]), Err(Refused::Broken(violation)));
                return Some(violation);
            }
        }
        let _ = client.theirs().answer();
    }
    None
}
