//! The gates of the in-process path, each alone: with the very functions, frames and memory that the whole path uses.

use std::hint::black_box;

use tollway_core::{Axis, Crossing, Domain, Error, Params, Result, Value, Variant};
use tollway_load::Work;

use super::gate::{Alone, Lone};
use crate::engine::Timestamp;
use crate::engine::bpf::Filter;
use crate::engine::buffer::{Consumer, Header, Producer, buffer, room_for};
use crate::engine::in_process::{
    Application, Clock, Driver, FrameId, Group, Locking, Shared, TransferBy, poll_into,
};
use crate::filters::{StudyFilter, Traffic};
use crate::params::{self, BUFFERS, CLOCKS, LOCKS, MACHINES, Machine, TRAFFICS, TRANSFERS, meant};

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

/// The driver's loop.
struct HandOver {
    driver: Driver,
    group: Group,
    handed: u64,
}

impl Alone for HandOver {
    fn prepare(_: &Params) -> Result<Self> {
        let (driver, _) = driver(StudyFilter::named("ip")?, Traffic::Uniform, 60)?;
        Ok(HandOver { driver, group: Group::with_capacity(GROUP), handed: 0 })
    }

    fn verify(&mut self) -> Result<()> {
        let first = self.group.handed.first().copied();
        match self.handed {
            n if n > 0 && first.is_some() && self.group.handed.len() == GROUP => Ok(()),
            n => {
                Err(Error::Wrong(format!("{n} frames were handed over, {:?} last", self.group.handed.len())))
            }
        }
    }
}

impl Work for HandOver {
    #[inline]
    fn once(&mut self) {
        for _ in 0..GROUPS {
            self.group.handed.clear();
            self.handed += u64::from(self.driver.poll(GROUP as u32, &mut self.group));
            black_box(&mut self.group);
        }
    }

    fn operations(&self) -> u32 {
        (GROUP * GROUPS) as u32
    }
}

/// A filter over groups of frames.
struct Filtering {
    driver: Driver,
    ids: Vec<FrameId>,
    next: usize,
    group: Group,
    filter: Filter,
    wanted: u64,
    seen: u64,
}

impl Alone for Filtering {
    fn prepare(params: &Params) -> Result<Self> {
        let (machine, rest) = split(params)?;
        let (name, traffic) = rest.split_once('-').unwrap_or((rest, "uniform"));
        let study = StudyFilter::named(name)?;
        let filter = machine_for(meant(MACHINES, machine)?, study)?;
        let (driver, ids) = driver(study, meant(TRAFFICS, traffic)?, params.int("size")? as usize)?;
        let group = Group::with_capacity(GROUP);
        Ok(Filtering { driver, ids, next: 0, group, filter, wanted: 0, seen: 0 })
    }

    fn verify(&mut self) -> Result<()> {
        match self.wanted == self.seen && self.seen > 0 {
            true => Ok(()),
            false => Err(Error::Wrong(format!("{} of {} frames were wanted", self.wanted, self.seen))),
        }
    }
}

impl Work for Filtering {
    #[inline]
    fn once(&mut self) {
        for _ in 0..GROUPS {
            self.group.handed.extend_from_slice(&self.ids[self.next..self.next + GROUP]);
            self.next = (self.next + GROUP) % RING;
            let filter = &self.filter;
            self.group.filter(self.driver.frames(), &mut |bytes, length| filter.run(bytes, length), u32::MAX);
            self.seen += GROUP as u64;
            self.wanted += self.group.wanted.len() as u64;
            black_box(&mut self.group);
        }
    }

    fn operations(&self) -> u32 {
        (GROUP * GROUPS) as u32
    }
}

/// The machine that runs a filter.
pub(super) fn machine_for(machine: Machine, filter: &StudyFilter) -> Result<Filter> {
    let program = filter.program()?;
    Ok(match machine {
        Machine::Interpreter => Filter::interpreted(&program),
        Machine::Jit => Filter::new(&program),
    })
}

/// A clock over groups of wanted frames.
struct Stamping {
    group: Group,
    clock: Clock,
}

impl Alone for Stamping {
    fn prepare(params: &Params) -> Result<Self> {
        let (mut driver, _) = driver(StudyFilter::named("ip")?, Traffic::Uniform, 60)?;
        let group = filtered(&mut driver, GROUP, u32::MAX);
        Ok(Stamping { group, clock: Clock::new(meant(CLOCKS, params.word("kind")?)?)? })
    }

    fn verify(&mut self) -> Result<()> {
        let sorted = self.group.stamps.windows(2).all(|w| w[0] <= w[1]);
        match self.group.stamps.first() {
            Some(first) if sorted && first.0 > 0 => Ok(()),
            _ => Err(Error::Wrong("the stamps are not in order".into())),
        }
    }
}

