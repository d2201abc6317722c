//! A cable with a sender at its left end; sources are opened at the right one.

use std::fs;
use std::time::Duration;

use tollway_capture::engine::source::{Details, Kind, Read, Settings, Source};
use tollway_capture::engine::{Accounting, Timestamp};
use tollway_core::Requirement;
use tollway_host::requirement::{check, skip_test};
use tollway_wire::{Cable, Interface, PacketSocket};

use crate::eventually::eventually;

/// Which EtherType numbered frames have: one for local experiments (IEEE 802).
pub const EXPERIMENT: u16 = 0x88b5;

/// Runs a test in the namespace of a new cable, or says why not.
pub fn on_a_cable(test: impl FnOnce(Sender) + Send) {
    on_a_cable_of(1, test);
}

/// The same with several queues.
pub fn on_a_cable_of(queues: u32, test: impl FnOnce(Sender) + Send) {
    let needs = [
        (Requirement::NetworkNamespaces, "netns"),
        (Requirement::PacketSockets, "packet"),
        (Requirement::AfXdp, "af-xdp"),
    ];
    for (requirement, word) in needs {
        if let Err(missing) = check(&requirement) {
            return skip_test(&[word], &missing);
        }
    }
    let cable = Cable::with_queues(queues).unwrap();
    cable
        .namespace()
        .run(|| {
            let socket = PacketSocket::open().unwrap();
            socket.bind_deaf(&Interface::named(Cable::LEFT).unwrap()).unwrap();
            test(Sender { socket });
        })
        .unwrap();
}

/// Sends one frame after the other.
pub struct Sender {
    socket: PacketSocket,
}

impl Sender {
    pub fn send(&self, frame: &[u8]) {
        self.socket.send(frame).unwrap();
    }

    /// So many numbered frames of a length.
    pub fn numbered(&self, numbers: std::ops::Range<u32>, length: usize) {
        numbers.for_each(|number| self.send(&numbered(number, length)));
    }

    /// The same, and waits until they have come. Where the interface goes down before, such frames are lost.
    pub fn numbered_until_they_came(&self, numbers: std::ops::Range<u32>, length: usize) {
        self.numbered(numbers, length);
        all_have_come();
    }
}

/// Waits until frames that were sent have come: what of that is not done when a frame is sent, the kernel's threads ksoftirqd do
/// (kernel/softirq.c), which may wait for a processor.
pub fn all_have_come() {
    let stat = |process: fs::DirEntry| fs::read_to_string(process.path().join("stat")).unwrap_or_default();
    eventually("ksoftirqd sleeps", || {
        let mut all = fs::read_dir("/proc").unwrap().flatten().map(stat);
        all.all(|stat| !stat.contains("(ksoftirqd/") || stat.contains(") S "))
    });
}

/// A frame with its number at byte 14 and bytes that depend on it behind.
pub fn numbered(number: u32, length: usize) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
    frame.extend(EXPERIMENT.to_be_bytes());
    frame.extend(number.to_be_bytes());
    frame.extend((18..length).map(|i| (i as u32).wrapping_mul(31).wrapping_add(number) as u8));
    frame
}

/// The same frame with a VLAN tag.
pub fn tagged(frame: &[u8], protocol: u16, control: u16) -> Vec<u8> {
    let mut tagged = frame[..12].to_vec();
    tagged.extend(protocol.to_be_bytes());
    tagged.extend(control.to_be_bytes());
    tagged.extend(&frame[12..]);
    tagged
}

/// A packet, kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    pub timestamp: Timestamp,
    pub bytes: Vec<u8>,
    pub wire_length: u32,
}

/// A source of that kind at the right end, with little patience.
pub fn settings(kind: Kind) -> Settings {
    Settings { kind, immediate: true, buffer: 4 << 20, ..Settings::default() }
}

/// Opens one, once the kernel has let go of an AF_XDP socket before: it does so a moment after that was closed.
pub fn open(settings: &Settings) -> Source {
    let mut source = None;
    eventually("the kernel lets go of the socket before", || {
        match Source::open(Cable::RIGHT, settings) {
            Ok(opened) => source = Some(opened),
            Err(error) => assert!(error.to_string().contains("another socket has it"), "{error}"),
        }
        source.is_some()
    });
    source.unwrap()
}

/// Of so many frames sent, how many can have come to a source that was opened before: `None` if the kernel lost some on
/// the cable (its queue of frames was full, on a machine with other work), for then the source cannot know.
pub fn arrived(kind: Kind, sent: u64) -> Option<u64> {
    let lost = Interface::named(Cable::LEFT).unwrap().counters.send_dropped;
    if lost > 0 {
        println!("{kind}: the cable lost {lost}");
    }
    // A program sees what it sees: what was lost before is the sender's loss.
    if kind == Kind::AfXdp { Some(sent - lost) } else { (lost == 0).then_some(sent) }
}

/// The time of day.
pub fn now() -> Timestamp {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    Timestamp(since.as_nanos() as u64)
}

/// Reads until nothing comes any more, and finishes.
pub fn drain(source: &mut Source) -> (Vec<Kept>, Accounting) {
    let mut kept = Vec::new();
    let stamp = |kernel: Option<Timestamp>| kernel.unwrap_or_else(now);
    all_have_come();
    // To a port they come by another thread of the kernel's, which real-time threads keep waiting.
    let is_port = matches!(source.details().unwrap(), Details::Port { .. });
    let idle = Duration::from_millis(if is_port { 250 } else { 20 });
    loop {
        let sink = |packet: tollway_capture::engine::Packet<'_>| {
            kept.push(Kept {
                timestamp: packet.timestamp,
                bytes: packet.bytes.to_vec(),
                wire_length: packet.wire_length,
            });
        };
        match source.read(u64::MAX, idle, stamp, sink).unwrap() {
            Read::Frames(_) | Read::Interrupted => {}
            Read::Idle | Read::Stopped => break,
        }
    }
    let accounting = source
        .finish(stamp, |packet| {
            kept.push(Kept {
                timestamp: packet.timestamp,
                bytes: packet.bytes.to_vec(),
                wire_length: packet.wire_length,
            });
        })
        .unwrap();
    (kept, accounting)
}
