//! Peers that keep to no protocol, at a device that counts: each harms itself only.

mod counting;
#[path = "../../../host/testing/quiet.rs"]
mod quiet;

use std::io::{Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use counting::{PATIENCE, Seen, Served};
use quiet::is_quiet;
use tollway_virtio::backend::Refused;
use tollway_virtio::frontend::{Frontend, Options};
use vhost::VhostBackend;
use vhost::vhost_user::VhostUserFrontend;

/// A message: its number, flags (version 1; 8 asks for an answer), its body.
fn message(request: u32, flags: u32, body: &[u8]) -> Vec<u8> {
    let header = [request, flags, body.len() as u32].into_iter().flat_map(u32::to_ne_bytes);
    header.chain(body.iter().copied()).collect()
}

fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

/// Draws a buffer, and how long it took.
fn draw(frontend: &mut Frontend) -> Duration {
    let begun = Instant::now();
    frontend.offer(0, 64).unwrap();
    frontend.kick();
    assert_eq!(frontend.wait(PATIENCE).unwrap().expect("nothing came").bytes, 64);
    begun.elapsed()
}

/// Sends bytes with descriptors beside.
fn send(stream: &UnixStream, bytes: &[u8], descriptors: &[OwnedFd]) -> std::io::Result<()> {
    use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
    let borrowed: Vec<_> = descriptors.iter().map(AsFd::as_fd).collect();
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(16))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    assert!(control.push(SendAncillaryMessage::ScmRights(&borrowed)));
    sendmsg(stream, &[std::io::IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL)?;
    Ok(())
}

#[test]
fn half_a_message_holds_nobody_up_and_is_awaited() {
    let served = Served::start(2);
    let mut stalled = served.connect(0);
    stalled.set_read_timeout(Some(PATIENCE)).unwrap();
    let features = message(1, 1, &[]);
    let mut frontend = Frontend::connect(&served.socket(1), &Options::default()).unwrap();
    for part in features.chunks(5) {
        stalled.write_all(part).unwrap();
        draw(&mut frontend);
    }
    let mut answer = [0; 20];
    stalled.read_exact(&mut answer).unwrap();
    assert_eq!(answer[..12], message(1, 5, &[0; 8])[..12]);
}

#[test]
fn a_flood_is_read_at_a_rate_and_nobody_waits_for_it() {
    let served = Served::start(2);
    let mut flood = served.connect(0);
    flood.set_write_timeout(Some(Duration::from_millis(500))).unwrap();
    let mut frontend = Frontend::connect(&served.socket(1), &Options::default()).unwrap();
    let many = message(3, 1, &[]).repeat(10_000);
    let begun = Instant::now();
    let sender = thread::spawn(move || {
        let mut sent = 0;
        while begun.elapsed() < Duration::from_secs(1) {
            match flood.write(&many) {
                Ok(bytes) => sent += bytes,
                Err(_) => break,
            }
        }
        sent / 12
    });
    let mut slowest = Duration::ZERO;
    while begun.elapsed() < Duration::from_secs(1) {
        slowest = slowest.max(draw(&mut frontend));
        // A new connection has its turn, too.
        frontend.reconnect().unwrap();
    }
    let sent = sender.join().unwrap();
    println!("{sent} messages sent, the slowest draw took {slowest:?}");
    assert!(!is_quiet() || slowest < Duration::from_secs(1), "{slowest:?}");
}

#[test]
fn what_no_peer_should_say_ends_its_connection_only() {
    let served = Served::start(2);
    let mut frontend = Frontend::connect(&served.socket(1), &Options::default()).unwrap();
    let region =
        |count: u32| [words(&[u64::from(count)]), words(&[0, 4096, 0, 0]).repeat(count as usize)].concat();
    for (bytes, told) in [
        (message(1, 0, &[]), "no header"),
        (message(1, 1, &[0; 4097]), "no header"),
        (message(99, 1, &[]), "message 99 is not known"),
        (message(26, 1, &[0; 1072]), "message 26 is not known"),
        (message(2, 1, &[0; 4]), "message 2: 4 bytes where 8 belong"),
        (message(2, 1, &words(&[u64::MAX])), "was not offered"),
        (message(16, 1, &words(&[u64::MAX])), "was not offered"),
        (message(5, 1, &[]), "too short"),
        (message(5, 1, &region(9)), "9 regions"),
        (message(5, 1, &region(2)), "2 regions with 0 files"),
        (message(8, 1, &words(&[5 << 32])), "power of two"),
        (message(8, 1, &words(&[512 << 32])), "at most 256"),
        (message(8, 1, &words(&[8 << 32 | 7])), "queue 7 of 1"),
        (message(9, 1, &words(&[1, 0, 0, 0, 0])), "queue 1 of 1"),
        (message(10, 1, &words(&[1 << 52])), "16 bits"),
        (message(12, 1, &words(&[0])), "0x0 with 0 descriptors"),
        (message(12, 1, &words(&[0x100])), "without a kick descriptor"),
        (message(18, 1, &words(&[2 << 32])), "neither on nor off"),
    ] {
        let mut peer = served.connect(0);
        peer.set_read_timeout(Some(PATIENCE)).unwrap();
        peer.write_all(&bytes).unwrap();
        // Closed, also where bytes of it were not read.
        let mut rest = Vec::new();
        let _ = peer.read_to_end(&mut rest);
        let refused = served.wait_for(|seen| match seen {
            Seen::Refused(0, refused) => Some(refused.to_string()),
            _ => None,
        });
        assert!(refused.contains(told), "{refused}, not {told}");
        served.wait_for(|seen| matches!(seen, Seen::Gone(0)).then_some(()));
        draw(&mut frontend);
    }
}

#[test]
fn a_queue_of_the_largest_size_is_taken() {
    let served = Served::start(1);
    let largest = Options { buffers: 256, ..Options::default() };
    let mut frontend = Frontend::connect(&served.socket(0), &largest).unwrap();
    draw(&mut frontend);
}

#[test]
fn descriptors_that_are_not_eventfds_are_refused() {
    let served = Served::start(1);
    for request in [12, 13, 14] {
        let peer = served.connect(0);
        let pipe = rustix::pipe::pipe().unwrap().1;
        send(&peer, &message(request, 1, &words(&[0])), &[pipe]).unwrap();
        let refused = served.wait_for(|seen| match seen {
            Seen::Refused(0, refused) => Some(refused.clone()),
            _ => None,
        });
        assert!(matches!(refused, Refused::Eventfd(_)), "{refused}");
        drop(peer);
        served.wait_for(|seen| matches!(seen, Seen::Gone(0)).then_some(()));
    }
}

/// How long the last close of a socket waits.
const LINGERS: Duration = Duration::from_secs(60);

/// A socket whose last close waits, since it has bytes that nobody takes; and who does not take them.
fn lingering() -> (OwnedFd, std::net::TcpStream) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut stream = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let deaf = listener.accept().unwrap().0;
    stream.set_nonblocking(true).unwrap();
    while stream.write(&[0; 65_536]).is_ok() {}
    rustix::net::sockopt::set_socket_linger(&stream, Some(LINGERS)).unwrap();
    (stream.into(), deaf)
}

