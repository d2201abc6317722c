//! Every frame is accounted for, when there is room and when there is none.

use std::time::Duration;

use tollway_capture::engine::Packet;
use tollway_capture::engine::bpf::{Instruction, Program};
use tollway_capture::engine::source::{Kind, Placement, Settings};

use crate::eventually::eventually;

use super::cable::{Sender, arrived, drain, now, numbered, on_a_cable, open, settings};

#[test]
fn overload_balances_to_the_frame() {
    // Half of the frames, by their number's last bit.
    let odd = [(0x30, 0, 0, 17), (0x45, 0, 1, 1), (6, 0, 0, 262_144), (6, 0, 0, 0)];
    let odd = odd.map(|(code, jt, jf, k)| Instruction { code, jt, jf, k });
    let odd = Program::new(odd.to_vec()).unwrap();
    for kind in Kind::ALL {
        for filter in [None, Some(odd.clone())] {
            for placement in [Placement::User, Placement::Kernel] {
                let filter = filter.clone();
                let asked = Settings { buffer: 128 << 10, filter, placement, ..settings(kind) };
                on_a_cable(|sender| overload(&sender, &asked));
            }
        }
    }
}

fn overload(sender: &Sender, asked: &Settings) {
    let mut source = open(asked);
    // Without anybody reading, then with a reader who is slow.
    sender.numbered(0..4_000, 60);
    let mut slowly = 0;
    for burst in 1..=4 {
        sender.numbered(burst * 4_000..(burst + 1) * 4_000, 60);
        source.read(50, Duration::ZERO, |_| now(), |_| slowly += 1).unwrap();
    }
    let (kept, books) = drain(&mut source);
    let about = format!("{} {:?} {}: {books:?}", asked.kind, asked.placement, asked.filter.is_some());
    println!("{about}");
    assert_eq!(books.delivered, kept.len() as u64 + slowly, "{about}");
    assert!(books.dropped.unwrap() > 5_000, "{about}");
    let arrived = arrived(asked.kind, 20_000);
    assert_eq!((books.offered, books.balances()), (arrived, arrived.map(|_| true)), "{about}");
    if arrived.is_some() {
        assert_eq!(books.filtered_out.unwrap() > 0, asked.filter.is_some(), "{about}");
    }
}

#[test]
fn in_the_middle_nothing_is_counted_twice() {
    on_a_cable(|sender| {
        for kind in Kind::ALL {
            let mut source = open(&settings(kind));
            for quarter in 1..=4 {
                // As many as the kernel's queue has room for, however busy the machine is.
                sender.numbered(250 * (quarter - 1)..250 * quarter, 60);
                let all = Some(u64::from(250 * quarter));
                eventually("all that was sent is offered", || source.accounting().unwrap().offered == all);
            }
            source.read(300, Duration::from_secs(1), |_| now(), |_| ()).unwrap();
            let half_way = source.accounting().unwrap();
            assert_eq!((half_way.offered, half_way.balances()), (Some(1000), Some(false)), "{kind}");
            assert!(half_way.delivered > 0 && half_way.delivered <= 300, "{kind}");
            let end = source.finish(|_| now(), |_| ()).unwrap();
            assert_eq!((end.delivered, end.balances()), (1000, Some(true)), "{kind}: {end:?}");
            // What comes later is of no concern.
            sender.numbered(0..10, 60);
            assert_eq!(source.accounting().unwrap(), end, "{kind}");
        }
    });
}

#[test]
fn while_frames_come_they_are_read_in_order_and_accounted_for() {
    const FRAMES: u32 = 30_000;
    for kind in Kind::ALL {
        // Little room, so that every ring goes round many times.
        for (buffer, immediate) in [(256 << 10, true), (4 << 20, false)] {
            on_a_cable(|sender| {
                let mut source = open(&Settings { buffer, immediate, ..settings(kind) });
                let (mut next, mut count) = (0, 0u64);
                let mut sink = |packet: Packet<'_>| {
                    let number = u32::from_be_bytes(packet.bytes[14..18].try_into().unwrap());
                    assert!(number >= next, "{kind}: {number} after {next}");
                    assert_eq!(packet.bytes, numbered(number, 60), "{kind}");
                    (next, count) = (number + 1, count + 1);
                };
                let (books, arrived) = std::thread::scope(|scope| {
                    let sending = scope.spawn(|| sender.numbered(0..FRAMES, 60));
                    while !sending.is_finished() {
                        source.read(1000, Duration::from_millis(1), |_| now(), &mut sink).unwrap();
                    }
                    let arrived = arrived(kind, FRAMES.into());
                    // What the sender left in a queue of the kernel's comes.
                    eventually("all that arrives is offered", || {
                        arrived.is_none() || source.accounting().unwrap().offered == arrived
                    });
                    (source.finish(|_| now(), &mut sink).unwrap(), arrived)
                });
                println!("{kind} {buffer}: {books:?}");
                assert_eq!(books.delivered, count, "{kind}: {books:?}");
                assert_eq!((books.offered, books.balances()), (arrived, arrived.map(|_| true)), "{kind}");
                assert!(books.dropped != Some(0) || arrived != Some(FRAMES.into()) || next == FRAMES);
            });
        }
    }
}
