//! The driver's side of a queue against the device's, step by step in one thread.

use std::collections::VecDeque;
use std::sync::Arc;

use proptest::prelude::*;
use tollway_core::Error;
use tollway_virtio::Span;
use tollway_virtio::backend::{Chain, Memory, Port, Ring};
use tollway_virtio::frontend::{Lane, Link, LinkOptions};
use vm_memory::{Bytes, GuestAddress};

use super::mirror::{self, serve};

/// A link to a device that does nothing by itself, and the device's side of it.
fn idle(options: &LinkOptions) -> (Arc<Port>, Link) {
    let (inside, port) = mirror::idle();
    let link = Link::inside(&inside, options).unwrap();
    (port, link)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Everything that was submitted comes back once, in its order, with the right bytes; and room comes back with it.
    #[test]
    fn nothing_is_lost_and_nothing_twice(
        size in prop::sample::select(vec![1u16, 2, 4, 16]),
        indirect in prop::sample::select(vec![0usize, 2, 8]),
        event_index: bool,
        steps in prop::collection::vec((0u8..4, 1usize..5, 1usize..5), 1..200),
    ) {
        let options = LinkOptions { size, indirect, event_index, bytes: 1 << 16, ..LinkOptions::default() };
        let (port, mut link) = idle(&options);
        let (area, free) = (link.area(), link.free());
        let lane = link.lane(0);
        let mut chain = Chain::default();
        let mut submitted: VecDeque<(u64, u32, Vec<Span>, usize)> = VecDeque::new();
        let mut done = 0;
        let mut token = 0u64;
        for (step, readable, writable) in steps {
            match step {
                0 | 1 => {
                    // Of each buffer its own 1024 bytes, used again after 64.
                    let at = free + token as usize % 64 * 1024;
                    let span = |at: usize, n: usize| Span { at: at + 100 * n, bytes: 3 + n as u32 };
                    let there: Vec<_> = (0..readable).map(|n| span(at, n)).collect();
                    let back: Vec<_> = (0..writable).map(|n| span(at + 512, n)).collect();
                    let bytes: u32 = there.iter().map(|span| span.bytes).sum();
                    let room: u32 = back.iter().map(|span| span.bytes).sum();
                    let pieces = readable + writable;
                    let descriptors = if pieces <= indirect { 1 } else { pieces };
                    if descriptors > usize::from(size) {
                        lane.submit(token, &there, &back).unwrap_err();
                        continue;
                    }
                    for span in &there {
                        area.write(span.at, &[token as u8; 8][..span.bytes as usize]);
                    }
                    let taken: usize = submitted.iter().map(|(.., descriptors)| *descriptors).sum();
                    let fits = taken + descriptors <= usize::from(size);
                    prop_assert_eq!(lane.submit(token, &there, &back).unwrap(), fits);
                    if fits {
                        submitted.push_back((token, bytes.min(room), back, descriptors));
                        token += 1;
                    }
                }
                2 => {
                    lane.show();
                    done += serve(port.rings()[0].as_mut().unwrap(), &mut chain);
                    prop_assert_eq!(done, submitted.len());
                }
                _ => {
                    let found = lane.take().unwrap();
                    prop_assert_eq!(found.is_some(), done > 0);
                    let Some(found) = found else { continue };
                    let (token, written, back, _) = submitted.pop_front().unwrap();
                    prop_assert_eq!((found.token, found.written), (token, written));
                    let mut left = written;
                    for span in back {
                        let mut bytes = [0; 8];
                        let now = span.bytes.min(left);
                        area.read(span.at, &mut bytes[..now as usize]);
                        prop_assert!(bytes[..now as usize].iter().all(|byte| *byte == token as u8));
                        left -= now;
                    }
                    done -= 1;
                }
            }
            prop_assert_eq!(lane.in_flight(), submitted.len());
        }
    }
}

#[test]
fn indices_go_over_their_end() {
    for event_index in [true, false] {
        let options = LinkOptions { size: 2, event_index, ..LinkOptions::default() };
        let (port, mut link) = idle(&options);
        let span = [Span { at: link.free(), bytes: 8 }];
        let mut chain = Chain::default();
        for token in 0..70_000 {
            assert!(link.lane(0).submit(token, &[], &span).unwrap());
            link.lane(0).wants_kick();
            assert_eq!(serve(port.rings()[0].as_mut().unwrap(), &mut chain), 1);
            assert_eq!(link.lane(0).take().unwrap().unwrap().token, token);
        }
    }
}

