//! Requests and chains of descriptors, made of any bytes: as they should be, bent in a place or two, or wild.

use tollway_cipher::engine::protocol::{FIXED, NewSession, Request, Status, Work};
use tollway_cipher::engine::suite::{
    Algorithm, CipherMode, Curve, Digest, Direction, Group, Job, RsaPadding, Session,
};
use vm_memory::VolatileSlice;

/// Bytes as choices; zeros when they have run out.
pub struct Choices<'a>(pub &'a [u8]);

impl Choices<'_> {
    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    pub fn below(&mut self, most: usize) -> usize {
        usize::from(u16::from_le_bytes([self.byte(), self.byte()])) % most.max(1)
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    fn long(&mut self) -> u64 {
        u64::from_le_bytes(std::array::from_fn(|_| self.byte()))
    }

    /// One in so many.
    fn seldom(&mut self, one_in: u8) -> bool {
        self.byte() % one_in == one_in - 1
    }
}

/// A session that every attacker has, by the number that the card gives it: its place in the list.
pub struct Known {
    pub algorithm: Algorithm,
    pub key: Vec<u8>,
    /// The same once more, which tells what is right.
    session: Session,
}

/// An `RSAPrivateKey` of 1024 bits, which protects nothing.
const RSA: &[u8] = include_bytes!("rsa-1024.der");

/// The last so many are of private and public keys, whose results are not the same each time or take long.
const KEYS: usize = 7;

/// Sessions of every service.
pub fn known() -> Vec<Known> {
    let [forth, back] = [Direction::Encrypt, Direction::Decrypt];
    let cipher = |mode, way, bytes: u8| (Algorithm::Cipher(mode, way), (0..bytes).collect());
    // The generator of P-256 as a public key, one of its scalars as a private one; some odd number of 1024 bits.
    let point = [
        &[4][..],
        &hex("6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296"),
        &hex("4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5"),
    ]
    .concat();
    let scalar = [&[0x30, 37, 2, 1, 1, 4, 32][..], &[7; 32]].concat();
    let modulus = [&[0x30, 0x81, 0x89, 2, 0x81, 0x81, 0][..], &[0xd5; 128], &[2, 3, 1, 0, 1]].concat();
    let ecdsa = |private| Algorithm::Ecdsa { curve: Curve::P256, private };
    let agreement = |group, key| (Algorithm::Agreement(group), key);
    let all: [(Algorithm, Vec<u8>); 17] = [
        cipher(CipherMode::Cbc, forth, 16),
        cipher(CipherMode::Cbc, back, 32),
        cipher(CipherMode::Ctr, forth, 24),
        cipher(CipherMode::Xts, forth, 32),
        cipher(CipherMode::Xts, back, 64),
        (Algorithm::Gcm(forth), vec![1; 16]),
        (Algorithm::Gcm(back), vec![1; 32]),
        (Algorithm::Hash(Digest::Sha1), Vec::new()),
        (Algorithm::Hash(Digest::Sha512), Vec::new()),
        (Algorithm::Mac { digest: Digest::Sha256, tag: 20 }, vec![3; 40]),
        agreement(Group::X25519, vec![9; 32]),
        agreement(Group::Nist(Curve::P256), scalar.clone()),
        (ecdsa(true), scalar),
        (ecdsa(false), point),
        (Algorithm::Rsa { padding: RsaPadding::Raw, private: false }, modulus.clone()),
        (Algorithm::Rsa { padding: RsaPadding::Pkcs1(Some(Digest::Sha256)), private: false }, modulus),
        (Algorithm::Rsa { padding: RsaPadding::Pkcs1(None), private: true }, RSA.to_vec()),
    ];
    let known = |(algorithm, key): (Algorithm, Vec<u8>)| {
        let session = Session::new(algorithm, &key).expect("a key that fits");
        Known { algorithm, key, session }
    };
    all.map(known).into()
}

fn hex(text: &str) -> Vec<u8> {
    let byte = |at: usize| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).expect("hexadecimal");
    (0..text.len() / 2).map(byte).collect()
}

