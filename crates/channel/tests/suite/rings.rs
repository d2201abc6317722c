//! Two ends in one thread: what one sends the other has, and what no end may do is noticed by the other.

use std::collections::HashSet;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};

use proptest::prelude::*;
use tollway_channel::ring::client::{Client, Refused};
use tollway_channel::ring::layout::Geometry;
use tollway_channel::ring::server::{Request, Server};
use tollway_channel::ring::{Violation, Watched};

type Words = Rc<[AtomicU64]>;

fn ends(slots: usize, bytes: usize) -> (Client<Words>, Server<Words>, Words) {
    let geometry = Geometry::new(slots, bytes).unwrap();
    let words: Words = (0..geometry.words()).map(|_| AtomicU64::new(0)).collect();
    (Client::new(words.clone(), geometry), Server::new(words.clone(), geometry), words)
}

#[test]
fn what_is_no_size_is_refused_and_others_are_rounded_up() {
    assert_eq!(Geometry::new(0, 64), None);
    assert_eq!(Geometry::new(64, 0), None);
    assert_eq!(Geometry::new(32769, 64), None);
    assert_eq!(Geometry::new(64, 65473), None);
    let most = [Geometry::new(32768, 1984).unwrap(), Geometry::new(1023, 65472).unwrap()];
    assert_eq!(most.map(|most| (most.slots(), most.bytes())), [(32768, 1984), (1024, 65472)]);
    assert!(most.iter().all(|most| most.words() * 8 <= Geometry::MOST_MEMORY));
    // More memory than that is touched for nobody.
    assert_eq!(Geometry::new(32768, 1985), None);
    assert_eq!(Geometry::new(1024, 65472).map(Geometry::slots), Some(1024));
    assert_eq!(Geometry::new(1025, 65472), None);
    let small = Geometry::new(3, 1).unwrap();
    assert_eq!((small.slots(), small.bytes()), (4, 64));
}

#[test]
fn more_than_fits_is_refused_and_nothing_is_sent() {
    let (mut client, mut server, _) = ends(2, 64);
    assert_eq!(client.send(0, &[0; 65]), Err(Refused::Long));
    assert!(!server.has_some());
    client.send(0, &[0; 64]).unwrap();
    client.send(0, &[]).unwrap();
    assert_eq!(client.send(0, &[]), Err(Refused::Full));
    let request = server.take().unwrap().unwrap();
    // A reply that is longer than a message is cut.
    assert_eq!(server.answer(request, 0, &[7; 100]), 64);
    // There is no room before the reply is released.
    let reply = client.take().unwrap().unwrap();
    assert_eq!(client.send(0, &[]), Err(Refused::Full));
    let mut bytes = [0; 100];
    assert_eq!((client.read(&reply, &mut bytes), bytes[63], bytes[64]), (64, 7, 0));
    client.release(reply);
    client.send(0, &[]).unwrap();
}

/// The client knows that there is no answer, and has its slot back; and nothing is read of what lies in it.
#[test]
fn request_that_is_given_up_has_its_slot_back() {
    let (mut client, mut server, _) = ends(1, 64);
    client.send(5, &[1; 64]).unwrap();
    let request = server.take().unwrap().unwrap();
    server.give_up(request);
    let reply = client.take().unwrap().unwrap();
    assert!(reply.is_unanswered());
    assert_eq!((reply.bytes(), client.read(&reply, &mut [0; 64])), (0, 0));
    client.release(reply);
    client.send(6, &[]).unwrap();
    let request = server.take().unwrap().unwrap();
    server.answer(request, 7, &[]);
    let reply = client.take().unwrap().unwrap();
    assert!(!reply.is_unanswered());
    client.release(reply);
}

