//! The image's own versions of what compilers call by themselves, against the standard library's.

use std::ptr::from_ref;

#[path = "../../image/memory.rs"]
mod ours;

const LENGTHS: [usize; 8] = [0, 1, 7, 8, 9, 31, 64, 100];

fn bytes() -> Vec<u8> {
    (0..256u32).map(|i| (i * 167 % 251) as u8).collect()
}

/// Every overlap around the lengths, in both directions.
#[test]
fn moves_and_copies() {
    for len in LENGTHS {
        for (from, to) in [(0, 0), (0, 1), (1, 0), (0, 100), (100, 0), (50, 57), (57, 50)] {
            let (mut ours, mut theirs) = (bytes(), bytes());
            let start = ours.as_mut_ptr();
            // SAFETY: all offsets plus lengths are within the 256 bytes.
            let returned = unsafe { ours::memmove(start.add(to), start.add(from), len) };
            assert_eq!(returned, ours[to..].as_mut_ptr());
            theirs.copy_within(from..from + len, to);
            assert_eq!(ours, theirs, "{len} bytes from {from} to {to}");
        }
        let (source, mut target) = (bytes(), [0xee; 256]);
        // SAFETY: both have 256 bytes.
        unsafe { ours::memcpy(target.as_mut_ptr().wrapping_add(3), source.as_ptr(), len) };
        assert!(target[3..3 + len] == source[..len] && target[..3] == [0xee; 3]);
        assert!(target[3 + len..].iter().all(|byte| *byte == 0xee));
    }
}

/// Only the low byte of the value counts, and only the range is set.
#[test]
fn sets() {
    for len in LENGTHS {
        let mut target = [1u8; 256];
        // SAFETY: the range is within the 256 bytes.
        unsafe { ours::memset(target.as_mut_ptr().wrapping_add(5), 0x1ab, len) };
        assert!(target[5..5 + len].iter().all(|byte| *byte == 0xab));
        assert!(target[..5].iter().chain(&target[5 + len..]).all(|byte| *byte == 1));
    }
}

/// The sign is that of the first difference, of bytes without sign.
#[test]
fn compares() {
    for len in LENGTHS {
        let left = bytes();
        for at in 0..=len {
            for value in [0, 0x7f, 0x80, 0xff] {
                let mut right = bytes();
                right[at] = value;
                // SAFETY: both have 256 bytes.
                let ours = unsafe { ours::memcmp(from_ref(&left[0]), from_ref(&right[0]), len) };
                assert_eq!(
                    ours.signum(),
                    left[..len].cmp(&right[..len]) as i32,
                    "{len} bytes, {value} at {at}"
                );
            }
        }
    }
}
