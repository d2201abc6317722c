//! The other direction: what a tenant writes for a device to read. Held against [`parse`](Control::parse) by the tests.

use zeroize::Zeroizing;

use super::message::{CIPHER_KEY, OWN, PUBLIC_KEY};
use super::service::{NewSession, Status, digest_number};
use super::{AEAD, AGREEMENT, AKCIPHER, CIPHER, FIXED, HASH, MAC, Request, SESSION_ANSWER, TAG, Work};
use crate::engine::suite::{Algorithm, CipherMode, Curve, Digest, Direction, Group, RsaPadding};

/// Bytes of the body of a message for a session (QEMU's `VhostUserCryptoSession`).
const MESSAGE: usize = 1072;

fn put(bytes: &mut [u8], at: usize, word: u32) {
    bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
}

fn number(mode: CipherMode) -> u32 {
    match mode {
        CipherMode::Cbc => 3,
        CipherMode::Ctr => 4,
        CipherMode::Xts => 13,
    }
}

fn direction(direction: Direction) -> u32 {
    match direction {
        Direction::Encrypt => 1,
        Direction::Decrypt => 2,
    }
}

/// Of an algorithm of public keys, or of agreement, its number, whether its key is private, and the two words of its own.
fn public_key(algorithm: Algorithm) -> Option<(u32, bool, [u32; 2])> {
    Some(match algorithm {
        Algorithm::Rsa { padding: RsaPadding::Raw, private } => (1, private, [0, 0]),
        Algorithm::Rsa { padding: RsaPadding::Pkcs1(hash), private } => {
            let hash = match hash {
                None => 0,
                Some(Digest::Sha1) => 5,
                Some(Digest::Sha256) => 6,
                Some(Digest::Sha384) => 7,
                Some(Digest::Sha512) => 8,
                Some(Digest::Sha224) => 9,
            };
            (1, private, [1, hash])
        }
        Algorithm::Ecdsa { curve, private } => (3, private, [self::curve(curve), 0]),
        Algorithm::Agreement(Group::X25519) => (1, true, [0, 0]),
        Algorithm::Agreement(Group::Nist(curve)) => (2, true, [self::curve(curve), 0]),
        Algorithm::Cipher(..) | Algorithm::Hash(_) | Algorithm::Mac { .. } | Algorithm::Gcm(_) => {
            return None;
        }
    })
}

fn curve(curve: Curve) -> u32 {
    match curve {
        Curve::P256 => 3,
        Curve::P384 => 4,
        Curve::P521 => 5,
    }
}

fn service(algorithm: Algorithm) -> u32 {
    match algorithm {
        Algorithm::Cipher(..) => CIPHER,
        Algorithm::Hash(_) => HASH,
        Algorithm::Mac { .. } => MAC,
        Algorithm::Gcm(_) => AEAD,
        Algorithm::Rsa { .. } | Algorithm::Ecdsa { .. } => AKCIPHER,
        Algorithm::Agreement(_) => AGREEMENT,
    }
}

/// Whether sessions of a service are made and ended by other numbers than those of ciphers.
fn numbers_anew(service: u32) -> bool {
    matches!(service, AKCIPHER | AGREEMENT)
}

impl NewSession {
    /// The fixed part of a control request for it; its key follows.
    pub fn compose(&self) -> [u8; FIXED] {
        let mut bytes = [0; FIXED];
        let key = self.key as u32;
        let service = service(self.algorithm);
        put(&mut bytes, 0, service << 8 | if numbers_anew(service) { 4 } else { 2 });
        // After the header of 16 bytes, what belongs to the service.
        let own: &[(usize, u32)] = match self.algorithm {
            Algorithm::Cipher(mode, way) => &[(0, number(mode)), (4, key), (8, direction(way)), (48, 1)],
            Algorithm::Hash(hash) => &[(0, digest_number(hash)), (4, hash.bytes() as u32)],
            Algorithm::Mac { digest: hash, tag } => &[(0, digest_number(hash)), (4, tag as u32), (8, key)],
            Algorithm::Gcm(way) => &[(0, 1), (4, key), (8, TAG as u32), (16, direction(way))],
            Algorithm::Rsa { .. } | Algorithm::Ecdsa { .. } | Algorithm::Agreement(_) => {
                let (number, private, own) = public_key(self.algorithm).unwrap_or_default();
                &[(0, number), (4, 1 + u32::from(private)), (8, key), (12, own[0]), (16, own[1])]
            }
        };
        for (at, word) in own {
            put(&mut bytes, 16 + at, *word);
        }
        // Its algorithm stands in the header, too.
        let algorithm: [u8; 4] = std::array::from_fn(|byte| bytes[16 + byte]);
        bytes[4..8].copy_from_slice(&algorithm);
        bytes
    }