/// Buffers are seen when they are shown, and the device is kicked when it asked for that.
#[test]
fn kicks_are_as_the_device_wants_them() {
    for event_index in [true, false] {
        let (port, mut link) = idle(&LinkOptions { event_index, ..LinkOptions::default() });
        let span = [Span { at: link.free(), bytes: 8 }];
        let mut chain = Chain::default();
        let lane = link.lane(0);
        lane.submit(0, &[], &span).unwrap();
        assert_eq!(serve(port.rings()[0].as_mut().unwrap(), &mut chain), 0, "it was not shown");
        assert!(lane.wants_kick() && !lane.wants_kick(), "once, as the device has not asked not to be");
        assert_eq!(serve(port.rings()[0].as_mut().unwrap(), &mut chain), 1);
        assert!(!port.rings()[0].as_mut().unwrap().want_kicks(false));
        lane.submit(1, &[], &span).unwrap();
        assert!(!lane.wants_kick(), "it asked not to be kicked");
        assert!(port.rings()[0].as_mut().unwrap().want_kicks(true), "there was one already");
        assert_eq!(serve(port.rings()[0].as_mut().unwrap(), &mut chain), 1);
        assert!(!port.rings()[0].as_mut().unwrap().want_kicks(true));
        lane.submit(2, &[], &span).unwrap();
        assert!(lane.wants_kick());
    }
}

#[test]
fn calls_are_as_the_driver_wants_them() {
    for event_index in [true, false] {
        let (port, mut link) = idle(&LinkOptions { event_index, ..LinkOptions::default() });
        let span = [Span { at: link.free(), bytes: 8 }];
        let mut chain = Chain::default();
        let mut round = |lane: &mut Lane, wanted: Option<bool>| {
            lane.submit(0, &[], &span).unwrap();
            if let Some(wanted) = wanted {
                assert!(!lane.want_call(wanted), "nothing was there yet");
            }
            lane.show();
            serve(port.rings()[0].as_mut().unwrap(), &mut chain);
            assert!(lane.has_some());
            lane.take().unwrap().unwrap();
            lane.hear()
        };
        let lane = link.lane(0);
        assert!(round(lane, None), "from the start it wants calls");
        assert!(!round(lane, Some(false)));
        assert!(!round(lane, None));
        assert!(round(lane, Some(true)));
        lane.submit(0, &[], &span).unwrap();
        lane.show();
        serve(port.rings()[0].as_mut().unwrap(), &mut chain);
        assert!(lane.want_call(true), "there is one already");
    }
}

/// A call that may come late does not get lost: what was not called early is with the last.
#[test]
fn early_calls_are_made_up_for() {
    for event_index in [true, false] {
        let (port, mut link) = idle(&LinkOptions { event_index, ..LinkOptions::default() });
        let span = [Span { at: link.free(), bytes: 8 }];
        let lane = link.lane(0);
        let mut rings = port.rings();
        let ring = rings[0].as_mut().unwrap();
        let mut chain = Chain::default();
        let mut round = |lane: &mut Lane, wishes: [bool; 2]| {
            for token in 0..2 {
                lane.submit(token, &[], &span).unwrap();
            }
            lane.show();
            let called = wishes.map(|wish| {
                lane.want_call(wish);
                assert!(ring.take(&mut chain).unwrap());
                ring.give_back(&chain, 0);
                ring.call_early()
            });
            let last = ring.call();
            for _ in 0..2 {
                lane.take().unwrap().unwrap();
            }
            (called, last)
        };
        assert_eq!(round(lane, [false, false]), ([false, false], false));
        assert_eq!(round(lane, [true, false]), ([true, false], false));
        // It wishes for the first although that was not called early: it is called with the second.
        assert_eq!(round(lane, [false, true]), ([false, true], false));
    }
}

#[test]
fn buffers_that_cannot_be_are_refused() {
    let options = LinkOptions { size: 4, indirect: 2, bytes: 4096, ..LinkOptions::default() };
    let (_port, mut link) = idle(&options);
    let (free, len) = (link.free(), link.area().len());
    let span = |at: usize, bytes: u32| Span { at, bytes };
    let lane = link.lane(0);
    let good = span(free, 8);
    for (readable, writable) in [
        (vec![], vec![]),
        (vec![span(free, 0)], vec![]),
        (vec![], vec![span(len - 8, 9)]),
        (vec![span(usize::MAX, 8)], vec![good]),
        (vec![good; 3], vec![good; 2]),
    ] {
        assert!(matches!(lane.submit(0, &readable, &writable), Err(Error::Input { .. })));
    }
    assert!(lane.submit(0, &[span(len - 8, 8)], &[]).unwrap());
    assert_eq!(lane.in_flight(), 1);
}

/// A device may write whatever it likes into the used ring, and over descriptors, too.
#[test]
fn a_device_that_gives_back_what_it_was_not_given_is_an_error() {
    let give = |id: u32, written: u32, index: u16| {
        let (port, mut link) = idle(&LinkOptions { indirect: 0, ..LinkOptions::default() });
        let free = link.free();
        let lane = link.lane(0);
        for token in 0..2 {
            let writable = [Span { at: free, bytes: 8 }, Span { at: free + 8, bytes: 4 }];
            assert!(lane.submit(token, &[], &writable).unwrap());
        }
        lane.show();
        let layout = *lane.layout();
        let memory = port.rings()[0].as_ref().unwrap().memory().clone();
        let at = |offset: usize| GuestAddress(lane.guest() + offset as u64);
        memory.guest().write_slice(&[0xff; 64], at(layout.descriptors)).unwrap();
        memory
            .guest()
            .write_slice(&[id.to_le_bytes(), written.to_le_bytes()].concat(), at(layout.used + 4))
            .unwrap();
        memory.guest().write_slice(&index.to_le_bytes(), at(layout.used + 2)).unwrap();
        link.lane(0).take()
    };
    assert_eq!(give(0, 12, 1).unwrap().unwrap().token, 0);
    assert_eq!(give(2, 0, 2).unwrap().unwrap().token, 1);
    for (id, written, index) in
        [(1, 0, 1), (256, 0, 1), (u32::MAX, 0, 1), (0, 13, 1), (0, 12, 3), (0, 12, u16::MAX)]
    {
        let told = give(id, written, index).unwrap_err().to_string();
        assert!(told.contains("not given"), "{id} {written} {index}: {told}");
    }
}

