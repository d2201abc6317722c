//! What is sent is what arrives at the other end of a cable, once each and in order, by every way of sending; and what
//! cannot be sent is told.

use std::os::fd::{AsFd, AsRawFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tollway_core::Requirement;
use tollway_host::requirement::{check, skip_test};
use tollway_wire::send::{Many, Ring, SLOT, Single, Transmit, longest};
use tollway_wire::{Cable, Interface, PacketSocket, WireError, set_mtu, set_up};

/// Runs something at a cable's two ends, where this process may make one.
fn at_a_cable(play: impl FnOnce(Interface, Interface) + Send) {
    if let Err(missing) =
        check(&Requirement::NetworkNamespaces).and_then(|()| check(&Requirement::PacketSockets))
    {
        return skip_test(&["netns", "packet"], &missing);
    }
    let cable = Cable::new().unwrap();
    let ends = || (Interface::named(Cable::LEFT).unwrap(), Interface::named(Cable::RIGHT).unwrap());
    cable.namespace().run(|| play(ends().0, ends().1)).unwrap();
}

/// A frame that no two numbers share: a made-up type (0x88b5, IEEE 802 local experimental), the number, bytes of it.
fn frame(number: u64, slot: &mut [u8]) -> usize {
    let length = 60 + (number as usize * 37) % 1455;
    slot[..length].fill(number as u8);
    slot[12..14].copy_from_slice(&[0x88, 0xb5]);
    slot[14..22].copy_from_slice(&number.to_be_bytes());
    length
}

/// Sends frames batch by batch and reads each batch before the next.
fn all_arrive_as_they_were(mut way: impl Transmit, near: &Interface, far: &Interface) {
    const FRAMES: u64 = 10_000;
    let ear = PacketSocket::open().unwrap();
    ear.bind(far).unwrap();
    let before = Interface::named(&near.name).unwrap().counters;
    let (mut number, mut heard, mut bytes) = (0, 0, 0);
    let (mut got, mut wanted) = ([0u8; 2048], [0u8; SLOT]);
    while heard < FRAMES {
        while number < FRAMES
            && let Some(slot) = way.slot()
        {
            assert_eq!(slot.len(), SLOT);
            let length = frame(number, slot);
            way.commit(length);
            (number, bytes) = (number + 1, bytes + length as u64);
        }
        way.flush().unwrap();
        while heard < number {
            // It may come by a thread of the kernel's that has to wait for its processor.
            let mut fds = [PollFd::new(&ear, PollFlags::IN)];
            poll(&mut fds, Some(&Timespec { tv_sec: 60, tv_nsec: 0 })).unwrap();
            // SAFETY: the kernel writes at most the size of `got`.
            let length = unsafe {
                libc::recv(ear.as_fd().as_raw_fd(), got.as_mut_ptr().cast(), got.len(), libc::MSG_DONTWAIT)
            };
            assert!(length > 0, "frame {heard} of {number} did not come");
            let wanted_length = frame(heard, &mut wanted);
            assert!(got[..length as usize] == wanted[..wanted_length], "frame {heard} is another");
            heard += 1;
        }
    }
    let (counts, after) = (way.counts(), Interface::named(&near.name).unwrap().counters);
    assert_eq!((counts.frames, counts.bytes, counts.refused()), (FRAMES, bytes, 0));
    assert_eq!((after.sent - before.sent, after.sent_bytes - before.sent_bytes), (FRAMES, bytes));
    assert!(counts.calls <= FRAMES, "{counts:?}");
}

#[test]
fn frames_arrive_as_they_were_by_send() {
    at_a_cable(|near, far| all_arrive_as_they_were(Single::open(&near).unwrap(), &near, &far));
}

#[test]
fn frames_arrive_as_they_were_by_sendmmsg() {
    at_a_cable(|near, far| all_arrive_as_they_were(Many::open(&near).unwrap(), &near, &far));
}

#[test]
fn frames_arrive_as_they_were_by_ring() {
    at_a_cable(|near, far| all_arrive_as_they_were(Ring::open(&near).unwrap(), &near, &far));
}

#[test]
fn what_cannot_be_sent_on_is_refused() {
    at_a_cable(|near, _| {
        set_up(Cable::LEFT, false).unwrap();
        let down = Interface::named(Cable::LEFT).unwrap();
        let said = Single::open(&down).unwrap_err().to_string();
        assert!(said.contains("ip link set left up"), "{said}");
        let other = Interface { hardware: 1, up: true, index: 4711, ..near };
        assert!(Many::open(&other).is_err());
        assert!(Ring::open(&Interface { hardware: 512, ..other }).unwrap_err().to_string().contains("512"));
    });
}

fn too_long_and_then_down(mut way: impl Transmit, near: &Interface) {
    let mut send = |length: usize| {
        let slot = way.slot().expect("an empty batch has room");
        slot[12..14].copy_from_slice(&[0x88, 0xb5]);
        way.commit(length);
        way.flush()
    };
    send(longest(near)).unwrap();
    let said = send(longest(near) + 1).unwrap_err().to_string();
    assert!(said.contains("of 1514 bytes, not of 1515"), "{said}");
    set_up(Cable::LEFT, false).unwrap();
    let error = send(60).unwrap_err();
    assert!(matches!(error, WireError::Lost { .. }), "{error}");
    set_up(Cable::LEFT, true).unwrap();
    assert_eq!(way.counts().frames, 1);
}

#[test]
fn a_frame_too_long_and_an_interface_that_went_down_are_told() {
    at_a_cable(|near, _| {
        too_long_and_then_down(Single::open(&near).unwrap(), &near);
        too_long_and_then_down(Many::open(&near).unwrap(), &near);
    });
}

#[test]
fn a_longer_frame_goes_where_the_mtu_is_raised() {
    at_a_cable(|_, _| {
        for end in [Cable::LEFT, Cable::RIGHT] {
            set_mtu(end, 2000).unwrap();
        }
        let near = Interface::named(Cable::LEFT).unwrap();
        let mut ways: [Box<dyn Transmit>; 3] = [
            Box::new(Single::open(&near).unwrap()),
            Box::new(Many::open(&near).unwrap()),
            Box::new(Ring::open(&near).unwrap()),
        ];
        for way in &mut ways {
            way.slot().unwrap()[12..14].copy_from_slice(&[0x88, 0xb5]);
            way.commit(longest(&near));
            way.flush().unwrap();
            assert_eq!((way.counts().frames, way.counts().bytes), (1, 2014));
        }
    });
}
