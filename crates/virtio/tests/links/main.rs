//! The using end: several queues, buffers of several pieces, messages of the device's own; at a socket and in this process.

mod mirror;
mod queue;

use std::os::fd::AsFd;
use std::thread;
use std::time::Duration;

use mirror::{ASKED, FEATURE, PATIENCE, QUEUES, Served, TOLD};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use tollway_virtio::frontend::{Lane, Link, LinkOptions};
use tollway_virtio::{Area, Span};

fn options() -> LinkOptions {
    LinkOptions { queues: QUEUES, size: 64, protocol_features: FEATURE, ..LinkOptions::default() }
}

/// The same by both doors, with event indices and without, with indirect tables and without.
fn each(mut act: impl FnMut(&Served, &LinkOptions, Link)) {
    for (event_index, indirect) in [(true, 8), (false, 8), (true, 0), (false, 0)] {
        let served = Served::start();
        let options = LinkOptions { event_index, indirect, ..options() };
        act(&served, &options, Link::connect(&served.socket(), &options).unwrap());
        act(&served, &options, Link::inside(&served.inside, &options).unwrap());
    }
}

/// Sends `text` in two pieces and has it back in three.
fn mirrored(area: &Area, at: usize, lane: &mut Lane, token: u64, text: &[u8]) {
    let len = text.len() as u32;
    let span = |at: usize, bytes: u32| Span { at, bytes };
    let (there, back) = (at, at + 4096);
    area.write(there, text);
    let readable = [span(there, 1), span(there + 1, len - 1)];
    let writable = [span(back, 2), span(back + 2, 3), span(back + 5, len)];
    assert!(lane.submit(token, &readable, &writable).unwrap());
    lane.kick();
    let found = lane.wait(PATIENCE).unwrap().expect("nothing came");
    assert_eq!((found.token, found.written), (token, len));
    let mut reversed = vec![0; text.len()];
    area.read(back, &mut reversed);
    reversed.reverse();
    assert_eq!(reversed, text);
}

#[test]
fn every_queue_carries_buffers_both_ways() {
    each(|_, _, mut link| {
        let (area, free) = (link.area(), link.free());
        for token in 0..100 {
            let queue = token as usize % QUEUES;
            mirrored(
                &area,
                free + 8192 * queue,
                link.lane(queue),
                token,
                format!("buffer {token}").as_bytes(),
            );
        }
        assert!(link.is_connected());
    });
}

#[test]
fn threads_have_a_queue_each() {
    each(|_, _, link| {
        let free = link.free();
        let (control, lanes) = link.split();
        thread::scope(|scope| {
            for (number, mut lane) in lanes.into_iter().enumerate() {
                let area = control.area();
                scope.spawn(move || {
                    for token in 0..300 {
                        let text = format!("{number} {token} of many");
                        mirrored(&area, free + 8192 * number, &mut lane, token, text.as_bytes());
                    }
                });
            }
        });
    });
}

#[test]
fn messages_of_the_devices_own_are_answered_or_acknowledged_and_stay_in_step() {
    each(|served, _, mut link| {
        for round in 0..3u8 {
            link.tell(TOLD, &[round, 1]).unwrap();
            assert_eq!(link.ask(ASKED, &[round, 2, 3]).unwrap(), [3, 2, round]);
            // No bytes are an answer, too.
            assert!(link.ask(ASKED, &[]).unwrap().is_empty());
        }
        assert_eq!(std::mem::take(&mut *served.device.told.lock().unwrap()), [[0, 1], [1, 1], [2, 1]]);
        assert_eq!(link.ask(ASKED, &[7; 4096]).unwrap(), [7; 4096]);
        let free = link.free();
        mirrored(&link.area(), free, link.lane(1), 1, b"still in step");
    });
}

/// Some peers do not wait for acknowledgements: what has no answer must not be answered.
#[test]
fn a_message_without_an_answer_has_none() {
    use std::io::{Read, Write};
    let served = Served::start();
    let mut peer = std::os::unix::net::UnixStream::connect(served.socket()).unwrap();
    peer.set_read_timeout(Some(PATIENCE)).unwrap();
    let header = |request: u32| [request, 1, 8].into_iter().flat_map(u32::to_ne_bytes).collect::<Vec<u8>>();
    peer.write_all(&[header(TOLD), vec![1; 8], header(ASKED), vec![2; 8]].concat()).unwrap();
    let mut answer = [0; 20];
    peer.read_exact(&mut answer).unwrap();
    assert_eq!(answer[..4], ASKED.to_ne_bytes(), "something else was answered");
    assert_eq!(answer[12..], [2; 8]);
}