#[test]
fn sockets_that_linger_when_they_are_closed_hold_nobody_up() {
    let served = Served::start(2);
    let mut frontend = Frontend::connect(&served.socket(1), &Options::default()).unwrap();
    let number = words(&[0]);
    // As a kick; with a message that has none; more than any message has; within a message; in what is never read; and where
    // an answer is wanted.
    let cases: [(Vec<u8>, usize); 6] = [
        (message(12, 1, &number), 1),
        (message(1, 1, &[]), 1),
        (message(12, 1, &number), 12),
        (message(12, 1, &number)[..5].to_vec(), 1),
        ([message(99, 1, &[]), message(12, 1, &number)].concat(), 1),
        (message(12, 9, &number), 1),
    ];
    for (case, (bytes, count)) in cases.into_iter().enumerate() {
        let (socket, deaf) = lingering();
        // It waits at the door until it has closed its own, so that the server's close is the last.
        let first = served.connect(0);
        served.wait_for(|seen| matches!(seen, Seen::Connected).then_some(()));
        let peer = served.connect(0);
        let descriptors = (0..count).map(|_| socket.try_clone().unwrap()).collect::<Vec<_>>();
        send(&peer, &bytes, &descriptors).unwrap();
        drop((descriptors, socket));
        let begun = Instant::now();
        drop(first);
        served.wait_for(|seen| matches!(seen, Seen::Gone(0)).then_some(()));
        if bytes.len() < 12 {
            peer.shutdown(std::net::Shutdown::Both).unwrap();
        }
        served.wait_for(|seen| matches!(seen, Seen::Gone(0)).then_some(()));
        frontend.reconnect().unwrap();
        draw(&mut frontend);
        assert!(begun.elapsed() < LINGERS, "case {case}: {:?}", begun.elapsed());
        // Whoever would have taken the bytes goes, and with that the next peer of this tenant is taken in.
        drop(deaf);
        let begun = Instant::now();
        Frontend::connect(&served.socket(0), &Options::default()).unwrap();
        println!("case {case}: the next one is taken in after {:?}", begun.elapsed());
        served.wait_for(|seen| matches!(seen, Seen::Gone(0)).then_some(()));
    }
}

