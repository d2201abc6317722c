//! The gates of the in-process path, each alone: with the very functions, frames and memory that the whole path uses.

mod appending;
mod frames;
mod reading;

use tollway_core::{Axis, Crossing, Domain, Error, Params, Result, Value, Variant};

use self::appending::{Copying, Placing};
pub(super) use self::frames::machine_for;
use self::frames::{Filtering, HandOver, Stamping};
use self::reading::{Looking, Reading};
use super::gate::Lone;
use crate::engine::Timestamp;
use crate::engine::in_process::{Driver, FrameId, Group, poll_into};
use crate::filters::{StudyFilter, Traffic};
use crate::params;

/// Frames that pass a gate together while it is measured alone: as many as an interrupt brought in the study.
const GROUP: usize = 50;

/// Groups between two stamps at the least.
const GROUPS: usize = 4;

/// Frames in the driver's ring, as adapters have.
pub(super) const RING: usize = 256;

/// Seed of the frames.
pub(super) const SEED: u64 = 2005;

/// Groups appended before the buffer is emptied: a read's worth.
const GROUPS_A_READ: usize = 64;

pub(super) fn variants() -> Vec<Box<dyn Variant>> {
    vec![
        Box::new(Lone::<HandOver>::new(
            Crossing::FrameHandOver,
            "The driver's loop over its receive descriptors and a call through a pointer for each frame. The frames lie \
             ready: no adapter, no interrupt.",
            Vec::new(),
        )),
        Box::new(Lone::<Filtering>::new(
            Crossing::PacketFilter,
            "Frames follow each other in groups of 50, from a ring of 256 that stays in the cache: a processor may begin \
             with the next before the last is done. With mixed traffic its guesses of branches are in it.",
            vec![kind("machine, filter and traffic", FILTER_KINDS, "jit-ports-uniform"), params::size()],
        )),
        Box::new(Lone::<Stamping>::new(
            Crossing::PacketStamp,
            "The reading and its conversion to nanoseconds since 1970. The counter is held to the kernel's clock once a \
             second, which is in it.",
            vec![kind("the clock", &["system-call", "vdso", "tsc"], "tsc")],
        )),
        Box::new(Lone::<Placing>::new(
            Crossing::BufferPlace,
            "Room is found, the 20-byte header written, the reader told once a group; the reader gives the room back \
             unread. `locked` takes a lock for each frame that nobody else wants.",
            vec![kind("lock and buffer", PLACE_KINDS, "alone-1MiB"), kept()],
        )),
        Box::new(Lone::<Copying>::new(
            Crossing::BufferCopy,
            "Place, header and copy of a frame together: the copy alone is this less `buffer-place`, since the header's \
             write has the memory of the buffer fetched already. The frames stay in the cache.",
            vec![kind("who copies, and the buffer", COPY_KINDS, "plain-1MiB"), kept()],
        )),
        Box::new(Lone::<Reading>::new(
            Crossing::BufferRead,
            "One pread of whole packets that were just appended, from shared memory to a private buffer. The whole call, \
             not a packet's share of it.",
            vec![
                kind("the buffer", params::BUFFER_NAMES, "1MiB"),
                whole("size", "bytes of the read", 24, 1 << 24, 250_000),
                whole("depth", "packets of the read", 1, 1 << 20, 3125),
            ],
        )),
        Box::new(Lone::<Looking>::new(
            Crossing::PacketLook,
            "The application walks a batch that was just read: header, eight bytes, three sums.",
            vec![kept(), whole("depth", "packets of the batch", 1, 1 << 20, 3125)],
        )),
    ]
}

const FILTER_KINDS: &[&str] = &[
    "interpreter-ip-uniform",
    "interpreter-ip-mixed",
    "interpreter-ports-uniform",
    "interpreter-ports-mixed",
    "interpreter-addresses-uniform",
    "interpreter-addresses-mixed",
    "jit-ip-uniform",
    "jit-ip-mixed",
    "jit-ports-uniform",
    "jit-ports-mixed",
    "jit-addresses-uniform",
    "jit-addresses-mixed",
];

const PLACE_KINDS: &[&str] = &[
    "locked-64KiB",
    "locked-256KiB",
    "locked-1MiB",
    "locked-4MiB",
    "locked-16MiB",
    "locked-64MiB",
    "alone-64KiB",
    "alone-256KiB",
    "alone-1MiB",
    "alone-4MiB",
    "alone-16MiB",
    "alone-64MiB",
];

const COPY_KINDS: &[&str] = &[
    "driver-64KiB",
    "driver-256KiB",
    "driver-1MiB",
    "driver-4MiB",
    "driver-16MiB",
    "driver-64MiB",
    "plain-64KiB",
    "plain-256KiB",
    "plain-1MiB",
    "plain-4MiB",
    "plain-16MiB",
    "plain-64MiB",
];

fn kind(about: &'static str, words: &'static [&'static str], default: &str) -> Axis {
    Axis { name: "kind", about, domain: Domain::Words(words), default: Value::Text(default.into()) }
}

fn whole(name: &'static str, about: &'static str, lo: u64, hi: u64, default: u64) -> Axis {
    Axis { name, about, domain: Domain::Whole(lo, hi), default: Value::Int(default) }
}

fn kept() -> Axis {
    whole("size", "bytes kept of a frame", 1, 1514, 60)
}

/// The parts of a composite word.
fn split(params: &Params) -> Result<(&str, &str)> {
    let kind = params.word("kind")?;
    kind.split_once('-').ok_or_else(|| Error::Wrong(format!("the kind `{kind}` has no two parts")))
}

/// A driver with frames of `size` bytes, and its frames' numbers twice in a row, so that a group is a slice of them.
fn driver(filter: &StudyFilter, traffic: Traffic, size: usize) -> Result<(Driver, Vec<FrameId>)> {
    let frames = filter.frames(traffic, RING, size, SEED);
    let mut driver = Driver::new(frames.iter().map(|f| &f[..]))?;
    let mut ids = Vec::new();
    poll_into(&mut driver, 2 * RING as u32, &mut ids);
    Ok((driver, ids))
}

/// A group of wanted frames, of which `snapshot` bytes are kept.
fn filtered(driver: &mut Driver, frames: usize, snapshot: u32) -> Group {
    let mut group = Group::with_capacity(GROUP);
    driver.poll(frames as u32, &mut group);
    group.filter(driver.frames(), &mut |_, length| length, snapshot);
    group.stamps = vec![Timestamp(1); frames];
    group
}