    /// The body of a message for it, as QEMU sends it. None: there are messages for ciphers and public keys alone, with keys of 64
    /// and 1024 bytes at most.
    pub fn message(&self, key: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
        let mut body = Zeroizing::new(vec![0; MESSAGE]);
        let (operation, (from, most)) = match self.algorithm {
            Algorithm::Cipher(mode, way) => {
                put(&mut body, 8, number(mode));
                put(&mut body, 12, key.len() as u32);
                (body[32], body[33]) = (1, direction(way) as u8);
                (0x002u64, CIPHER_KEY)
            }
            Algorithm::Agreement(_) => return None,
            other => {
                let (number, private, own) = public_key(other)?;
                for (at, word) in [
                    (8, number),
                    (12, 1 + u32::from(private)),
                    (16, key.len() as u32),
                    (OWN[0], own[0]),
                    (OWN[1], own[1]),
                ] {
                    put(&mut body, at, word);
                }
                (0x404, PUBLIC_KEY)
            }
        };
        if key.len() > most {
            return None;
        }
        body[..8].copy_from_slice(&operation.to_le_bytes());
        body[from..from + key.len()].copy_from_slice(key);
        Some(body)
    }
}

/// The fixed part of a control request for the end of a session.
pub fn destroy(algorithm: Algorithm, session: u64) -> [u8; FIXED] {
    let mut bytes = [0; FIXED];
    let service = service(algorithm);
    put(&mut bytes, 0, service << 8 | if numbers_anew(service) { 5 } else { 3 });
    bytes[16..24].copy_from_slice(&session.to_le_bytes());
    bytes
}

/// What the answer to a request for a session says: its number, or why there is none.
///
/// # Errors
/// That.
pub fn opened(answer: &[u8; SESSION_ANSWER]) -> Result<u64, Status> {
    let [id, status] =
        [0, 8].map(|at: usize| u64::from_le_bytes(std::array::from_fn(|byte| answer[at + byte])));
    // The status has 32 bits.
    match Status::of(status as u8).filter(|_| status as u32 <= u32::from(u8::MAX)) {
        Some(Status::Ok) => Ok(id),
        status => Err(status.unwrap_or(Status::Err)),
    }
}

impl Status {
    /// The status of a number; None if there is none.
    pub fn of(number: u8) -> Option<Status> {
        let all = [
            Status::Ok,
            Status::Err,
            Status::BadMessage,
            Status::NotSupported,
            Status::InvalidSession,
            Status::NoSpace,
            Status::KeyRejected,
        ];
        all.get(usize::from(number)).copied()
    }
}

impl Request {
    /// The fixed part of it, for a session of that algorithm.
    #[inline]
    pub fn compose(&self, algorithm: Algorithm) -> [u8; FIXED] {
        let mut bytes = [0; FIXED];
        let service = service(algorithm);
        let work = match self.work {
            Work::Encrypt | Work::Hash | Work::Mac | Work::Agree => 0,
            Work::Decrypt => 1,
            Work::Sign => 2,
            Work::Verify => 3,
        };
        put(&mut bytes, 0, service << 8 | work);
        bytes[8..16].copy_from_slice(&self.session.to_le_bytes());
        // After the header of 24 bytes, what belongs to the service.
        let lengths = match service {
            CIPHER => [self.iv, self.source, self.result, 0, 0],
            AEAD => [self.iv, self.associated, self.source, self.result, TAG as u32],
            _ => [self.source, self.result, 0, 0, 0],
        };
        for (number, length) in lengths.into_iter().enumerate() {
            put(&mut bytes, 24 + 4 * number, length);
        }
        if service == CIPHER {
            put(&mut bytes, 64, 1);
        }
        bytes
    }
}
