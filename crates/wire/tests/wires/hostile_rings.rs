//! Rings in memory that anybody could have written: whatever is in it, nothing outside is touched, no frame is made up,
//! and the walk ends.

use proptest::prelude::*;
use tollway_wire::ring::{Slot, Walk};

/// A block of a TPACKET_V3 ring, as the kernel lays it out: descriptor of 48 bytes, then a header of 48 for each frame,
/// with the frame `before` bytes behind its start.
fn block(frames: &[(Vec<u8>, bool)], before: usize) -> Vec<u8> {
    let mut block = vec![0u8; 48];
    block[12..16].copy_from_slice(&(frames.len() as u32).to_ne_bytes());
    block[16..20].copy_from_slice(&48u32.to_ne_bytes());
    for (i, (frame, tagged)) in frames.iter().enumerate() {
        let start = block.len();
        let length = (before + frame.len()).next_multiple_of(8);
        let next = if i + 1 < frames.len() { length as u32 } else { 0 };
        // Status: VLAN_VALID and VLAN_TPID_VALID.
        let status = if *tagged { 1 | 1 << 4 | 1 << 6 } else { 1u32 };
        let words = [next, 3, 4, frame.len() as u32, frame.len() as u32 + 5, status];
        words.iter().for_each(|word| block.extend(word.to_ne_bytes()));
        block.extend((before as u16).to_ne_bytes());
        block.resize(start + 32, 0);
        block.extend(0x0123u32.to_ne_bytes());
        block.extend(0x88a8u16.to_ne_bytes());
        block.resize(start + before, 0xee);
        block.extend(frame);
        block.resize(start + length, 0xdd);
    }
    block
}

fn frames() -> impl Strategy<Value = Vec<(Vec<u8>, bool)>> {
    prop::collection::vec((prop::collection::vec(any::<u8>(), 0..100), any::<bool>()), 0..20)
}

/// Walks to the end in steps of `limit`; answers the frames, and whether there was no error.
fn walk(block: &mut [u8], limit: u64) -> (Vec<(Vec<u8>, u32, bool)>, bool) {
    let mut walk = Walk::start(block);
    let (mut seen, mut whole) = (Vec::new(), true);
    while !walk.is_done() {
        let before = seen.len();
        let gone = walk.go(block, limit, |f| seen.push((f.bytes.to_vec(), f.wire_length, f.tagged)));
        match gone {
            Ok(count) => assert_eq!(count as usize, seen.len() - before),
            Err(_) => {
                whole = false;
                assert!(walk.is_done(), "after an error there is no more");
            }
        }
    }
    (seen, whole)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_true_block_is_read_as_it_was_written(frames in frames(), limit in 1u64..30) {
        let (seen, whole) = walk(&mut block(&frames, 86), limit);
        prop_assert!(whole);
        prop_assert_eq!(seen.len(), frames.len());
        for ((bytes, wire_length, tagged), (frame, with_tag)) in seen.iter().zip(&frames) {
            // A frame without two addresses has no room for a tag.
            let with_tag = *with_tag && frame.len() >= 12;
            prop_assert_eq!(*tagged, with_tag);
            let mut expected = frame.clone();
            if with_tag {
                expected.splice(12..12, [0x88, 0xa8, 0x01, 0x23]);
            }
            prop_assert_eq!(bytes, &expected);
            prop_assert_eq!(*wire_length as usize, expected.len() + 5);
        }
    }

    #[test]
    fn a_lying_block_ends_the_walk(
        frames in frames(),
        lies in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..12),
        words in prop::collection::vec(
            (any::<prop::sample::Index>(), prop_oneof![any::<u32>(), Just(0), Just(u32::MAX), 0u32..200]), 0..4),
        before in 0usize..120,
        limit in 1u64..2000,
        cut in any::<prop::sample::Index>(),
    ) {
        let mut block = block(&frames, before.max(48));
        for (at, value) in words {
            let at = at.index(block.len() - 3);
            block[at..at + 4].copy_from_slice(&value.to_ne_bytes());
        }
        for (at, value) in lies {
            let at = at.index(block.len());
            block[at] = value;
        }
        block.truncate(cut.index(block.len() + 1));
        let most = block.len() / 48 + 1;
        let length = block.len();
        let (seen, _) = walk(&mut block, limit);
        prop_assert!(seen.len() <= most, "{} frames in {} bytes", seen.len(), length);
        prop_assert!(seen.iter().all(|(bytes, ..)| bytes.len() <= length));
    }

    #[test]
    fn a_lying_slot_gives_nothing_from_outside(
        mut slot in prop::collection::vec(any::<u8>(), 0..200),
        true_start in prop::option::of(30u16..220),
        true_length in prop::option::of(0u32..220),
        other in any::<usize>(),
    ) {
        if let (Some(start), Some(field)) = (true_start, slot.get_mut(12..14)) {
            field.copy_from_slice(&start.to_ne_bytes());
        }
        if let (Some(length), Some(field)) = (true_length, slot.get_mut(8..12)) {
            field.copy_from_slice(&length.to_ne_bytes());
        }
        let inside = slot.clone();
        if let Ok(read) = Slot::read(&slot) {
            let frame = read.frame(&mut slot).bytes.to_vec();
            prop_assert!(frame.len() <= inside.len());
            if !read.frame(&mut inside.clone()).tagged {
                prop_assert!(frame.is_empty() || inside.windows(frame.len()).any(|part| part == frame));
            }
            // Of a frame that waits elsewhere, whatever length the socket told.
            let mut buffer = vec![7; Slot::ROOM + 64];
            prop_assert!(read.elsewhere(&mut buffer, other).bytes.len() <= 64 + 4);
        }
    }

    #[test]
    fn noise_is_no_block(mut noise in prop::collection::vec(any::<u8>(), 0..600), limit in 1u64..100) {
        let most = noise.len() / 48 + 1;
        prop_assert!(walk(&mut noise, limit).0.len() <= most);
    }
}