#[test]
fn a_peer_that_does_not_read_its_answers_is_left() {
    let served = Served::start(1);
    let mut peer = served.connect(0);
    let many = message(1, 1, &[]).repeat(400);
    let refused = loop {
        // In time the socket is full of answers, at a thousand a second.
        if peer.write_all(&many).is_err() {
            break served.wait_for(|seen| match seen {
                Seen::Refused(0, refused) => Some(refused.clone()),
                _ => None,
            });
        }
    };
    assert_eq!(refused, Refused::Deaf);
}

#[test]
fn a_second_peer_waits_until_the_first_has_gone() {
    let served = Served::start(1);
    let mut first = Frontend::connect(&served.socket(0), &Options::default()).unwrap();
    let mut second = served.connect(0);
    second.write_all(&message(1, 1, &[])).unwrap();
    second.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    let mut answer = [0; 20];
    assert!(second.read_exact(&mut answer).is_err(), "it was answered");
    draw(&mut first);
    drop(first);
    second.set_read_timeout(Some(PATIENCE)).unwrap();
    second.read_exact(&mut answer).unwrap();
}

#[test]
fn a_queue_stops_at_once_says_where_and_goes_on_there() {
    let served = Served::start(1);
    let mut frontend = Frontend::connect(&served.socket(0), &Options::default()).unwrap();
    for _ in 0..3 {
        draw(&mut frontend);
    }
    let messages = frontend.messages().unwrap();
    assert_eq!(messages.get_vring_base(0).unwrap(), 3);
    served.wait_for(|seen| matches!(seen, Seen::Stopped(0)).then_some(()));
    frontend.offer(0, 64).unwrap();
    frontend.kick_anyway();
    assert_eq!(frontend.wait(Duration::from_millis(100)).unwrap(), None, "a stopped queue was served");
    let messages = frontend.messages().unwrap();
    let kick = vmm_sys_util::eventfd::EventFd::new(0).unwrap();
    messages.set_vring_base(0, 3).unwrap();
    messages.set_vring_kick(0, &kick).unwrap();
    assert_eq!(frontend.wait(PATIENCE).unwrap().expect("it was offered before").bytes, 64);
    let messages = frontend.messages().unwrap();
    messages.set_vring_enable(0, false).unwrap();
    served.wait_for(|seen| matches!(seen, Seen::Stopped(0)).then_some(()));
    // At the beginning again, as after a reboot.
    messages.set_vring_base(0, 0).unwrap();
    served.wait_for(|seen| matches!(seen, Seen::Anew).then_some(()));
}

#[test]
fn every_one_of_several_refused_messages_is_answered_when_it_asks() {
    let served = Served::start(1);
    let mut peer = served.connect(0);
    peer.set_read_timeout(Some(PATIENCE)).unwrap();
    for _ in 0..3 {
        // 8: an answer is wanted.
        peer.write_all(&message(8, 9, &words(&[5 << 32]))).unwrap();
        let mut answer = [0; 20];
        peer.read_exact(&mut answer).unwrap();
        assert_eq!(answer[12..], 1u64.to_ne_bytes(), "not refused");
    }
    peer.write_all(&message(8, 9, &words(&[8 << 32]))).unwrap();
    let mut answer = [0; 20];
    peer.read_exact(&mut answer).unwrap();
    assert_eq!(answer[12..], 0u64.to_ne_bytes());
}

/// The next peer is taken in as soon as what the last one left is closed, and not when it is looked once more whether there is one,
/// a quarter of a second later. Where others have the processors it may be: mostly it is not.
#[test]
fn who_comes_next_is_taken_in_when_what_was_left_is_closed() {
    let served = Served::start(1);
    let gone = || served.wait_for(|seen| matches!(seen, Seen::Gone(0)).then_some(()));
    let mut last = served.connect(0);
    let once = |_| {
        let (socket, deaf) = lingering();
        // It waits at the door until it has closed its own, so that the server's close is the last.
        let peer = served.connect(0);
        send(&peer, &message(1, 1, &[]), &[socket]).unwrap();
        drop(std::mem::replace(&mut last, served.connect(0)));
        gone();
        gone();
        let next = &mut last;
        next.write_all(&message(1, 1, &[])).unwrap();
        // It is at the door, and has to wait.
        next.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        let mut answer = [0; 20];
        assert!(next.read_exact(&mut answer).is_err(), "it was taken in");
        next.set_read_timeout(Some(PATIENCE)).unwrap();
        let begun = Instant::now();
        drop(deaf);
        next.read_exact(&mut answer).unwrap();
        begun.elapsed()
    };
    let mut waits: Vec<Duration> = (0..9).map(once).collect();
    waits.sort();
    println!("{waits:?}");
    assert!(!is_quiet() || waits[4] < Duration::from_millis(100), "{waits:?}");
}