/// Of the same layout, so that nothing else could tell: read or given to another end, it would have been that
/// end's slot.
#[test]
fn ticket_of_another_channel_is_refused_and_nothing_is_done() {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    let refuses = |does: &mut dyn FnMut()| {
        let told = catch_unwind(AssertUnwindSafe(does)).unwrap_err();
        assert!(told.downcast_ref::<&str>().is_some_and(|told| told.contains("another end's")));
    };
    let [(mut client, mut server, _), (mut other, mut others_server, _)] = [ends(2, 64), ends(2, 64)];
    for end in [&mut client, &mut other] {
        end.send(0, &[1]).unwrap();
    }
    let mut take = || (server.take().unwrap().unwrap(), others_server.take().unwrap().unwrap());
    let (request, others) = take();
    refuses(&mut || {
        server.read(&others, &mut [0]);
    });
    let mut foreign = Some(others);
    refuses(&mut || {
        server.answer(foreign.take().unwrap(), 0, &[2]);
    });
    assert_eq!(client.take(), Ok(None));
    other.send(0, &[1]).unwrap();
    let mut foreign = others_server.take().unwrap();
    refuses(&mut || server.give_up(foreign.take().unwrap()));
    assert_eq!(client.take(), Ok(None));
    server.answer(request, 3, &[4]);
    let mut reply = client.take().unwrap();
    refuses(&mut || {
        other.read(reply.as_ref().unwrap(), &mut [0]);
    });
    refuses(&mut || other.release(reply.take().unwrap()));
    assert_eq!((client.in_flight(), other.in_flight()), (1, 2));
}

/// What an end does next.
#[derive(Clone, Debug)]
enum Step {
    Send(Vec<u8>, u16),
    Take,
    Answer(prop::sample::Index),
    Release,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (prop::collection::vec(any::<u8>(), 0..=130), any::<u16>()).prop_map(|(bytes, tag)| Step::Send(bytes, tag)),
        2 => Just(Step::Take),
        2 => any::<prop::sample::Index>().prop_map(Step::Answer),
        2 => Just(Step::Release),
    ];
    prop::collection::vec(step, 1..400)
}

proptest! {
    /// In whatever order ends do what they do, every request comes once and whole, and so does its reply.
    #[test]
    fn every_message_comes_once_and_whole(slots in 1..9usize, steps in steps()) {
        let (mut client, mut server, _) = ends(slots, 128);
        let mut sent: Vec<Option<(Vec<u8>, u16)>> = vec![None; slots.next_power_of_two()];
        let mut here: Vec<Request> = Vec::new();
        let mut order = std::collections::VecDeque::new();
        for step in steps {
            match step {
                Step::Send(bytes, tag) => match client.send(tag, &bytes) {
                    Ok(slot) => {
                        order.push_back(slot);
                        prop_assert!(sent[usize::from(slot)].replace((bytes, tag)).is_none());
                    }
                    Err(Refused::Long) => prop_assert!(bytes.len() > 128),
                    Err(Refused::Full) => prop_assert!(sent.iter().all(Option::is_some)),
                    Err(broken) => prop_assert!(false, "{broken:?}"),
                },
                Step::Take => match server.take().unwrap() {
                    Some(request) => {
                        prop_assert_eq!(Some(request.slot()), order.pop_front());
                        let (bytes, tag) = sent[usize::from(request.slot())].as_ref().unwrap();
                        let mut came = vec![0; request.bytes()];
                        server.read(&request, &mut came);
                        prop_assert_eq!((&came, request.tag()), (bytes, *tag));
                        here.push(request);
                    }
                    None => prop_assert!(order.is_empty()),
                },
                Step::Answer(which) if !here.is_empty() => {
                    let request = here.remove(which.index(here.len()));
                    let (bytes, tag) = sent[usize::from(request.slot())].as_ref().unwrap();
                    let reply: Vec<u8> = bytes.iter().rev().map(|byte| !byte).collect();
                    server.answer(request, !tag, &reply);
                }
                Step::Answer(_) => {}
                Step::Release => if let Some(reply) = client.take().unwrap() {
                    let (bytes, tag) = sent[usize::from(reply.slot())].take().unwrap();
                    let mut came = vec![0; reply.bytes()];
                    client.read(&reply, &mut came);
                    let wanted: Vec<u8> = bytes.iter().rev().map(|byte| !byte).collect();
                    prop_assert_eq!((came, reply.tag()), (wanted, !tag));
                    client.release(reply);
                },
            }
        }
        prop_assert_eq!(client.in_flight(), sent.iter().flatten().count());
    }

    /// Whatever a client writes into the memory, the server has no more requests than there are slots, none twice, none longer than
    /// a message; and once it has noticed, none at all.
    #[test]
    fn a_client_that_lies_harms_nobody(writes in prop::collection::vec((0..400usize, hostile()), 1..300), slots in 1..9usize) {
        let (_, mut server, words) = ends(slots, 64);
        let mut here: HashSet<u16> = HashSet::new();
        let mut kept = Vec::new();
        let mut broken = None;
        for (at, value) in writes {
            words[at % words.len()].store(value, Ordering::Relaxed);
            match server.take() {
                Ok(Some(request)) => {
                    prop_assert!(broken.is_none());
                    prop_assert!(usize::from(request.slot()) < slots.next_power_of_two());
                    prop_assert!(request.bytes() <= 64);
                    prop_assert!(here.insert(request.slot()));
                    prop_assert_eq!(server.read(&request, &mut [0; 64]), request.bytes());
                    kept.push(request);
                }
                Ok(None) => prop_assert!(broken.is_none()),
                Err(violation) => prop_assert_eq!(*broken.get_or_insert(violation), violation),
            }
            if value % 3 == 0 && let Some(request) = kept.pop() {
                here.remove(&request.slot());
                server.answer(request, 0, &[1; 64]);
            }
            let _ = server.theirs().answer();
        }
    }

    /// Whatever a server writes into the memory, a client has a reply only to what it asked, once, and none longer than a message.
    #[test]
    fn a_server_that_lies_harms_nobody(writes in prop::collection::vec((0..400usize, hostile()), 1..300), slots in 1..9usize) {
        let (mut client, _, words) = ends(slots, 64);
        let mut asked: HashSet<u16> = HashSet::new();
        let mut broken = false;
        for (at, value) in writes {
            if value % 2 == 0 {
                match client.send(0, &[2; 64]) {
                    Ok(slot) => prop_assert!(asked.insert(slot)),
                    Err(Refused::Full) => prop_assert_eq!(asked.len(), slots.next_power_of_two()),
                    Err(Refused::Broken(_)) => prop_assert!(broken),
                    Err(Refused::Long) => prop_assert!(false),
                }
            }
            words[at % words.len()].store(value, Ordering::Relaxed);
            match client.take() {
                Ok(Some(reply)) => {
                    prop_assert!(!broken && asked.remove(&reply.slot()) && reply.bytes() <= 64);
                    prop_assert_eq!(client.read(&reply, &mut [0; 64]), reply.bytes());
                    client.release(reply);
                }
                Ok(None) => prop_assert!(!broken),
                Err(_) => broken = true,
            }
        }
    }
}

