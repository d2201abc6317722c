//! Makes a queue of any bytes, has it served, and holds each step against the rules.
//!
//! The rules are written down once more here, as a walk over a copy of the memory, and as what the memory must be
//! afterwards, byte for byte. The fuzz target `virtio-queue` plays the same with bytes that libFuzzer finds.

use std::collections::BTreeMap;
use std::sync::Arc;

use tollway_virtio::backend::{Chain, Memory, Ring};
use vm_memory::{Bytes, GuestAddress};

const MEMORY: usize = 16 * 1024;
/// The longest indirect table that is taken.
const LONGEST_TABLE: usize = 1 << 16;

/// What was met.
#[derive(Debug, Default)]
pub struct Tally {
    pub taken: u64,
    pub refused: u64,
    /// Of those taken: with an indirect table, with more than one piece.
    pub indirect: u64,
    pub long: u64,
    pub bytes: u64,
    /// Refusals by name.
    pub kinds: BTreeMap<String, u64>,
}

impl Tally {
    pub fn chains(&self) -> u64 {
        self.taken + self.refused
    }
}

/// A queue's memory, used again and again.
pub struct Player {
    memory: Arc<Memory>,
    before: Vec<u8>,
    after: Vec<u8>,
    chain: Chain,
}

/// Bytes as choices; zeros when they have run out.
struct Choices<'a>(&'a [u8]);

impl Choices<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    fn word(&mut self) -> u16 {
        u16::from_le_bytes([self.byte(), self.byte()])
    }
}

/// Where the rings are, by VIRTIO 1.2, 2.7.2, and how they are used.
struct Place {
    size: usize,
    available: usize,
    used: usize,
    indirect: bool,
}

impl Player {
    pub fn new() -> Player {
        let memory = Arc::new(Memory::anonymous(MEMORY));
        Player { memory, before: vec![0; MEMORY], after: vec![0; MEMORY], chain: Chain::default() }
    }

    /// Plays one queue to its end.
    pub fn play(&mut self, data: &[u8], tally: &mut Tally) {
        let mut choices = Choices(data);
        let kind = choices.byte();
        let size = 1usize << (kind & 7).min(6);
        let (indirect, event_index) = (kind & 0x40 != 0, kind & 0x80 != 0);
        let available = 16 * size;
        let used = (available + 6 + 2 * size).next_multiple_of(64);
        let place = Place { size, available, used, indirect };
        self.fill_memory(&place, &mut choices);
        let mut ring = Ring::alone(self.memory.clone(), size as u16, indirect, event_index).expect("a queue");
        // The index is looked at when all that were there have been taken, and when the last of them is: buffers may lie over it.
        let (mut next, mut there) = (0u16, 0u16);
        loop {
            self.read(true);
            let expected = place.next(&self.before, next, &mut there);
            let taken = ring.take(&mut self.chain);
            match (&taken, &expected) {
                (Ok(false), Ok(None)) => return,
                (Err(refused), Err(())) => {
                    tally.refused += 1;
                    let name = format!("{refused:?}");
                    let name = name.split(['(', ' ']).next().unwrap_or_default();
                    *tally.kinds.entry(name.into()).or_default() += 1;
                    assert!(ring.is_broken());
                    assert!(matches!(ring.take(&mut self.chain), Ok(false)), "a broken queue gives more");
                    self.read(false);
                    assert!(self.before == self.after, "the memory was written to");
                    return;
                }
                (Ok(true), Ok(Some(walked))) => {
                    let pieces: Vec<_> =
                        self.chain.pieces().iter().map(|p| (p.address.0, p.len, p.writable)).collect();
                    assert_eq!(pieces, walked.pieces);
                    assert_eq!(self.chain.head(), walked.head);
                    tally.taken += 1;
                    tally.indirect += u64::from(walked.indirect);
                    tally.long += u64::from(pieces.len() > 1);
                }
                _ => panic!(
                    "{taken:?}, and by the rules {:?}",
                    expected.map(|walked| walked.map(|w| w.pieces))
                ),
            }
            place.look_ahead(&self.before, next.wrapping_add(1), &mut there);
            tally.bytes += self.serve(&place, &mut ring, next, choices.byte());
            next = next.wrapping_add(1);
        }
    }

