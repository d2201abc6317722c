//! Bytes of a chain by their numbers, held against a copy of the memory: pieces of any length, in regions that adjoin and such
//! that do not.

use std::sync::Arc;

use proptest::prelude::*;
use vm_memory::Bytes;

use super::super::ring::Start;
use super::super::{Memory, Ring};
use super::*;
use crate::descriptor::Descriptor;

/// Two regions that adjoin, a gap, and one more.
const REGIONS: [(u64, usize); 3] = [(0, 0x4000), (0x4000, 0x2000), (0x8000, 0x1000)];
const END: u64 = 0x9000;

/// The memory, byte by byte: none in the gap.
fn copy(memory: &Memory) -> Vec<Option<u8>> {
    let mut bytes = vec![None; END as usize];
    for (at, len) in REGIONS {
        let mut region = vec![0; len];
        memory.guest().read_slice(&mut region, GuestAddress(at)).unwrap();
        bytes[at as usize..][..len].iter_mut().zip(region).for_each(|(byte, now)| *byte = Some(now));
    }
    bytes
}

/// Memory of numbered bytes.
fn memory() -> Arc<Memory> {
    let memory = Arc::new(Memory::of_ranges(&REGIONS));
    for (at, len) in REGIONS {
        let bytes: Vec<u8> = (0..len).map(|n| (((at as usize + n) * 31) >> 3) as u8).collect();
        memory.guest().write_slice(&bytes, GuestAddress(at)).unwrap();
    }
    memory
}

/// Takes a buffer of these pieces (address, length, writable) by an indirect table at `table`.
fn take(memory: &Arc<Memory>, table: u64, pieces: &[(u64, u32, bool)]) -> Result<Chain, Refused> {
    let put = |at: u64, descriptor: Descriptor| {
        let bytes: Vec<u8> = descriptor.words().into_iter().flat_map(u64::to_ne_bytes).collect();
        memory.guest().write_slice(&bytes, GuestAddress(at)).unwrap();
    };
    let size = 16 * pieces.len() as u32;
    put(0, Descriptor { address: table, bytes: size, flags: INDIRECT, next: 0 });
    for (number, (address, bytes, writable)) in pieces.iter().enumerate() {
        let next = number as u16 + 1;
        let flags =
            if *writable { WRITE } else { 0 } | if usize::from(next) < pieces.len() { NEXT } else { 0 };
        put(table + 16 * number as u64, Descriptor { address: *address, bytes: *bytes, flags, next });
    }
    // A queue of one descriptor: its available ring is behind it.
    memory.guest().write_slice(&[0, 0, 1, 0, 0, 0], GuestAddress(16)).unwrap();
    let mut ring = Ring::alone(memory.clone(), 1, true, false).unwrap();
    let mut chain = Chain::default();
    ring.take(&mut chain).map(|taken| {
        assert!(taken);
        chain
    })
}

