//! Checks of a Linux guest's devices, which an agent in it makes for the coordinator.
//!
//! They tell whether a device does what it is for, not how fast.

use std::net::SocketAddrV4;

use serde::{Deserialize, Serialize};

/// A check.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Probe {
    /// Writes this pattern to the whole of a disk, past the guest's page cache, and reads it back. What is on the disk
    /// is lost. Answered with the number of bytes.
    FillDisk {
        /// Which disk.
        disk: Disk,
        /// What the pattern is made of.
        seed: u64,
    },
    /// Compares the whole of a disk with the pattern. Answered with the number of bytes.
    DiskHolds {
        /// Which disk.
        disk: Disk,
        /// What the pattern is made of.
        seed: u64,
    },
    /// Writes a file of this size into the folder for measurements with O_DIRECT and reads it back. Answered with that
    /// folder.
    Scratch {
        /// How large, in bytes; a multiple of 4096.
        bytes: u32,
    },
    /// Listens at this address, sends back what one caller sends until it has no more, and is answered with the
    /// number of bytes then. A caller may call at once: it is waited for.
    Echo {
        /// Where.
        at: SocketAddrV4,
    },
    /// Calls this address, sends so many bytes, and compares what comes back. Answered with the number of bytes.
    Call {
        /// Whom.
        at: SocketAddrV4,
        /// How many.
        bytes: u32,
    },
    /// Reads so many bytes from /dev/hwrng. Answered with the name of the device and the bytes in hexadecimal digits.
    Random {
        /// How many.
        bytes: u32,
    },
    /// Enciphers by AF_ALG with the implementation of that name. Answered with the result in hexadecimal digits.
    Encipher {
        /// As /proc/crypto has it under `driver`.
        implementation: String,
        /// The key.
        key: Vec<u8>,
        /// The initialisation vector.
        iv: Vec<u8>,
        /// What is enciphered: whole blocks.
        plain: Vec<u8>,
    },
    /// Has each physical function make so many virtual functions, or as many as it can have, and records what sysfs tells of
    /// PCI devices and /proc of ciphers. Answered with the [`Recording`](crate::recording::Recording) as JSON.
    VirtualFunctions {
        /// How many.
        count: u16,
    },
}

/// A disk of a guest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Disk {
    /// The one of that number, counted from 0, among those whose image the coordinator made.
    Number(u32),
    /// The only one without a number: that of a vhost-user device.
    Foreign,
}

/// The pattern of a seed from this byte on: splitmix64 of the number of each 64-bit word (Steele, Lea, Flood: Fast
/// splittable pseudorandom number generators, OOPSLA 2014, figure 17), little-endian.
pub fn pattern(seed: u64, at: u64, into: &mut [u8]) {
    let mut filled = 0;
    while filled < into.len() {
        let offset = at + filled as u64;
        let word = word(seed, offset / 8).to_le_bytes();
        let word = &word[(offset % 8) as usize..];
        let part = word.len().min(into.len() - filled);
        into[filled..filled + part].copy_from_slice(&word[..part]);
        filled += part;
    }
}

fn word(seed: u64, number: u64) -> u64 {
    let word = seed.wrapping_add((number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pattern_is_that_of_the_reference() {
        // The first outputs of splitmix64 with the seed 1234567, as published with its reference code.
        let mut bytes = [0; 16];
        pattern(1_234_567, 0, &mut bytes);
        assert_eq!(bytes[..8], 6_457_827_717_110_365_317_u64.to_le_bytes());
        assert_eq!(bytes[8..], 3_203_168_211_198_807_973_u64.to_le_bytes());
        let mut tail = [0; 5];
        pattern(1_234_567, 11, &mut tail);
        assert_eq!(tail, bytes[11..]);
    }
}
