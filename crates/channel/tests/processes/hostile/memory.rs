//! An end that lies in every word that it shares, and an honest one: what bytes say is played, and what the honest end has of it is held against what
//! it may have. The fuzz target `channel-memory`, the seeds and random bytes play here.

use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};

use tollway_channel::ring::client::{Client, Refused, Reply};
use tollway_channel::ring::layout::Geometry;
use tollway_channel::ring::server::{Request, Server};
use tollway_channel::ring::{Violation, Watched};

type Words = Rc<[AtomicU64]>;

/// What came of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// Accesses of the liar and of the honest end.
    pub operations: u64,
    /// Messages that the honest ends took for such.
    pub believed: u64,
    /// Lies that they noticed.
    pub noticed: u64,
}

/// What is played, byte by byte; when it is over there are no more steps.
struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn next(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn number(&mut self) -> u64 {
        self.next().unwrap_or(0).into()
    }

    /// What might be taken for an entry: numbers near those that it may have.
    fn entry(&mut self) -> u64 {
        let (slot, bytes, lap) = (self.number() % 10, self.number(), self.number());
        let bytes = if bytes == 255 { 0xffff } else { bytes };
        let lap = if lap < 250 { 1 + lap % 4 } else { lap * 257 };
        slot | bytes << 16 | bytes << 32 | lap << 48
    }

    fn any(&mut self) -> u64 {
        (0..8).fold(0, |word, _| word << 8 | self.number())
    }
}

/// Plays it, against a server if the first byte is even, against a client if it is odd.
pub fn play(input: &[u8], tally: &mut Tally) {
    let mut input = Input(input);
    let Some(first) = input.next() else { return };
    let geometry = Geometry::new(1 + usize::from(first >> 1) % 8, 64 + 64 * usize::from(first >> 7)).unwrap();
    let words: Words = (0..geometry.words()).map(|_| AtomicU64::new(0)).collect();
    if first.is_multiple_of(2) {
        against_server(geometry, words, &mut input, tally);
    } else {
        against_client(geometry, words, &mut input, tally);
    }
}

/// The liar writes; it knows how many entries the other has read, and in which of the rings.
fn lies(words: &Words, geometry: Geometry, input: &mut Input<'_>, step: u8, (ring, read): (usize, usize)) {
    let rings = 32;
    let (at, value) = match step % 8 {
        // The next entry, of the right lap.
        0..=4 => {
            let (slot, bytes) = (input.number(), input.number());
            let slot = if slot < 240 { slot % geometry.slots() as u64 } else { slot % 16 };
            let bytes = if bytes < 240 { bytes % (geometry.bytes() as u64 + 1) } else { bytes * 257 };
            let lap = (1 + read / geometry.slots()) as u64 & 0xffff;
            (rings + 16 * ring + read % geometry.slots(), slot | bytes << 16 | bytes << 32 | lap << 48)
        }
        // The bells.
        5 => (input.number() as usize % rings, input.number()),
        // The rings: two of at most eight entries, each in two lines of its own.
        6 => (rings + 16 * (input.number() as usize % 2) + input.number() as usize % 8, input.entry()),
        _ => ((input.number() << 8 | input.number()) as usize % words.len(), input.any()),
    };
    words[at].store(value, Ordering::Relaxed);
}

/// What a message says must be what lies in its slot.
fn is_as_it_lies(words: &Words, geometry: Geometry, slot: u16, read: &[u8]) {
    let begins = geometry.words() - (geometry.slots() - usize::from(slot)) * geometry.bytes() / 8;
    let lies = words[begins..].iter().flat_map(|word| word.load(Ordering::Relaxed).to_ne_bytes());
    assert!(lies.take(read.len()).eq(read.iter().copied()));
}

