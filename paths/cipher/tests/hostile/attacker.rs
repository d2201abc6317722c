//! A tenant that keeps to no rule: it writes rings, descriptors and requests itself, has them served, and looks at what has
//! become of its memory. The fuzz target `cipher-card` plays the same with bytes that libFuzzer finds.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};
use std::time::{Duration, Instant};

use tollway_cipher::engine::device::{Card, FunctionStatus};
use tollway_cipher::engine::protocol::{FIXED, Status};
use tollway_virtio::Area;
use tollway_virtio::frontend::{Layout, Link, LinkOptions};

use crate::eventually::eventually;
use crate::pause::pause;

use super::chains::{
    Choices, DESCRIPTOR, Expected, Known, Made, Piece, Places, ROOM, bent, broken, control, descriptor,
    known, straight,
};

/// Chains that are offered at once, and descriptors that each has to itself.
const SLOTS: usize = 64;
const OWN: usize = 4;

/// The memory after the queues: nobody's, then what each request has, then what all wild ones share. The latter is the last,
/// so that what goes beyond it is outside.
const NOBODYS: usize = 4096;
const PARTS: usize = 128;
const STATUS: usize = 100;
const TABLE: usize = 16;
const WILD: usize = 16 << 10;
const SLOT: usize = PARTS + TABLE * DESCRIPTOR + 2 * ROOM;

/// What lies where nothing is to be written.
const UNTOUCHED: u8 = 0xa5;

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// What was met.
#[derive(Debug, Default)]
pub struct Tally {
    /// Chains that came back.
    pub served: u64,
    /// Those of them whose result was held against what it must be.
    pub compared: u64,
    /// Chains for which a queue was given up.
    pub refused: u64,
    /// What stood as the status of those that came back.
    pub statuses: BTreeMap<u8, u64>,
}

impl Tally {
    /// Chains in all.
    pub fn chains(&self) -> u64 {
        self.served + self.refused
    }

    /// Each kind of outcome has been met often: else nothing was searched.
    pub fn has_met_everything(&self) {
        let often = self.chains() / 100;
        assert!(self.compared > 10 * often && self.refused > 0, "{self:?}");
        for status in
            [Status::Ok, Status::Err, Status::BadMessage, Status::NotSupported, Status::InvalidSession]
        {
            assert!(
                self.statuses.get(&(status as u8)).is_some_and(|count| *count > often),
                "{status:?}: {self:?}"
            );
        }
    }

    pub fn add(&mut self, other: Tally) {
        self.served += other.served;
        self.compared += other.compared;
        self.refused += other.refused;
        for (status, count) in other.statuses {
            *self.statuses.entry(status).or_default() += count;
        }
    }
}

/// A tenant of a card of this process.
pub struct Attacker {
    link: Link,
    card: Arc<Card>,
    function: usize,
    known: Vec<Known>,
    /// Where the card sees its memory.
    guest: u64,
    /// How many data queues it has, which it uses in turns; and how many batches it has offered.
    queues: usize,
    batches: usize,
    /// Buffers offered so far, of each queue.
    offered: Vec<u16>,
    /// Queues of it that were given up.
    given_up: u64,
    /// Whether it asks for nothing but what it may: what others ask for costs them as much then, and harms nobody.
    pub keeps_rules: bool,
}

/// What a batch asks for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asks {
    /// The sessions that are known, as it should.
    Sessions,
    /// Sessions, or anything.
    Control,
    /// Work, or anything.
    Data,
}

fn options(queues: usize) -> LinkOptions {
    let bytes = NOBODYS + SLOTS * SLOT + WILD;
    LinkOptions {
        queues: queues + 1,
        size: (OWN * SLOTS) as u16,
        bytes,
        indirect: 2,
        event_index: false,
        ..LinkOptions::default()
    }
}

/// A batch of chains that was offered.
struct Offered {
    asks: Asks,
    queue: usize,
    slots: Vec<Option<Expected>>,
    /// The index of the available ring is not as many ahead.
    index: u16,
    /// A descriptor may name what is another request's.
    mixed: bool,
}

impl Attacker {
    /// By the door of its process, at a card with so many data queues.
    pub fn inside(card: &Arc<Card>, function: usize, queues: usize) -> Attacker {
        let inside = card.inside(function).expect("it is met inside");
        let link = Link::inside(inside, &options(queues)).expect("the card takes it in");
        Attacker::new(link, card, function, queues)
    }

    /// By the socket of a function.
    pub fn connect(card: &Arc<Card>, function: usize, queues: usize, socket: &Path) -> Attacker {
        let link = Link::connect(socket, &options(queues)).expect("the card takes it in");
        Attacker::new(link, card, function, queues)
    }

    fn new(mut link: Link, card: &Arc<Card>, function: usize, queues: usize) -> Attacker {
        let guest = link.lane(0).guest();
        let card = card.clone();
        let mut attacker = Attacker {
            link,
            card,
            function,
            known: known(),
            guest,
            queues,
            batches: 0,
            offered: vec![0; queues + 1],
            given_up: 0,
            keeps_rules: false,
        };
        attacker.given_up = attacker.status().counts.refused_chains;
        attacker.area().write(attacker.link.free(), &[UNTOUCHED; NOBODYS]);
        attacker
    }