/// A run of bytes that a chain names.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    pub at: u64,
    pub bytes: u32,
    pub writable: bool,
}

/// What a request must come to.
pub struct Expected {
    pub status: Status,
    /// The result's bytes; the card may write no others.
    pub result: Vec<u8>,
}

/// Where a request's parts are, as the card sees them.
#[derive(Clone, Copy)]
pub struct Places {
    /// The fixed part, the IV after it, and the status.
    pub parts: u64,
    pub status: u64,
    /// What only this request may name, of [`ROOM`] bytes each.
    pub source: u64,
    pub result: u64,
    /// What all wild ones share.
    pub wild: u64,
    pub wild_bytes: usize,
}

/// Bytes of a straight request's source, and of its result.
pub const ROOM: usize = 1024;

/// A request: what stands in its parts and its source, and the chain that names them.
pub struct Made {
    pub parts: Vec<u8>,
    pub source: Vec<u8>,
    pub pieces: Vec<Piece>,
    /// What it must come to, if that is known.
    pub expected: Option<Expected>,
}

/// A request of a data queue that is as it should be.
pub fn straight(known: &[Known], places: &Places, choices: &mut Choices<'_>) -> Made {
    let number = choices.below(known.len() - KEYS);
    let session = &known[number];
    let bytes = 1 + choices.below(480);
    let (work, iv, bytes, associated, result) = match session.algorithm {
        Algorithm::Cipher(mode, way) => {
            let bytes = if mode == CipherMode::Ctr { bytes } else { bytes.next_multiple_of(16) };
            (work(way), 16, bytes, 0, bytes)
        }
        Algorithm::Gcm(Direction::Encrypt) => (Work::Encrypt, 12, bytes, 7, bytes + 16),
        Algorithm::Gcm(Direction::Decrypt) => (Work::Decrypt, 12, bytes + 16, 7, bytes),
        Algorithm::Hash(digest) => (Work::Hash, 0, bytes, 0, digest.bytes()),
        Algorithm::Mac { tag, .. } => (Work::Mac, 0, bytes, 0, tag),
        _ => unreachable!("it is none of these"),
    };
    let seed = choices.byte();
    let text: Vec<u8> =
        (0..bytes + associated).map(|at| (at as u8).wrapping_mul(7).wrapping_add(seed)).collect();
    let request = Request {
        session: number as u64,
        work,
        iv: iv as u32,
        source: bytes as u32,
        associated: associated as u32,
        result: result as u32,
    };
    let iv_bytes = vec![seed; iv];
    let expected = expected(session, work, &iv_bytes, &text, bytes, result);
    let mut pieces = Vec::new();
    let mut cut = |at: u64, bytes: usize, writable: bool, choices: &mut Choices<'_>| {
        let first = if choices.seldom(3) { choices.below(bytes) } else { 0 };
        for (from, to) in [(0, first), (first, bytes)] {
            if to > from {
                pieces.push(Piece { at: at + from as u64, bytes: (to - from) as u32, writable });
            }
        }
    };
    cut(places.parts, FIXED + iv, false, choices);
    cut(places.source, text.len(), false, choices);
    cut(places.result, result, true, choices);
    pieces.push(Piece { at: places.status, bytes: 1, writable: true });
    let parts = [&request.compose(session.algorithm)[..], &iv_bytes].concat();
    Made { parts, source: text, pieces, expected: Some(expected) }
}

fn work(way: Direction) -> Work {
    if way == Direction::Encrypt { Work::Encrypt } else { Work::Decrypt }
}

fn expected(known: &Known, work: Work, iv: &[u8], text: &[u8], bytes: usize, result: usize) -> Expected {
    let (mut text, mut room) = (text.to_vec(), vec![0; result]);
    let (source, associated) = text.split_at_mut(bytes);
    let run = known.session.run(&Job {
        work,
        iv,
        associated: &[VolatileSlice::from(associated)],
        source: &[VolatileSlice::from(source)],
        result: &[VolatileSlice::from(&mut room[..])],
        digest: 0,
    });
    let status = run.err().unwrap_or(Status::Ok);
    if status == Status::BadMessage {
        // Nothing of a text that is not authentic may be left.
        room.fill(0);
    }
    Expected { status, result: room }
}