/// Who plays a driver without system calls kicks by a bell of its own, and is called by another.
#[test]
fn other_eventfds_kick_and_call() {
    let bell = || eventfd(0, EventfdFlags::CLOEXEC).unwrap();
    each(|_, _, link| {
        let (area, free) = (link.area(), link.free());
        let (mut control, mut lanes) = link.split();
        let (kick, call) = (bell(), bell());
        let Ok(()) = control.wire(1, kick.as_fd(), call.as_fd()) else {
            // Only at a socket.
            return assert!(format!("{control:?}").contains("in this process"));
        };
        let lane = &mut lanes[1];
        // Whoever sets a queue up is called once.
        lane.hear();
        for round in 0..20 {
            let span = |at: usize| [Span { at, bytes: 8 }];
            area.write(free, b"palindro");
            assert!(lane.submit(round, &span(free), &span(free + 64)).unwrap());
            // Those who started it anew have called once, too.
            lane.want_call(true);
            if lane.wants_kick() {
                rustix::io::write(&kick, &1u64.to_ne_bytes()).unwrap();
            }
            while !lane.has_some() {
                let mut called = [PollFd::new(&call, PollFlags::IN)];
                let patience = Timespec { tv_sec: PATIENCE.as_secs() as i64, tv_nsec: 0 };
                assert_eq!(poll(&mut called, Some(&patience)).unwrap(), 1, "nobody called");
                rustix::io::read(&call, &mut [0; 8]).unwrap();
            }
            assert_eq!(lane.take().unwrap().unwrap().token, round);
            let mut back = [0; 8];
            area.read(free + 64, &mut back);
            assert_eq!(&back, b"ordnilap");
        }
        assert!(!lane.hear(), "its own is not called by any more");
    });
}

#[test]
fn what_a_device_does_not_know_is_an_error() {
    each(|_, _, mut link| {
        let told = link.ask(31, &[]).unwrap_err().to_string();
        assert!(told.contains("message 31"), "{told}");
    });
}

#[test]
fn a_call_can_be_waited_for_by_its_descriptor() {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    each(|_, _, mut link| {
        let free = link.free();
        let lane = link.lane(0);
        // It may have been called when it was set up.
        lane.hear();
        lane.want_call(true);
        assert!(lane.submit(1, &[Span { at: free, bytes: 4 }], &[Span { at: free + 64, bytes: 4 }]).unwrap());
        lane.kick();
        let mut watched = [PollFd::from_borrowed_fd(lane.as_fd(), PollFlags::IN)];
        let most = Timespec { tv_sec: 20, tv_nsec: 0 };
        assert_eq!(poll(&mut watched, Some(&most)).unwrap(), 1, "it was not called");
        assert!(lane.hear() && !lane.hear());
        assert_eq!(lane.take().unwrap().unwrap().token, 1);
    });
}

#[test]
fn what_was_not_given_back_is_told_when_it_connects_anew() {
    let served = Served::start();
    // The thread that serves is stopped by a lock of the port.
    let mut link = Link::inside(&served.inside, &options()).unwrap();
    let (area, free) = (link.area(), link.free());
    mirrored(&area, free, link.lane(2), 5, b"before");
    let span = [Span { at: free, bytes: 8 }];
    link.lane(0).submit(10, &span, &[]).unwrap();
    link.lane(2).submit(11, &[], &span).unwrap();
    assert_eq!(link.reconnect().unwrap(), [(0, 10), (2, 11)]);
    assert_eq!(link.reconnect().unwrap(), []);
    mirrored(&area, free, link.lane(2), 6, b"after");
    drop(link);
    for what in ["Connected", "Started(2)", "Stopped(2)", "Gone"] {
        served.wait_for(1, what);
    }
}

#[test]
fn one_at_a_time_is_in_a_device_of_this_process() {
    let (inside, port) = mirror::idle();
    let first = Link::inside(&inside, &options()).unwrap();
    let told = Link::inside(&inside, &options()).unwrap_err().to_string();
    assert!(told.contains("somebody is in there already"), "{told}");
    assert!(port.rings().iter().all(Option::is_some), "the second took the first's queues away");
    drop(first);
    assert!(port.rings().iter().all(Option::is_none));
    for wrong in [LinkOptions { queues: QUEUES + 1, ..options() }, LinkOptions { size: 512, ..options() }] {
        Link::inside(&inside, &wrong).unwrap_err();
        assert!(port.rings().iter().all(Option::is_none));
    }
    Link::inside(&inside, &options()).unwrap();
}

#[test]
fn a_device_that_is_gone_is_noticed() {
    for inside in [false, true] {
        let mut served = Served::start();
        let mut link = match inside {
            true => Link::inside(&served.inside, &options()),
            false => Link::connect(&served.socket(), &options()),
        }
        .unwrap();
        served.stop();
        let span = [Span { at: link.free(), bytes: 8 }];
        link.lane(0).submit(1, &span, &[]).unwrap();
        link.lane(0).kick();
        let told = link.lane(0).wait(PATIENCE).unwrap_err().to_string();
        assert!(told.contains("the device is gone"), "{told}");
        assert!(!link.is_connected());
        link.reconnect().unwrap_err();
        link.ask(ASKED, &[1]).unwrap_err();
        assert_eq!(link.lane(1).wait(Duration::from_millis(1)).unwrap_or(None), None);
    }
}

#[test]
fn more_queues_than_there_are_and_none_are_refused() {
    let served = Served::start();
    for queues in [0, QUEUES + 1, 256] {
        Link::connect(&served.socket(), &LinkOptions { queues, ..options() }).unwrap_err();
    }
    Link::connect(&served.socket(), &LinkOptions { size: 3, ..options() }).unwrap_err();
}