    pub fn area(&self) -> Area {
        self.link.area()
    }

    /// Kicks with nothing to do, a thousand times at once and then again, until `stop` says so.
    pub fn storm(mut self, stop: impl Fn() -> bool) -> u64 {
        let mut kicks = 0;
        while !stop() {
            if !self.keeps_rules {
                (0..1000).for_each(|kick| self.link.lane(kick % 2).kick_anyway());
                kicks += 1000;
            }
            // The others are to have the processors, too.
            pause(Duration::from_millis(1));
        }
        kicks
    }

    /// Whether these bytes lie anywhere in its memory.
    pub fn has(&self, looked_for: &[u8]) -> bool {
        let mut bytes = vec![0; self.area().len()];
        self.area().read(0, &mut bytes);
        bytes.windows(looked_for.len()).any(|window| window == looked_for)
    }

    /// Plays until all choices are made: sessions, then batch after batch, each in one of the queues; a queue that was given up
    /// is set up anew. `serve` lets the card work.
    pub fn play(&mut self, data: &[u8], tally: &mut Tally, mut serve: impl FnMut()) {
        let mut choices = Choices(data);
        self.begin(tally, &mut serve);
        while !choices.0.is_empty() {
            let asks =
                if choices.byte() % 16 == 15 && !self.keeps_rules { Asks::Control } else { Asks::Data };
            let chains = 1 + choices.below(SLOTS);
            let batch = self.offer(asks, chains, &mut choices);
            if !self.settle(&batch, tally, &mut serve) && !choices.0.is_empty() {
                self.begin(tally, &mut serve);
            }
        }
    }

    /// Connects anew, which ends all sessions, and opens those that are known.
    fn begin(&mut self, tally: &mut Tally, serve: &mut impl FnMut()) {
        // The card may not have noticed yet that it has left, or does not read as fast as it comes.
        eventually("the card takes it again", || self.link.reconnect().is_ok());
        self.offered.fill(0);
        let sessions = self.known.len();
        let batch = self.offer(Asks::Sessions, sessions, &mut Choices(&[]));
        assert!(self.settle(&batch, tally, serve), "{:?}", self.status());
        let status = self.status();
        assert_eq!(status.sessions, sessions, "{status:?}");
    }

    fn status(&self) -> FunctionStatus {
        self.card.status().functions.swap_remove(self.function)
    }

    fn layout(&mut self, queue: usize) -> Layout {
        *self.link.lane(queue).layout()
    }

    fn places(&self, slot: usize) -> (Places, usize) {
        let first = self.link.free() + NOBODYS + slot * SLOT;
        let at = |offset: usize| self.guest + offset as u64;
        let source = first + PARTS + TABLE * DESCRIPTOR;
        let places = Places {
            parts: at(first),
            status: at(first + STATUS),
            source: at(source),
            result: at(source + ROOM),
            wild: at(self.link.free() + NOBODYS + SLOTS * SLOT),
            wild_bytes: WILD,
        };
        (places, first)
    }

    /// Writes so many chains into a queue, and kicks.
    fn offer(&mut self, asks: Asks, chains: usize, choices: &mut Choices<'_>) -> Offered {
        self.batches += 1;
        // The control queue is the last.
        let queue = if asks == Asks::Data { self.batches % self.queues } else { self.queues };
        let layout = self.layout(queue);
        let area = self.area();
        let mut offered = Offered { asks, queue, slots: Vec::new(), index: 0, mixed: false };
        let first = self.offered[queue];
        for slot in 0..chains {
            let (places, at) = self.places(slot);
            let is_right = asks == Asks::Sessions || choices.byte() % 5 < 2 || self.keeps_rules;
            let made = match asks {
                Asks::Sessions => control(&self.known, Some(slot), &places, choices),
                Asks::Control => control(&self.known, None, &places, choices),
                Asks::Data if is_right => straight(&self.known, &places, choices),
                Asks::Data => bent(&self.known, &places, choices),
            };
            self.write(at, &made);
            let breaks = !is_right && choices.byte().is_multiple_of(32);
            offered.mixed |= breaks;
            self.describe(&layout, slot, at, &made.pieces, breaks, choices);
            let head = if breaks && choices.byte() < 16 {
                choices.below(1 << 16) as u16
            } else {
                (OWN * slot) as u16
            };
            let place = usize::from(first.wrapping_add(slot as u16) % layout.size);
            area.write(layout.available + 4 + 2 * place, &head.to_le_bytes());
            offered.slots.push(made.expected);
        }
        offered.index = first.wrapping_add(chains as u16);
        self.offered[queue] = offered.index;
        if asks != Asks::Sessions && choices.byte() == 255 && !self.keeps_rules {
            (offered.index, offered.mixed) = (choices.below(1 << 16) as u16, true);
        }
        fence(Ordering::Release);
        area.write(layout.available + 2, &offered.index.to_le_bytes());
        self.link.lane(queue).kick_anyway();
        offered
    }