    /// Fills a chain that was taken, in two parts or not to its end, gives it back, and looks at the memory.
    fn serve(&mut self, place: &Place, ring: &mut Ring, number: u16, choice: u8) -> u64 {
        let room = usize::try_from(self.chain.room()).expect("it is within the memory's pieces");
        // Chains may name the same memory again and again: not all of a large one is written.
        let whole = room.min(8192) * usize::from(choice).min(128) / 128;
        let pattern: Vec<u8> = (0..whole).map(|at| (at as u8).wrapping_mul(31) ^ choice).collect();
        let (first, second) = pattern.split_at(whole / 3);
        for part in [first, second] {
            let done = self.chain.fill(&self.memory, part).expect("it was checked");
            assert_eq!(done, part.len());
        }
        assert_eq!(self.chain.written() as usize, whole);
        assert_eq!(self.chain.left() as usize, room - whole);
        ring.give_back(&self.chain, self.chain.written());
        ring.call();
        // What must be there now.
        let mut left = pattern.as_slice();
        for piece in self.chain.pieces().iter().filter(|piece| piece.writable) {
            let (now, rest) = left.split_at(left.len().min(piece.len as usize));
            let at = piece.address.0 as usize;
            self.before[at..at + now.len()].copy_from_slice(now);
            left = rest;
        }
        let slot = place.used + 4 + 8 * (usize::from(number) % place.size);
        self.before[slot..slot + 4].copy_from_slice(&u32::from(self.chain.head()).to_le_bytes());
        self.before[slot + 4..slot + 8].copy_from_slice(&(whole as u32).to_le_bytes());
        self.before[place.used + 2..place.used + 4].copy_from_slice(&number.wrapping_add(1).to_le_bytes());
        self.read(false);
        assert!(self.before == self.after, "the memory is not as it must be");
        whole as u64
    }

    fn read(&mut self, before: bool) {
        let into = if before { &mut self.before } else { &mut self.after };
        self.memory.guest().read_slice(into, GuestAddress(0)).expect("all of it");
    }

    /// Descriptors, in the table and where indirect tables may be, and heads.
    fn fill_memory(&mut self, place: &Place, choices: &mut Choices<'_>) {
        let memory = &mut self.before;
        memory.fill(0);
        let count = match choices.byte() {
            beyond @ 250.. => u16::from(beyond),
            count => u16::from(count) % (place.size as u16 + 1),
        };
        let heads: [u8; 8] = std::array::from_fn(|_| choices.byte());
        memory[place.available + 2..place.available + 4].copy_from_slice(&count.to_le_bytes());
        for slot in 0..place.size {
            // Mostly heads that there are; else the first that there is not, or one far beyond.
            let head = match heads[slot % 8] {
                head @ 0..245 => u16::from(head) % place.size as u16,
                245..250 => place.size as u16,
                beyond => u16::from(beyond),
            };
            let at = place.available + 4 + 2 * slot;
            memory[at..at + 2].copy_from_slice(&head.to_le_bytes());
        }
        // Buffers that are all right, unless something else is written over them.
        for slot in (0..place.size).map(|slot| 16 * slot).chain((0..64).map(|slot| 4096 + 16 * slot)) {
            let address = 4096 + 64 * slot as u64 % 8192;
            memory[slot..slot + 8].copy_from_slice(&address.to_le_bytes());
            memory[slot + 8..slot + 12].copy_from_slice(&64u32.to_le_bytes());
            memory[slot + 12] = 2;
        }
        while choices.0.len() > 8 {
            let (slot, mix, flags, next) = (choices.byte(), choices.byte(), choices.byte(), choices.byte());
            let (address, len) = (u64::from(choices.word()), u32::from(choices.word()));
            let at = match slot {
                0..192 => 16 * (usize::from(slot) % place.size),
                _ => 4096 + 16 * usize::from(slot - 192),
            };
            let address = match mix & 0x1f {
                0 => address << 48,
                1 => u64::MAX - address % 64,
                2 => MEMORY as u64 - 1,
                // Where indirect tables are.
                _ if flags & 0x30 == 0 => 4096 + 16 * (address % 64),
                _ => address % MEMORY as u64,
            };
            let indirect = if flags & 0x30 == 0 { 4 } else { 0 };
            let len = match mix >> 5 {
                // Tables of more descriptors than there can be, and of more than the queue or the memory has.
                0 => [0, u32::MAX, 1 << 31, 16 * 64, 16 * 1025, 16 << 16, 16 << 17][len as usize % 7],
                _ if indirect != 0 => 16 * (1 + len % 8),
                _ => 1 + len % 600,
            };
            // A next one, writable, indirect; the last one seldom.
            // Few come before another if they are indirect.
            let flags = u16::from(flags & if indirect != 0 && flags < 240 { 2 } else { 3 }) | indirect;
            let next = if next < 240 { u16::from(next) % place.size as u16 } else { u16::from(next) << 4 };
            let memory = &mut memory[at..at + 16];
            memory[..8].copy_from_slice(&address.to_le_bytes());
            memory[8..12].copy_from_slice(&len.to_le_bytes());
            memory[12..14].copy_from_slice(&flags.to_le_bytes());
            memory[14..].copy_from_slice(&next.to_le_bytes());
        }
        self.memory.guest().write_slice(&self.before, GuestAddress(0)).expect("all of it");
    }
}

