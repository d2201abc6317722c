//! Capture files made byte by byte, by the documents and not by our writer.

/// Numbers in one byte order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Little,
    Big,
}

pub const NATIVE: Order = if cfg!(target_endian = "little") { Order::Little } else { Order::Big };
pub const OTHER: Order = if cfg!(target_endian = "little") { Order::Big } else { Order::Little };

impl Order {
    pub fn u16(self, n: u16) -> [u8; 2] {
        if self == Order::Little { n.to_le_bytes() } else { n.to_be_bytes() }
    }

    pub fn u32(self, n: u32) -> [u8; 4] {
        if self == Order::Little { n.to_le_bytes() } else { n.to_be_bytes() }
    }

    pub fn u64(self, n: u64) -> [u8; 8] {
        if self == Order::Little { n.to_le_bytes() } else { n.to_be_bytes() }
    }

    pub fn words(self, words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|w| self.u32(*w)).collect()
    }
}

/// A packet: seconds, fraction in the file's unit, bytes, length on the wire.
pub type Made = (u32, u32, Vec<u8>, u32);

pub const MICROS: u32 = 0xa1b2_c3d4;
pub const NANOS: u32 = 0xa1b2_3c4d;
pub const KUZNETZOV: u32 = 0xa1b2_cd34;

/// The header of a pcap file.
#[derive(Clone, Copy, Debug)]
pub struct Pcap {
    pub order: Order,
    pub magic: u32,
    pub version: (u16, u16),
    pub snapshot: u32,
    pub link: u32,
}

pub const PCAP: Pcap = Pcap { order: NATIVE, magic: MICROS, version: (2, 4), snapshot: 65535, link: 1 };

impl Pcap {
    pub fn header(&self) -> Vec<u8> {
        let o = self.order;
        let mut bytes = o.u32(self.magic).to_vec();
        bytes.extend(o.u16(self.version.0));
        bytes.extend(o.u16(self.version.1));
        bytes.extend(o.words(&[0, 0, self.snapshot, self.link]));
        bytes
    }

    pub fn packet(&self, (seconds, fraction, bytes, wire): &Made) -> Vec<u8> {
        let kept = bytes.len() as u32;
        let wire_first = self.version == (543, 0) || self.version.1 < 3;
        let lengths = if wire_first { [*wire, kept] } else { [kept, *wire] };
        let mut record = self.order.words(&[*seconds, *fraction, lengths[0], lengths[1]]);
        if self.magic == KUZNETZOV {
            record.extend([1, 0, 0, 0, 8, 0, 0, 0]);
        }
        record.extend(bytes);
        record
    }

    pub fn file(&self, packets: &[Made]) -> Vec<u8> {
        let mut file = self.header();
        packets.iter().for_each(|p| file.extend(self.packet(p)));
        file
    }
}

/// Bytes with what fills them up to a multiple of four.
pub fn padded(bytes: &[u8]) -> Vec<u8> {
    let mut padded = bytes.to_vec();
    padded.resize(bytes.len().next_multiple_of(4), 0);
    padded
}

pub fn block(order: Order, kind: u32, body: &[u8]) -> Vec<u8> {
    let body = padded(body);
    let length = order.u32(body.len() as u32 + 12);
    [&order.u32(kind)[..], &length, &body, &length].concat()
}

pub fn option(order: Order, code: u16, value: &[u8]) -> Vec<u8> {
    [&order.u16(code)[..], &order.u16(value.len() as u16), &padded(value)].concat()
}

pub fn section(order: Order) -> Vec<u8> {
    let mut body = order.u32(0x1a2b_3c4d).to_vec();
    body.extend(order.u16(1));
    body.extend(order.u16(0));
    body.extend([0xff; 8]);
    block(order, 0x0a0d_0d0a, &body)
}

pub fn interface(order: Order, link: u16, snapshot: u32, options: &[u8]) -> Vec<u8> {
    let body = [&order.u16(link)[..], &[0, 0], &order.u32(snapshot), options].concat();
    block(order, 1, &body)
}

pub fn packet(order: Order, interface: u32, ticks: u64, bytes: &[u8], wire: u32, options: &[u8]) -> Vec<u8> {
    let head = order.words(&[interface, (ticks >> 32) as u32, ticks as u32, bytes.len() as u32, wire]);
    block(order, 6, &[&head[..], &padded(bytes), options].concat())
}

pub fn old_packet(order: Order, interface: u16, ticks: u64, bytes: &[u8], wire: u32) -> Vec<u8> {
    let head = order.words(&[(ticks >> 32) as u32, ticks as u32, bytes.len() as u32, wire]);
    block(order, 2, &[&order.u16(interface)[..], &order.u16(0), &head, &padded(bytes)].concat())
}

pub fn simple_packet(order: Order, bytes: &[u8], wire: u32) -> Vec<u8> {
    block(order, 3, &[&order.u32(wire)[..], &padded(bytes)].concat())
}

pub fn statistics(order: Order, interface: u32, counts: &[(u16, u64)]) -> Vec<u8> {
    let mut body = order.words(&[interface, 0, 0]);
    counts.iter().for_each(|(code, n)| body.extend(option(order, *code, &order.u64(*n))));
    block(order, 5, &body)
}

/// A few packets with the lengths that matter: none, one byte, one short of a word, a whole frame, a cut one.
pub fn packets() -> Vec<Made> {
    let bytes = |length: usize, seed: u8| (0..length).map(|i| (i as u8).wrapping_mul(31) ^ seed).collect();
    vec![
        (1_700_000_000, 123_456, bytes(60, 1), 60),
        (1_700_000_001, 999_999, bytes(33, 2), 1514),
        (0, 0, vec![], 0),
        (5, 1, vec![], 70),
        (u32::MAX, 7, bytes(1, 3), 1),
        (1_700_000_002, 0, bytes(1514, 4), 1514),
    ]
}