/// Lengths that are of interest.
const LENGTHS: [u32; 16] =
    [0, 1, 12, 15, 16, 17, 31, 32, 64, 255, 1024, 4096, 65_535, 1 << 20, 1 << 31, u32::MAX];

/// Numbers of sessions: those that there are, those of others, those that never were.
fn session(known: &[Known], choices: &mut Choices<'_>) -> u64 {
    match choices.byte() % 8 {
        0 => choices.long(),
        1 => u64::MAX,
        2 => 1 << 32 | choices.below(16) as u64,
        3 => choices.below(1 << 12) as u64,
        _ => choices.below(known.len()) as u64,
    }
}

/// A request of a data queue of which a thing or two is not as it should be; all of it where other such are, too.
pub fn bent(known: &[Known], places: &Places, choices: &mut Choices<'_>) -> Made {
    let at = |choices: &mut Choices<'_>| places.wild + choices.below(places.wild_bytes - 2 * ROOM) as u64;
    let there = Places { source: at(choices), result: at(choices), ..*places };
    if choices.seldom(4) {
        let made = keyed(known, &there, choices);
        if choices.seldom(2) {
            return made;
        }
        return bend(known, places, made, choices);
    }
    let made = straight(known, &there, choices);
    bend(known, places, made, choices)
}

/// A request of private and public keys whose lengths go together, whatever lies there.
fn keyed(known: &[Known], places: &Places, choices: &mut Choices<'_>) -> Made {
    let number = known.len() - KEYS + choices.below(KEYS);
    let work = choices.of(&[Work::Sign, Work::Verify, Work::Encrypt, Work::Decrypt, Work::Agree]);
    let (bytes, result) =
        (choices.of(&[1u32, 20, 32, 64, 65, 104, 128, 160]), choices.of(&[0u32, 20, 32, 72, 128, 256]));
    let is_verified = work == Work::Verify;
    let request = Request {
        session: number as u64,
        work,
        iv: 0,
        source: if is_verified { bytes.saturating_sub(result).max(1) } else { bytes },
        associated: 0,
        result,
    };
    let piece = |at: u64, bytes: u32, writable: bool| Piece { at, bytes, writable };
    let mut pieces = vec![piece(places.parts, FIXED as u32, false), piece(places.source, 416, false)];
    if !is_verified && result > 0 {
        pieces.push(piece(places.result, result, true));
    }
    pieces.push(piece(places.status, 1, true));
    let parts = request.compose(known[number].algorithm).to_vec();
    Made { parts, source: Vec::new(), pieces, expected: None }
}

/// With a thing or two as it should not be.
fn bend(known: &[Known], places: &Places, mut made: Made, choices: &mut Choices<'_>) -> Made {
    let at = |choices: &mut Choices<'_>| places.wild + choices.below(places.wild_bytes - 2 * ROOM) as u64;
    // Nobody else writes into what is another's alone, and what lies there stays.
    (made.source, made.expected) = (Vec::new(), None);
    for _ in 0..1 + choices.byte() % 3 {
        let (which, pieces) = (choices.below(made.pieces.len()), &mut made.pieces);
        match choices.byte() % 10 {
            0 => made.parts[8..16].copy_from_slice(&session(known, choices).to_le_bytes()),
            1 | 2 => {
                let word = 24 + 4 * choices.below(12);
                made.parts[word..word + 4].copy_from_slice(&choices.of(&LENGTHS).to_le_bytes());
            }
            3 => made.parts[0..4].copy_from_slice(&choices.of(&OPERATIONS).to_le_bytes()),
            4 if pieces.len() > 1 => drop(pieces.remove(which)),
            5 => pieces.insert(which, pieces[which]),
            6 if pieces.len() < 6 => {
                let piece = Piece { at: at(choices), ..pieces[which] };
                (0..1 + choices.byte() % 8).for_each(|_| pieces.insert(which, piece));
            }
            7 => {
                let piece = &mut pieces[which];
                piece.bytes = (piece.bytes / 2).max(1);
            }
            8 => {
                let by = choices.below(40) as u64;
                let piece = &mut pieces[which];
                // No further than the wild place: what comes before it is others'.
                if piece.at >= places.wild {
                    piece.at = (piece.at + by).saturating_sub(20).max(places.wild);
                }
            }
            _ => made.parts[0..4].copy_from_slice(&(choices.long() as u32).to_le_bytes()),
        }
    }
    made
}

