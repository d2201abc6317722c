//! Packets: of every kind that filters look into, damaged, cut short, random.

use super::random::Random;

/// Ports and addresses that generated programs look for, so that some packets are found.
pub const PORTS: [u16; 10] = [22, 25, 53, 80, 110, 143, 443, 993, 3306, 8080];

fn port(random: &mut Random) -> u16 {
    if random.below(2) == 0 { PORTS[random.below(10) as usize] } else { random.bits() as u16 }
}

fn address(random: &mut Random) -> [u8; 4] {
    if random.below(2) == 0 {
        [10, 0, 0, random.below(16) as u8]
    } else {
        (random.bits() as u32).to_be_bytes()
    }
}

/// A packet's bytes.
pub fn packet(random: &mut Random) -> Vec<u8> {
    let mut bytes = match random.below(16) {
        0 => return Vec::new(),
        1 => {
            let length = random.below(128) as usize;
            (0..length).map(|_| random.bits() as u8).collect()
        }
        _ => ethernet(random),
    };
    // Some bytes are wrong, some are missing.
    if random.below(4) == 0 {
        for _ in 0..=random.below(3) {
            let at = random.below(bytes.len().max(1) as u64) as usize;
            if let Some(byte) = bytes.get_mut(at) {
                *byte = random.bits() as u8;
            }
        }
    }
    if random.below(3) == 0 {
        bytes.truncate(random.below(bytes.len() as u64 + 1) as usize);
    }
    bytes
}

fn ethernet(random: &mut Random) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..12).map(|_| random.bits() as u8).collect();
    if random.below(8) == 0 {
        bytes.fill(0xff);
    }
    for _ in 0..[0, 0, 0, 0, 1, 2][random.below(6) as usize] {
        bytes.extend([0x81, 0x00, 0x00, random.below(8) as u8]);
    }
    match random.below(8) {
        0..=4 => ipv4(random, &mut bytes),
        5 | 6 => ipv6(random, &mut bytes),
        _ => {
            let kind = [0x0806u16, 0x8035, 0x8847, 0x8864, 0x0026, 0xffff][random.below(6) as usize];
            bytes.extend(kind.to_be_bytes());
            bytes.extend([0, 1, 8, 0, 6, 4, 0, 1]);
            bytes.extend((0..20).map(|_| random.bits() as u8));
        }
    }
    if random.below(2) == 0 && bytes.len() < 60 {
        bytes.resize(60, 0);
    }
    bytes
}

fn ipv4(random: &mut Random, bytes: &mut Vec<u8>) {
    bytes.extend([0x08, 0x00]);
    let words = if random.below(6) == 0 { random.below(16) as u8 } else { 5 };
    let fragment = if random.below(8) == 0 { random.bits() as u16 & 0x3fff } else { 0 };
    let protocol = [6, 6, 6, 17, 17, 1, 2, 132, 50][random.below(9) as usize];
    let length = 20 + random.below(1480) as u16;
    bytes.extend([0x40 | words, 0]);
    bytes.extend(length.to_be_bytes());
    bytes.extend([0, 1]);
    bytes.extend(fragment.to_be_bytes());
    bytes.extend([64, protocol, 0, 0]);
    bytes.extend(address(random));
    bytes.extend(address(random));
    bytes.extend((0..4 * usize::from(words.saturating_sub(5))).map(|_| 0));
    transport(random, bytes, protocol);
}

fn ipv6(random: &mut Random, bytes: &mut Vec<u8>) {
    bytes.extend([0x86, 0xdd, 0x60, 0, 0, 0, 0, 40]);
    let protocol = [6, 6, 17, 58, 44, 0][random.below(6) as usize];
    bytes.extend([protocol, 64]);
    bytes.extend([0x20, 0x01, 0x0d, 0xb8]);
    bytes.extend((0..28).map(|_| random.below(4) as u8));
    transport(random, bytes, protocol);
}

fn transport(random: &mut Random, bytes: &mut Vec<u8>, protocol: u8) {
    match protocol {
        6 | 17 | 132 => {
            bytes.extend(port(random).to_be_bytes());
            bytes.extend(port(random).to_be_bytes());
            if protocol == 6 {
                bytes.extend([0, 0, 0, 1, 0, 0, 0, 2, 0x50, random.bits() as u8, 16, 0, 0, 0, 0, 0]);
            } else {
                bytes.extend([0, 8, 0, 0]);
            }
        }
        1 | 58 => bytes.extend([random.below(16) as u8, 0, 0, 0, 0, 1, 0, 1]),
        _ => {}
    }
    let payload = [0, 0, 4, 26, 200][random.below(5) as usize];
    bytes.extend((0..payload).map(|i| i as u8));
}