/// Where the rings and the table are nothing is looked at.
fn pieces(count: impl Into<prop::collection::SizeRange>) -> impl Strategy<Value = Vec<(u64, u32)>> {
    // Often about the seam of two regions, sometimes about the gap.
    let address = prop_oneof![0x1000u64..END, 0x3fc0u64..0x4040, 0x5ff0u64..0x6010];
    prop::collection::vec((address, 1u32..200), count)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn bytes_are_where_they_are_counted(
        readable in pieces(0..5),
        writable in pieces(0..5),
        table in prop_oneof![Just(0x800u64), Just(0x3ff8), Just(0x3fe8)],
        from in 0u64..400,
        bytes in 0u64..400,
    ) {
        let all: Vec<_> = readable.iter().map(|(at, len)| (*at, *len, false))
            .chain(writable.iter().map(|(at, len)| (*at, *len, true))).collect();
        prop_assume!(!all.is_empty());
        let memory = memory();
        let taken = take(&memory, table, &all);
        let before = copy(&memory);
        let there = |at: &u64, len: &u32| before.get(*at as usize..*at as usize + *len as usize)
            .is_some_and(|bytes| bytes.iter().all(Option::is_some));
        if !all.iter().all(|(at, len, _)| there(at, len)) {
            prop_assert!(matches!(taken, Err(Refused::Outside { .. })), "{taken:?}");
            return Ok(());
        }
        let mut chain = taken.unwrap();
        // The places of all bytes, one after the other.
        let places = |pieces: &[(u64, u32)]| -> Vec<usize> {
            pieces.iter().flat_map(|(at, len)| *at as usize..*at as usize + *len as usize).collect()
        };
        let (readable, writable) = (places(&readable), places(&writable));
        prop_assert_eq!((chain.readable(), chain.room()), (readable.len() as u64, writable.len() as u64));
        prop_assert_eq!(chain.is_only_writable(), readable.is_empty());
        let part = |places: &[usize]| places.get(from as usize..(from + bytes) as usize).map(<[usize]>::to_vec);
        let expected: Option<Vec<u8>> =
            part(&readable).map(|places| places.iter().map(|at| before[*at].unwrap()).collect());
        let mut read = vec![0; bytes as usize];
        let mut slices = Vec::new();
        let done = chain.read(&memory, from, &mut read);
        let sliced = chain.source(&memory, from, bytes, &mut slices);
        match expected {
            // Nothing is asked for: it is nowhere, too.
            _ if bytes == 0 => prop_assert!(done.is_ok() && sliced.is_ok() && slices.is_empty()),
            Some(expected) => {
                prop_assert!(done.is_ok() && sliced.is_ok());
                prop_assert_eq!(&read, &expected);
                let mut one = vec![0; bytes as usize];
                let mut rest = &mut one[..];
                for slice in &slices {
                    slice.copy_to(rest);
                    rest = &mut rest[slice.len()..];
                }
                prop_assert!(rest.is_empty());
                prop_assert_eq!(one, expected);
            }
            None => {
                let short = Refused::Short { wanted: from + bytes, writable: false };
                prop_assert_eq!(done, Err(short.clone()));
                prop_assert_eq!(sliced, Err(short));
            }
        }
        slices.clear();
        let targets = chain.target(&memory, from, bytes, &mut slices);
        match part(&writable) {
            _ if bytes == 0 => prop_assert!(targets.is_ok() && slices.is_empty()),
            None => prop_assert_eq!(targets, Err(Refused::Short { wanted: from + bytes, writable: true })),
            Some(places) => {
                prop_assert!(targets.is_ok());
                let mut number = 0;
                let mut after = before.clone();
                for slice in &slices {
                    let now: Vec<u8> = (0..slice.len()).map(|n| (number + n) as u8 ^ 0x5a).collect();
                    slice.copy_from(&now);
                    number += slice.len();
                }
                prop_assert_eq!(number, places.len());
                places.iter().enumerate().for_each(|(n, at)| after[*at] = Some(n as u8 ^ 0x5a));
                prop_assert!(copy(&memory) == after, "other bytes were written");
            }
        }
        // All of it, in two parts.
        let text: Vec<u8> = (0..writable.len() + 10).map(|n| n as u8).collect();
        let (first, second) = text.split_at(text.len() / 3);
        let mut after = copy(&memory);
        let done = chain.fill(&memory, first).unwrap() + chain.fill(&memory, second).unwrap();
        prop_assert_eq!((done, chain.left()), (writable.len(), 0));
        writable.iter().zip(&text).for_each(|(at, byte)| after[*at] = Some(*byte));
        prop_assert!(copy(&memory) == after, "not as it should be filled");
    }
}

#[test]
fn numbers_that_no_memory_has_are_short() {
    let memory = memory();
    let chain = take(&memory, 0x800, &[(0x1000, 8, false), (0x1008, 8, true)]).unwrap();
    for (from, bytes) in [(u64::MAX, 1), (0, u64::MAX), (u64::MAX, u64::MAX), (8, 1)] {
        let mut slices = Vec::new();
        assert!(matches!(chain.source(&memory, from, bytes, &mut slices), Err(Refused::Short { .. })));
        assert!(matches!(chain.target(&memory, from, bytes, &mut slices), Err(Refused::Short { .. })));
    }
}

#[test]
fn rings_that_go_over_from_region_to_region_are_refused() {
    let memory = memory();
    let start = Start {
        size: 16,
        descriptors: GuestAddress(0x4000 - 128),
        available: GuestAddress(0x1000),
        used: GuestAddress(0x2000),
        base: 0,
        event_index: false,
        indirect: false,
    };
    let told = Ring::new(memory.clone(), &start).unwrap_err().to_string();
    assert!(told.contains("table of descriptors") && told.contains("one region"), "{told}");
    let within = Start { descriptors: GuestAddress(0x3000), ..start };
    Ring::new(memory.clone(), &within).unwrap();
    for wrong in [
        Start { descriptors: GuestAddress(0x3008), ..within },
        Start { available: GuestAddress(0x1001), ..within },
        Start { used: GuestAddress(0x2002), ..within },
        Start { used: GuestAddress(0x6000), ..within },
        Start { used: GuestAddress(u64::MAX - 3), ..within },
        Start { size: 0, ..within },
        Start { size: 12, ..within },
    ] {
        assert!(matches!(Ring::new(memory.clone(), &wrong), Err(Refused::Rings(_))), "{wrong:?}");
    }
}