/// Operations of data queues: those that there are, and some more.
const OPERATIONS: [u32; 13] =
    [0x000, 0x001, 0x100, 0x200, 0x300, 0x301, 0x400, 0x401, 0x402, 0x403, 0x404, 0x500, 0x1f00];

/// A request of the control queue that asks for the session of that number, or anything else.
pub fn control(known: &[Known], wanted: Option<usize>, places: &Places, choices: &mut Choices<'_>) -> Made {
    let number = wanted.unwrap_or_else(|| choices.below(known.len()));
    let Known { algorithm, key, .. } = &known[number];
    let new = NewSession { algorithm: *algorithm, key: key.len() };
    let mut parts = new.compose().to_vec();
    let (mut answer, mut bytes, mut key) = (16, key.len(), key.clone());
    if wanted.is_none() {
        match choices.byte() % 10 {
            0 => parts[0..4].copy_from_slice(&(0x003 | (choices.byte() as u32 % 6) << 8).to_le_bytes()),
            // A key that says other lengths, or other numbers, than it has.
            7..=9 if !key.is_empty() => {
                let among = if choices.seldom(2) { key.len() } else { key.len().min(12) };
                let which = choices.below(among);
                key[which] ^= choices.byte();
            }
            1 | 2 => {
                let word = 4 * choices.below(18);
                parts[word..word + 4].copy_from_slice(&choices.of(&LENGTHS).to_le_bytes());
            }
            3 => parts[0..4].copy_from_slice(&(choices.long() as u32).to_le_bytes()),
            4 => bytes = choices.below(ROOM),
            5 => answer = 1 + choices.below(20),
            6 => parts[16..24].copy_from_slice(&session(known, choices).to_le_bytes()),
            _ => {}
        }
    }
    let mut source = key;
    source.resize(bytes, choices.byte());
    let mut pieces = vec![Piece { at: places.parts, bytes: FIXED as u32, writable: false }];
    if bytes > 0 {
        pieces.push(Piece { at: places.source, bytes: bytes as u32, writable: false });
    }
    pieces.push(Piece { at: places.result, bytes: answer as u32, writable: true });
    Made { parts, source, pieces, expected: None }
}

/// Bytes of a descriptor.
pub const DESCRIPTOR: usize = 16;

/// A descriptor's bytes.
pub fn descriptor(at: u64, bytes: u32, flags: u16, next: u16) -> [u8; DESCRIPTOR] {
    let rest = u64::from(next) << 48 | u64::from(flags) << 32 | u64::from(bytes);
    (u128::from(rest) << 64 | u128::from(at)).to_le_bytes()
}

/// Breaks one of a chain's descriptors, as no driver would write it.
pub fn broken(descriptor: &mut [u8; DESCRIPTOR], outside: u64, choices: &mut Choices<'_>) {
    let mut put = |at: usize, bytes: &[u8]| descriptor[at..at + bytes.len()].copy_from_slice(bytes);
    match choices.byte() % 8 {
        0 => put(0, &u64::MAX.to_le_bytes()),
        1 => put(0, &outside.to_le_bytes()),
        2 => put(8, &0u32.to_le_bytes()),
        3 => put(8, &u32::MAX.to_le_bytes()),
        4 => put(12, &[choices.byte(), choices.byte()]),
        5 => put(14, &[choices.byte(), choices.byte()]),
        6 => put(12, &[choices.byte() & 7, 0]),
        _ => put(0, &choices.long().to_le_bytes()),
    }
}