fn against_server(geometry: Geometry, words: Words, input: &mut Input<'_>, tally: &mut Tally) {
    let mut server = Server::new(words.clone(), geometry);
    let mut here = vec![false; geometry.slots()];
    let mut kept: Vec<Request> = Vec::new();
    let mut broken: Option<Violation> = None;
    let mut read = 0;
    while let Some(step) = input.next() {
        tally.operations += 1;
        match step % 4 {
            0 | 1 => lies(&words, geometry, input, step / 4, (0, read)),
            2 => match server.take() {
                Ok(Some(request)) => {
                    tally.believed += 1;
                    read += 1;
                    assert!(broken.is_none(), "who was told from the honest is listened to again");
                    assert!(!std::mem::replace(&mut here[usize::from(request.slot())], true), "twice");
                    assert!(request.bytes() <= geometry.bytes());
                    let mut bytes = vec![0; geometry.bytes() + 1];
                    assert_eq!(server.read(&request, &mut bytes), request.bytes());
                    is_as_it_lies(&words, geometry, request.slot(), &bytes[..request.bytes()]);
                    kept.push(request);
                }
                Ok(None) => assert!(broken.is_none() && !server.has_some()),
                Err(violation) => {
                    tally.noticed += u64::from(broken.is_none());
                    assert_eq!(*broken.get_or_insert(violation), violation);
                    assert!(server.has_some());
                }
            },
            _ if kept.is_empty() => {
                let _ = server.theirs().answer();
            }
            _ => {
                let request = kept.swap_remove(usize::from(step) % kept.len());
                here[usize::from(request.slot())] = false;
                if step.is_multiple_of(16) {
                    server.give_up(request);
                    continue;
                }
                let reply = vec![step; usize::from(step)];
                assert_eq!(server.answer(request, 0, &reply), reply.len().min(geometry.bytes()));
            }
        }
    }
}

fn against_client(geometry: Geometry, words: Words, input: &mut Input<'_>, tally: &mut Tally) {
    let mut client = Client::new(words.clone(), geometry);
    let mut away = vec![false; geometry.slots()];
    let mut kept: Vec<Reply> = Vec::new();
    let mut broken: Option<Violation> = None;
    let mut read = 0;
    while let Some(step) = input.next() {
        tally.operations += 1;
        let taken = away.iter().filter(|away| **away).count() + kept.len();
        // Of a lie the client believes nothing: the slot that it named is away still.
        assert_eq!(client.in_flight(), taken);
        match step % 8 {
            0..=2 => lies(&words, geometry, input, step / 8, (1, read)),
            3 | 4 => match client.take() {
                Ok(Some(reply)) => {
                    tally.believed += 1;
                    read += 1;
                    assert!(broken.is_none(), "who was told from the honest is listened to again");
                    assert!(std::mem::replace(&mut away[usize::from(reply.slot())], false), "not asked");
                    assert!(reply.bytes() <= geometry.bytes());
                    assert!(!reply.is_unanswered() || reply.bytes() == 0);
                    let mut bytes = vec![0; geometry.bytes() + 1];
                    assert_eq!(client.read(&reply, &mut bytes), reply.bytes());
                    is_as_it_lies(&words, geometry, reply.slot(), &bytes[..reply.bytes()]);
                    kept.push(reply);
                }
                Ok(None) => assert!(broken.is_none() && !client.has_some()),
                Err(violation) => {
                    tally.noticed += u64::from(broken.is_none());
                    assert_eq!(*broken.get_or_insert(violation), violation);
                    assert!(client.has_some());
                }
            },
            5 | 6 => {
                let request = vec![step; usize::from(step)];
                match client.send(0, &request) {
                    Ok(slot) => assert!(!std::mem::replace(&mut away[usize::from(slot)], true), "twice"),
                    Err(Refused::Long) => assert!(request.len() > geometry.bytes()),
                    Err(Refused::Broken(violation)) => assert_eq!(broken, Some(violation)),
                    Err(Refused::Full) => assert_eq!(taken, geometry.slots()),
                }
            }
            _ => match kept.pop() {
                Some(reply) => client.release(reply),
                None => {
                    let _ = client.theirs().answer();
                }
            },
        }
    }
}