impl Work for Stamping {
    #[inline]
    fn once(&mut self) {
        for _ in 0..GROUPS {
            self.group.stamp(&mut self.clock);
            black_box(&mut self.group);
        }
    }

    fn operations(&self) -> u32 {
        (GROUP * GROUPS) as u32
    }
}

/// A group of wanted frames, of which `snapshot` bytes are kept.
fn filtered(driver: &mut Driver, frames: usize, snapshot: u32) -> Group {
    let mut group = Group::with_capacity(GROUP);
    driver.poll(frames as u32, &mut group);
    group.filter(driver.frames(), &mut |_, length| length, snapshot);
    group.stamps = vec![Timestamp(1); frames];
    group
}

/// Groups appended to a buffer, with their bytes or without.
struct Appending {
    driver: Driver,
    group: Group,
    buffer: Shared,
    consumer: Consumer,
    groups: usize,
    /// Groups until the buffer is emptied.
    until_emptied: usize,
    /// Frames of a group: 50, or as many as the buffer has room for.
    frames: usize,
    placed: u64,
}

impl Appending {
    fn prepare(size: usize, bytes: usize, locking: Locking) -> Result<Appending> {
        // The frames are at least as long as their headers; what is kept of them is as long as asked.
        let (mut driver, _) = driver(StudyFilter::named("ip")?, Traffic::Uniform, size)?;
        let (producer, consumer) = buffer(bytes)?;
        let frames = GROUP.min(bytes / 2 / room_for(size as u32));
        let until_emptied = (bytes / 2 / (frames * room_for(size as u32))).clamp(1, GROUPS_A_READ);
        let group = filtered(&mut driver, frames, size as u32);
        let buffer = Shared::new(producer, locking);
        Ok(Appending { driver, group, buffer, consumer, groups: 0, until_emptied, frames, placed: 0 })
    }

    #[inline(always)]
    fn place(&mut self) {
        let dropped = self.group.place(&mut self.buffer);
        self.placed += self.group.places.len() as u64 - dropped;
    }

    #[inline(always)]
    fn publish(&mut self) {
        self.buffer.producer().publish();
        self.groups += 1;
        if self.groups == self.until_emptied {
            self.groups = 0;
            self.consumer.discard();
        }
        black_box(&mut self.group);
    }

    /// Whether every frame of the last group is where it should be, if `copied`.
    fn verify(&mut self, copied: bool) -> Result<()> {
        let frames = self.driver.frames();
        let producer = self.buffer.producer();
        for (frame, place) in &self.group.places {
            let bytes = producer.bytes(*place);
            if copied && bytes != &frames.bytes(*frame)[..bytes.len()] {
                return Err(Error::Wrong("a frame was not copied as it is".into()));
            }
        }
        match self.group.places.len() == self.frames && self.placed > 0 {
            true => Ok(()),
            false => {
                Err(Error::Wrong(format!("{} of {} frames found room", self.group.places.len(), self.frames)))
            }
        }
    }
}

/// Places and headers.
struct Placing(Appending);

impl Alone for Placing {
    fn prepare(params: &Params) -> Result<Self> {
        let (lock, bytes) = split(params)?;
        Appending::prepare(params.int("size")? as usize, meant(BUFFERS, bytes)?, meant(LOCKS, lock)?)
            .map(Placing)
    }

    fn verify(&mut self) -> Result<()> {
        self.0.verify(false)
    }
}

impl Work for Placing {
    #[inline]
    fn once(&mut self) {
        for _ in 0..GROUPS {
            self.0.place();
            self.0.publish();
        }
    }

    fn operations(&self) -> u32 {
        (self.0.frames * GROUPS) as u32
    }
}

/// Places, headers and copies.
struct Copying {
    appending: Appending,
    by: TransferBy,
}

impl Alone for Copying {
    fn prepare(params: &Params) -> Result<Self> {
        let (by, bytes) = split(params)?;
        let size = params.int("size")? as usize;
        let appending = Appending::prepare(size, meant(BUFFERS, bytes)?, Locking::None)?;
        Ok(Copying { appending, by: meant(TRANSFERS, by)? })
    }

    fn verify(&mut self) -> Result<()> {
        self.appending.verify(true)
    }
}

impl Work for Copying {
    #[inline]
    fn once(&mut self) {
        for _ in 0..GROUPS {
            self.appending.place();
            let Appending { driver, group, buffer, .. } = &mut self.appending;
            group.copy(driver.frames(), self.by, buffer.producer());
            self.appending.publish();
        }
    }

    fn operations(&self) -> u32 {
        (self.appending.frames * GROUPS) as u32
    }
}

/// A buffer with packets of one size in it, and who reads them.
struct Filled {
    producer: Producer,
    consumer: Consumer,
    user_buffer: Vec<u8>,
    kept: u32,
    packets: usize,
    application: Application,
    asked: u64,
}