    /// What a request has of its own, as it is before.
    fn write(&self, at: usize, made: &Made) {
        let area = self.area();
        let source = at + PARTS + TABLE * DESCRIPTOR;
        area.write(at, &made.parts);
        area.write(at + STATUS, &[UNTOUCHED]);
        area.write(source, &made.source);
        area.write(source + ROOM, &[UNTOUCHED; ROOM]);
    }

    /// A chain in the table, or in a table of its own.
    fn describe(
        &self,
        layout: &Layout,
        slot: usize,
        at: usize,
        pieces: &[Piece],
        breaks: bool,
        choices: &mut Choices<'_>,
    ) {
        let (next, write, indirect) = (1, 2, 4);
        let in_table = pieces.len() > OWN || choices.byte().is_multiple_of(2);
        let pieces = &pieces[..pieces.len().min(TABLE)];
        let first = if in_table { 0 } else { OWN * slot };
        let table = if in_table { at + PARTS } else { layout.descriptors + DESCRIPTOR * first };
        let broken_one = breaks.then(|| choices.below(pieces.len() + 1));
        let outside = self.guest + self.area().len() as u64 - choices.below(32) as u64;
        for (number, piece) in pieces.iter().enumerate() {
            let is_last = number + 1 == pieces.len();
            let flags = if is_last { 0 } else { next } | if piece.writable { write } else { 0 };
            let following = if is_last { 0 } else { first + number + 1 };
            let mut bytes = descriptor(piece.at, piece.bytes, flags, following as u16);
            if broken_one == Some(number) {
                broken(&mut bytes, outside, choices);
            }
            self.area().write(table + DESCRIPTOR * number, &bytes);
        }
        if in_table {
            let at = self.guest + table as u64;
            let mut bytes = descriptor(at, (DESCRIPTOR * pieces.len()) as u32, indirect, 0);
            if broken_one == Some(pieces.len()) {
                broken(&mut bytes, outside, choices);
            }
            self.area().write(layout.descriptors + DESCRIPTOR * OWN * slot, &bytes);
        }
    }

    /// Waits until a batch is served, or its queue given up; whether it was served. Then the memory is as it must be.
    fn settle(&mut self, batch: &Offered, tally: &mut Tally, serve: &mut impl FnMut()) -> bool {
        let layout = self.layout(batch.queue);
        let word = |area: &Area, at: usize| {
            let mut bytes = [0; 2];
            area.read(at, &mut bytes);
            u16::from_le_bytes(bytes)
        };
        let area = self.area();
        let chains = batch.slots.len() as u16;
        let first = self.offered[batch.queue].wrapping_sub(chains);
        let deadline = Instant::now() + PATIENCE;
        let mut looks = 0u32;
        let is_given_up = loop {
            serve();
            let used = word(&area, layout.used + 2);
            if used == batch.index {
                break false;
            }
            looks += 1;
            if looks.is_multiple_of(16) {
                let given_up = self.status().counts.refused_chains;
                if std::mem::replace(&mut self.given_up, given_up) != given_up {
                    break true;
                }
            }
            assert!(Instant::now() < deadline, "{used} of {}: {:?}", batch.index, self.status());
        };
        fence(Ordering::Acquire);
        let served = word(&area, layout.used + 2).wrapping_sub(first);
        tally.served += u64::from(served);
        tally.refused += u64::from(is_given_up);
        if batch.asks == Asks::Data {
            for (slot, expected) in batch.slots.iter().enumerate().take(served.into()) {
                self.compare(slot, expected.as_ref().filter(|_| !batch.mixed), tally);
            }
        }
        let mut nobodys = [0; NOBODYS];
        area.read(self.link.free(), &mut nobodys);
        assert!(nobodys == [UNTOUCHED; NOBODYS], "the card has written where nobody asked it to");
        assert!(is_given_up || self.status().counts.refused_chains == self.given_up, "{:?}", self.status());
        // An index that is ahead of what was written has the card serve what was there before: no more is known of it.
        !is_given_up && batch.index == first.wrapping_add(chains)
    }

    /// What has become of one request.
    fn compare(&self, slot: usize, expected: Option<&Expected>, tally: &mut Tally) {
        let area = self.area();
        let (_, at) = self.places(slot);
        let mut status = [0];
        area.read(at + STATUS, &mut status);
        *tally.statuses.entry(status[0]).or_default() += 1;
        let Some(Expected { status: wanted, result }) = expected else { return };
        assert_eq!(status[0], *wanted as u8, "status of {result:?}");
        let mut bytes = [0; ROOM];
        area.read(at + PARTS + TABLE * DESCRIPTOR + ROOM, &mut bytes);
        if matches!(wanted, Status::Ok | Status::BadMessage) {
            assert!(bytes[..result.len()] == result[..], "another result");
        }
        assert!(
            bytes[result.len()..].iter().all(|byte| *byte == UNTOUCHED),
            "more than the result was written"
        );
        tally.compared += 1;
    }
}

const _: () = assert!(FIXED + 16 < STATUS);