/// A chain by the rules.
struct Walked {
    head: u16,
    pieces: Vec<(u64, u32, bool)>,
    indirect: bool,
}

impl Place {
    /// When the last that was there has been taken, more may be seen to be there; one that is too many is not looked at yet.
    fn look_ahead(&self, memory: &[u8], next: u16, there: &mut u16) {
        let index = u16::from_le_bytes([memory[self.available + 2], memory[self.available + 3]]);
        let ahead = index.wrapping_sub(next);
        if next == *there && (1..self.size).contains(&usize::from(ahead)) {
            *there = index;
        }
    }

    /// The buffer with number `next` of the `there` that were there at the last look: None if there is none, an error if the queue must be given up.
    fn next(&self, memory: &[u8], next: u16, there: &mut u16) -> Result<Option<Walked>, ()> {
        let word = |at: usize| u16::from_le_bytes([memory[at], memory[at + 1]]);
        if next == *there {
            let ahead = word(self.available + 2).wrapping_sub(next);
            if ahead == 0 {
                return Ok(None);
            }
            if usize::from(ahead) > self.size {
                return Err(());
            }
            *there = next.wrapping_add(ahead);
        }
        let head = word(self.available + 4 + 2 * (usize::from(next) % self.size));
        let (mut table, mut entries, mut at) = (0u64, self.size, usize::from(head));
        let mut walked = Walked { head, pieces: Vec::new(), indirect: false };
        let (mut total, mut writes) = (0u64, false);
        // No chain has more descriptors than the longest tables together.
        for step in 0.. {
            if step > self.size + LONGEST_TABLE || at >= entries {
                return Err(());
            }
            let start = table.checked_add(16 * at as u64).ok_or(())?;
            let end = start.checked_add(16).filter(|end| *end <= memory.len() as u64).ok_or(())?;
            let bytes = &memory[start as usize..end as usize];
            let address = u64::from_le_bytes(bytes[..8].try_into().map_err(drop)?);
            let len = u32::from_le_bytes(bytes[8..12].try_into().map_err(drop)?);
            let flags = u16::from_le_bytes([bytes[12], bytes[13]]);
            if flags & 4 != 0 {
                let usable = len.is_multiple_of(16) && (1..=LONGEST_TABLE).contains(&(len as usize / 16));
                if !self.indirect || walked.indirect || flags & 1 != 0 || !usable {
                    return Err(());
                }
                walked.indirect = true;
                (table, entries, at) = (address, len as usize / 16, 0);
                continue;
            }
            total += u64::from(len);
            let inside = address.checked_add(u64::from(len)).is_some_and(|end| end <= memory.len() as u64);
            let writable = flags & 2 != 0;
            let order = writable || !writes;
            writes |= writable;
            if len == 0 || !inside || !order || total > u64::from(u32::MAX) {
                return Err(());
            }
            walked.pieces.push((address, len, writable));
            if flags & 1 == 0 {
                return Ok(Some(walked));
            }
            at = usize::from(u16::from_le_bytes([bytes[14], bytes[15]]));
        }
        Err(())
    }
}
