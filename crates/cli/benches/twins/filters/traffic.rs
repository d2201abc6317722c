//! Packets for filters: one again and again, and many that no branch predictor knows by heart.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// Every frame is that long: the shortest Ethernet frame without its check sequence.
const LENGTH: usize = 60;
/// From one frame to the next, in bytes.
const STRIDE: usize = 64;

/// Frames in a part of the traffic.
const PART: usize = 8192;
const PARTS: usize = 8;

/// Frames one after the other.
pub struct Traffic {
    bytes: Vec<u8>,
}

impl Traffic {
    /// One TCP segment, again and again.
    pub fn hot(from: [u8; 4], to: [u8; 4], ports: [u16; 2]) -> Self {
        Traffic { bytes: frame(from, to, ports, 0x0800, 6) }
    }

    /// Different frames: of ten, eight IPv4, one IPv6 and one ARP; of ten in IPv4, six TCP, three UDP and one ICMP;
    /// addresses and ports are of the lists half of the time.
    pub fn random(addresses: &[[u8; 4]], ports: &[u16], seed: u64) -> Self {
        let mut rng = StdRng::seed_from_u64(seed);
        let mut bytes = Vec::new();
        for _ in 0..PARTS * PART {
            let mut address = |listed: &[[u8; 4]]| match rng.random::<bool>() {
                true => listed[rng.random_range(0..listed.len())],
                false => rng.random(),
            };
            let (from, to) = (address(addresses), address(addresses));
            let mut port = |listed: &[u16]| match rng.random::<bool>() {
                true => listed[rng.random_range(0..listed.len())],
                false => rng.random(),
            };
            let ports = [port(ports), port(ports)];
            let kind = [0x0800, 0x86dd, 0x0806][[0, 0, 0, 0, 0, 0, 0, 0, 1, 2][rng.random_range(0..10)]];
            let protocol = [6, 6, 6, 6, 6, 6, 17, 17, 17, 1][rng.random_range(0..10)];
            bytes.extend(frame(from, to, ports, kind, protocol));
        }
        Traffic { bytes }
    }

    /// The parts; of a hot packet, the same again.
    pub fn parts(&self) -> impl Iterator<Item = &[u8]> {
        let parts = self.bytes.chunks(PART * STRIDE).cycle();
        parts.take(PARTS)
    }

    /// The frames of a part.
    pub fn frames(part: &[u8]) -> impl ExactSizeIterator<Item = &[u8]> {
        // One frame stands for as many as a part has.
        let (frames, times) = (part.len() / STRIDE, PART);
        let mask = frames.next_power_of_two() - 1;
        (0..times).map(move |at| &part[(at & mask) * STRIDE..][..LENGTH])
    }
}

fn frame(from: [u8; 4], to: [u8; 4], ports: [u16; 2], kind: u16, protocol: u8) -> Vec<u8> {
    let mut bytes = vec![0; STRIDE];
    bytes[..12].copy_from_slice(&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2]);
    bytes[12..14].copy_from_slice(&kind.to_be_bytes());
    if kind == 0x86dd {
        bytes[14] = 0x60;
        bytes[20] = protocol;
        bytes[54..56].copy_from_slice(&ports[0].to_be_bytes());
        bytes[56..58].copy_from_slice(&ports[1].to_be_bytes());
        return bytes;
    }
    bytes[14] = 0x45;
    bytes[17] = 46;
    bytes[22] = 64;
    bytes[23] = protocol;
    bytes[26..30].copy_from_slice(&from);
    bytes[30..34].copy_from_slice(&to);
    bytes[34..36].copy_from_slice(&ports[0].to_be_bytes());
    bytes[36..38].copy_from_slice(&ports[1].to_be_bytes());
    bytes
}