/// What might be taken for an entry: small numbers where numbers stand, and anything.
fn hostile() -> impl Strategy<Value = u64> {
    let entry = (0..12u64, prop_oneof![0..66u64, 60_000..65_536u64], any::<u16>(), 0..4u64)
        .prop_map(|(slot, bytes, tag, lap)| slot | bytes << 16 | u64::from(tag) << 32 | lap << 48);
    prop_oneof![4 => entry, 1 => any::<u64>()]
}

#[test]
fn laps_without_number() {
    // More than 65536 laps of two entries.
    let (mut client, mut server, _) = ends(2, 64);
    for number in 0..140_000u64 {
        client.send(0, &number.to_ne_bytes()).unwrap();
        let request = server.take().unwrap().unwrap();
        assert_eq!(server.take(), Ok(None));
        assert_eq!(client.take(), Ok(None));
        let mut bytes = [0; 8];
        server.read(&request, &mut bytes);
        server.answer(request, 0, &bytes);
        let reply = client.take().unwrap().unwrap();
        client.read(&reply, &mut bytes);
        assert_eq!(u64::from_ne_bytes(bytes), number);
        client.release(reply);
    }
}

#[test]
fn who_names_a_slot_twice_or_none_is_told_from_who_does_not() {
    let entry = |slot: u64, bytes: u64| slot | bytes << 16 | 1 << 48;
    // The first entries begin after the bells: two pairs of lines.
    for (entries, violation) in [
        (vec![entry(0, 8), entry(0, 8)], Violation::Slot(0)),
        (vec![entry(4, 8)], Violation::Slot(4)),
        (vec![entry(1, 65)], Violation::Bytes(65)),
    ] {
        let (_, mut server, words) = ends(4, 64);
        for (at, entry) in entries.iter().enumerate() {
            words[32 + at].store(*entry, Ordering::Relaxed);
        }
        for _ in 1..entries.len() {
            let _ = server.take().unwrap().unwrap();
        }
        assert_eq!(server.take(), Err(violation));
        assert_eq!(server.take(), Err(violation));
        assert!(server.has_some());
    }
}