impl Filled {
    fn prepare(bytes: usize, packets: usize, kept: u32, read: usize) -> Result<Filled> {
        let room = packets * room_for(kept);
        if 2 * room > bytes {
            return Err(Error::Input {
                place: format!("{packets} packets of {} bytes", room_for(kept)),
                reason: format!("they fill more than half of a buffer of {bytes} bytes"),
                remedy: "take fewer packets or a larger buffer".into(),
            });
        }
        let (producer, consumer) = buffer(bytes)?;
        let user_buffer = vec![0; read];
        let application = Application::default();
        Ok(Filled { producer, consumer, user_buffer, kept, packets, application, asked: 0 })
    }

    fn fill(&mut self, times: usize) {
        for _ in 0..times * self.packets {
            let header = Header { timestamp: Timestamp(1), kept: self.kept, wire_length: self.kept };
            if let Some(place) = self.producer.place(header) {
                self.producer.bytes(place).fill(self.asked as u8);
                self.asked += 1;
            }
        }
        self.producer.publish();
    }

    fn verify(&self) -> Result<()> {
        let left = (self.consumer.available() / room_for(self.kept)) as u64;
        match self.application.packets + left == self.asked && self.application.packets > 0 {
            true => Ok(()),
            false => Err(Error::Wrong(format!(
                "{} packets were put in, {left} are left, {} came out",
                self.asked, self.application.packets
            ))),
        }
    }
}

/// One read.
struct Reading {
    filled: Filled,
    /// Reads between two fillings.
    reads: u32,
}

/// Short reads between two fillings.
const SHORT_READS: u32 = 64;

/// A read of so many bytes is long enough to be stamped alone.
const LONG_READ: usize = 64 << 10;

impl Alone for Reading {
    fn prepare(params: &Params) -> Result<Self> {
        let bytes = meant(BUFFERS, params.word("kind")?)?;
        let (size, packets) = (params.int("size")? as usize, params.int("depth")? as usize);
        let kept = (size / packets).checked_sub(crate::engine::buffer::HEADER).filter(|k| *k > 0);
        let kept = kept.ok_or_else(|| Error::Input {
            place: format!("{packets} packets in {size} bytes"),
            reason: "they have no room for their headers".into(),
            remedy: "ask for fewer packets or more bytes".into(),
        })? as u32;
        let reads = if size >= LONG_READ { 1 } else { SHORT_READS.min((bytes / 2 / size) as u32).max(1) };
        let filled = Filled::prepare(bytes, packets, kept, packets * room_for(kept))?;
        Ok(Reading { filled, reads })
    }

    fn verify(&mut self) -> Result<()> {
        self.filled.verify()
    }
}

impl Work for Reading {
    #[inline]
    fn once(&mut self) {
        for _ in 0..self.reads {
            let Filled { consumer, user_buffer, application, packets, .. } = &mut self.filled;
            // What cannot be read is missing when it is verified.
            if let Ok(batch) = consumer.read(user_buffer) {
                application.packets += *packets as u64;
                black_box(batch.len());
            }
        }
    }

    fn operations(&self) -> u32 {
        self.reads
    }

    fn uses_up(&self) -> bool {
        true
    }

    fn restock(&mut self) {
        self.filled.fill(self.reads as usize);
    }
}

/// The application over one batch.
struct Looking {
    filled: Filled,
    read: usize,
    /// How often the same batch is walked between two stamps: a short one takes less than a stamp.
    walks: u32,
}

/// Packets between two stamps at the least.
const LOOKED_AT: usize = 2000;

impl Alone for Looking {
    fn prepare(params: &Params) -> Result<Self> {
        let (kept, packets) = (params.int("size")? as u32, params.int("depth")? as usize);
        let room = packets * room_for(kept);
        let bytes = (2 * room).next_power_of_two();
        let walks = LOOKED_AT.div_ceil(packets) as u32;
        Ok(Looking { filled: Filled::prepare(bytes, packets, kept, room)?, read: 0, walks })
    }

    fn verify(&mut self) -> Result<()> {
        self.filled.application.packets /= u64::from(self.walks);
        self.filled.verify()
    }
}

impl Work for Looking {
    #[inline]
    fn once(&mut self) {
        let Filled { user_buffer, application, .. } = &mut self.filled;
        for _ in 0..self.walks {
            application.take(crate::engine::buffer::Batch::of(black_box(&user_buffer[..self.read])));
        }
        black_box(application);
    }

    fn operations(&self) -> u32 {
        self.filled.packets as u32 * self.walks
    }

    fn uses_up(&self) -> bool {
        true
    }

    fn restock(&mut self) {
        self.filled.fill(1);
        let Filled { consumer, user_buffer, .. } = &mut self.filled;
        self.read = consumer.read(user_buffer).map_or(0, |batch| batch.len());
    }
}