/// rust-vmm's device side serves what this driver's side submits, and takes its wishes as they are meant.
#[test]
fn another_librarys_device_understands() {
    use virtio_queue::{Queue, QueueT};
    for (event_index, indirect) in [(true, 8), (false, 8), (true, 0), (false, 0)] {
        let (port, mut link) =
            idle(&LinkOptions { event_index, indirect, size: 32, ..LinkOptions::default() });
        let memory = port.rings()[0].as_ref().unwrap().memory().clone();
        let (area, free) = (link.area(), link.free());
        let lane = link.lane(0);
        let (layout, guest) = (*lane.layout(), lane.guest());
        let at = |offset: usize| GuestAddress(guest + offset as u64);
        let mut device = Queue::new(32).unwrap();
        device.try_set_desc_table_address(at(layout.descriptors)).unwrap();
        device.try_set_avail_ring_address(at(layout.available)).unwrap();
        device.try_set_used_ring_address(at(layout.used)).unwrap();
        device.set_event_idx(event_index);
        device.set_ready(true);
        assert!(device.is_valid(memory.guest()));
        let (mut kicks, mut calls) = (0, 0);
        for token in 0..1000u64 {
            let span = |n: usize, bytes| Span { at: free + 256 * n, bytes };
            area.write(free, &token.to_le_bytes());
            assert!(
                lane.submit(token, &[span(0, 3), Span { at: free + 3, bytes: 5 }], &[span(1, 2), span(2, 6)])
                    .unwrap()
            );
            lane.want_call(token % 3 == 0);
            kicks += u32::from(lane.wants_kick());
            device.disable_notification(memory.guest()).unwrap();
            while let Some(chain) = device.pop_descriptor_chain(memory.guest()) {
                let mut bytes = Vec::new();
                for descriptor in chain.clone() {
                    let address = descriptor.addr();
                    if descriptor.is_write_only() {
                        let rest = bytes.split_off((descriptor.len() as usize).min(bytes.len()));
                        memory.guest().write_slice(&bytes, address).unwrap();
                        bytes = rest;
                    } else {
                        let mut piece = vec![0; descriptor.len() as usize];
                        memory.guest().read_slice(&mut piece, address).unwrap();
                        bytes.extend(piece);
                    }
                }
                device.add_used(memory.guest(), chain.head_index(), 8).unwrap();
            }
            let silent =
                event_index || u16::from_le(memory.guest().read_obj(at(layout.available)).unwrap()) & 1 == 0;
            calls += u32::from(device.needs_notification(memory.guest()).unwrap() && silent);
            if token % 2 == 0 {
                device.enable_notification(memory.guest()).unwrap();
            }
            let found = lane.take().unwrap().unwrap();
            assert_eq!((found.token, found.written), (token, 8));
            let mut back = [0; 8];
            area.read(free + 256, &mut back[..2]);
            area.read(free + 512, &mut back[2..]);
            assert_eq!(back, token.to_le_bytes());
        }
        // It asked to be kicked for every other one, and was asked to call for every third.
        assert_eq!((kicks, calls), (501, 334), "{event_index} {indirect}");
    }
}

/// rust-vmm's driver side of a queue, as its tests have it, is understood by this device's side.
#[test]
fn another_librarys_driver_is_understood() {
    use virtio_queue::desc::{RawDescriptor, split::Descriptor};
    use virtio_queue::mock::MockSplitQueue;
    let memory = Arc::new(Memory::anonymous(1 << 16));
    // Both have the descriptors at 0 and the available ring behind them; the used ring is not looked at.
    let queue = MockSplitQueue::new(memory.guest(), 32);
    let mut ring = Ring::alone(memory.clone(), 32, true, false).unwrap();
    let piece = |at: u64, bytes: u32, flags: u16, next: u16| {
        RawDescriptor::from(Descriptor::new(at, bytes, flags, next))
    };
    memory.guest().write_slice(b"twelve bytes", GuestAddress(0x4000)).unwrap();
    queue
        .add_desc_chains(&[piece(0x4000, 5, 1, 1), piece(0x4005, 7, 1, 2), piece(0x5000, 12, 2, 0)], 0)
        .unwrap();
    let mut chain = Chain::default();
    assert_eq!(serve(&mut ring, &mut chain), 1);
    let mut back = [0; 12];
    memory.guest().read_slice(&mut back, GuestAddress(0x5000)).unwrap();
    assert_eq!(&back, b"setyb evlewt");
}