/// What is wrong is told by its place, and what can be done about it.
#[test]
fn chains_that_cannot_be_say_where() {
    let memory = memory();
    let told = |pieces: &[(u64, u32, bool)]| take(&memory, 0x800, pieces).unwrap_err();
    let (read, write) = ((0x1000, 8, false), (0x1008, 8, true));
    let empty = told(&[read, (0x1000, 0, false)]);
    assert_eq!(empty, Refused::Empty { head: 0, piece: 2 });
    let order = told(&[read, write, write, read]);
    assert_eq!(order, Refused::Order { head: 0, piece: 4 });
    let long = told(&[read, (0x1000, u32::MAX, false)]);
    assert_eq!(long, Refused::TooLong(0));
    // Two descriptors, of which the second leads back to the first.
    let both = [1, 0].map(|next| Descriptor { address: 0x1000, bytes: 8, flags: NEXT, next }.words());
    let bytes: Vec<u8> = both.into_iter().flatten().flat_map(u64::to_ne_bytes).collect();
    memory.guest().write_slice(&bytes, GuestAddress(0)).unwrap();
    memory.guest().write_slice(&[0, 0, 1, 0, 0, 0], GuestAddress(32)).unwrap();
    let mut ring = Ring::alone(memory.clone(), 2, true, false).unwrap();
    let looped = ring.take(&mut Chain::default()).unwrap_err();
    assert_eq!(looped, Refused::Loop(0));
    for refused in [empty, order, long, looped] {
        assert!(refused.to_string().contains("descriptor 0"), "{refused}");
        assert!(refused.remedy().contains("the guest's driver"), "{refused}");
    }
}

/// Memory with a table of so many descriptors at its beginning, each written by `describe`, and a queue of
/// one buffer after it.
fn with_table(entries: u32, describe: impl Fn(u32) -> Descriptor) -> Ring {
    let table = 0x1000;
    let end = table + 16 * u64::from(entries);
    let memory = Arc::new(Memory::anonymous((end as usize).next_multiple_of(0x1000)));
    let bytes: Vec<u8> =
        (0..entries).flat_map(|number| describe(number).words()).flat_map(u64::to_ne_bytes).collect();
    memory.guest().write_slice(&bytes, GuestAddress(table)).unwrap();
    let whole = Descriptor { address: table, bytes: 16 * entries, flags: INDIRECT, next: 0 }.words();
    let head: Vec<u8> = whole.into_iter().flat_map(u64::to_ne_bytes).chain([0, 0, 1, 0, 0, 0]).collect();
    memory.guest().write_slice(&head, GuestAddress(0)).unwrap();
    Ring::alone(memory, 1, true, false).unwrap()
}

/// A readable byte, and the next one; the last is writable.
fn bytes_of(entries: u32) -> impl Fn(u32) -> Descriptor {
    move |number| {
        let flags = if number + 1 == entries { WRITE } else { NEXT };
        Descriptor { address: 0x800, bytes: 1, flags, next: (number + 1) as u16 }
    }
}

/// Linux's `virtio_crypto` has 1059 of a request of 128 KiB, whatever the ring's size; it ended its queue.
#[test]
fn tables_longer_than_the_ring_are_taken_up_to_what_next_can_number() {
    for entries in [1024, 1025, 1059, 2759, 65_283, 65_536] {
        let mut chain = Chain::default();
        assert!(with_table(entries, bytes_of(entries)).take(&mut chain).unwrap(), "{entries}");
        assert_eq!((chain.readable(), chain.room()), (u64::from(entries) - 1, 1));
        assert_eq!(chain.pieces().len(), entries as usize);
        // Between two peers' turns it has no more than what an ordinary long one needs.
        chain.shrink();
        assert!(chain.pieces.capacity() <= KEPT_PIECES && chain.room() == 0);
    }
    let refused = with_table(65_537, bytes_of(65_537)).take(&mut Chain::default()).unwrap_err();
    assert!(refused.to_string().contains("more than 65536 descriptors"), "{refused}");
}

/// What a hostile guest writes into a long table ends its queue after one look at each descriptor.
#[test]
fn long_tables_that_loop_or_lead_out_are_refused_where_they_do() {
    let entries = 65_536;
    let right = bytes_of(entries);
    let bent = |at: u32, bend: fn(Descriptor) -> Descriptor| {
        let describe = |number| if number == at { bend(right(number)) } else { right(number) };
        with_table(entries, describe).take(&mut Chain::default()).unwrap_err()
    };
    let looped = bent(65_535, |last| Descriptor { flags: NEXT, next: 0, ..last });
    assert_eq!(looped, Refused::Loop(0));
    assert_eq!(bent(40_000, |one| Descriptor { next: 40_000, ..one }), Refused::Loop(40_000));
    let outside = bent(65_534, |one| Descriptor { address: 1 << 40, ..one });
    assert_eq!(outside, Refused::Outside { address: 1 << 40, len: 1 });
    assert_eq!(bent(65_000, |one| Descriptor { bytes: 0, ..one }), Refused::Empty { head: 0, piece: 65_001 });
    let order = bent(3, |one| Descriptor { flags: NEXT | WRITE, ..one });
    assert_eq!(order, Refused::Order { head: 0, piece: 5 });
    assert_eq!(bent(60_000, |one| Descriptor { bytes: u32::MAX, ..one }), Refused::TooLong(0));
    let nested = bent(50_000, |one| Descriptor { flags: INDIRECT, ..one });
    assert_eq!(nested, Refused::Indirect("it was not asked for there"));
}