#[test]
fn random_messages_never_stop_it() {
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::{Rng, SeedableRng};
    let served = Served::start(2);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(11);
    let mut frontend = Frontend::connect(&served.socket(1), &Options::default()).unwrap();
    for _ in 0..300 {
        let mut peer = served.connect(0);
        for _ in 0..random.next_u32() % 12 {
            let mut body = vec![0; [0, 8, 8, 8, 40, 72][random.next_u32() as usize % 6]];
            random.fill_bytes(&mut body);
            for byte in &mut body {
                *byte = if random.next_u32() % 4 > 0 { *byte & 1 } else { *byte };
            }
            let bytes = message(random.next_u32() % 45, 1 | (random.next_u32() & 8), &body);
            let sent = if random.next_u32() % 3 == 0 {
                let memory = tollway_host::shared::SharedPages::new(8192).unwrap();
                send(&peer, &bytes, &[memory.as_fd().try_clone_to_owned().unwrap()])
            } else {
                peer.write_all(&bytes)
            };
            if sent.is_err() {
                break;
            }
        }
    }
    draw(&mut frontend);
    served.stop();
}

/// A server that was killed between giving a buffer back and calling leaves a driver that sleeps: the next one calls.
#[test]
fn whoever_takes_a_queue_over_calls() {
    let served = Served::start(1);
    let mut frontend = Frontend::connect(&served.socket(0), &Options::default()).unwrap();
    let messages = frontend.messages().unwrap();
    let call = vmm_sys_util::eventfd::EventFd::new(vmm_sys_util::eventfd::EFD_NONBLOCK).unwrap();
    messages.set_vring_call(0, &call).unwrap();
    assert_eq!(call.read().unwrap(), 1, "not when it is told whom to call");
    messages.set_vring_enable(0, false).unwrap();
    assert!(call.read().is_err());
    messages.set_vring_enable(0, true).unwrap();
    assert_eq!(call.read().unwrap(), 1, "not when it begins");
}

/// A peer that fills its call eventfd and clears O_NONBLOCK again and again, so that who calls it sleeps in the kernel: the thread
/// that answers everybody's messages.
#[test]
fn who_has_its_callers_sleep_is_parted_from_and_kept_out_for_a_while() {
    use rustix::fs::{OFlags, fcntl_setfl};
    use vmm_sys_util::eventfd::EventFd;
    let served = Served::start(2);
    let mut frontend = Frontend::connect(&served.socket(1), &Options::default()).unwrap();
    let mut hostile = Frontend::connect(&served.socket(0), &Options::default()).unwrap();
    let (call, stop) = (Arc::new(EventFd::new(0).unwrap()), Arc::new(AtomicBool::new(false)));
    call.write(u64::MAX - 1).unwrap();
    // No threads of a scope, which would wait for those that are held up if it fails.
    let (cleared, is_over) = (call.clone(), stop.clone());
    thread::spawn(move || {
        // SAFETY: it is open as long as this thread has it.
        let cleared = unsafe { std::os::fd::BorrowedFd::borrow_raw(cleared.as_raw_fd()) };
        while !is_over.load(Ordering::Relaxed) {
            fcntl_setfl(cleared, OFlags::RDWR).unwrap();
        }
    });
    let is_over = stop.clone();
    let asks = thread::spawn(move || {
        while !is_over.load(Ordering::Relaxed)
            && hostile.messages().is_some_and(|messages| messages.set_vring_call(0, &call).is_ok())
        {}
    });
    let mut slowest = Duration::ZERO;
    let begun = Instant::now();
    while !asks.is_finished() && begun.elapsed() < PATIENCE {
        slowest = slowest.max(draw(&mut frontend));
        let begun = Instant::now();
        // A new connection takes messages.
        frontend.reconnect().unwrap();
        slowest = slowest.max(begun.elapsed());
    }
    stop.store(true, Ordering::Relaxed);
    served.wait_for(|seen| matches!(seen, Seen::Refused(0, Refused::Held)).then_some(()));
    println!("parted from after {:?}; the slowest draw or connection took {slowest:?}", begun.elapsed());
    assert!(!is_quiet() || slowest < Duration::from_secs(2), "{slowest:?}");
    served.wait_for(|seen| matches!(seen, Seen::Gone(0)).then_some(()));
    let begun = Instant::now();
    let mut again = served.connect(0);
    again.write_all(&message(1, 1, &[])).unwrap();
    again.set_read_timeout(Some(PATIENCE)).unwrap();
    again.read_exact(&mut [0; 20]).unwrap();
    // Two seconds from when it was gone, which this thread may have heard late.
    let least = Duration::from_millis(if is_quiet() { 1000 } else { 200 });
    assert!(begun.elapsed() > least, "it is heard at once: {:?}", begun.elapsed());
    draw(&mut frontend);
}
