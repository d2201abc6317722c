//! What a device says that it has: its configuration (5.9.4, `struct virtio_crypto_config`), by a message of vhost-user
//! (VHOST_USER_GET_CONFIG: an offset, a length and flags of 32 bits each, and so many bytes).

use super::{AEAD, AGREEMENT, AKCIPHER, CIPHER, HASH, MAC, service};
use crate::engine::suite::{Algorithm, CipherMode};

/// VHOST_USER_GET_CONFIG.
pub const GET_CONFIG: u32 = 24;

/// VHOST_USER_PROTOCOL_F_CONFIG.
pub const CONFIG_FEATURE: u64 = 1 << 9;

/// Bytes of a configuration.
pub const OFFER: usize = 56;

/// Bytes of a message before what it is about.
const HEAD: usize = 12;

/// What a device has. Masks have a bit for each number that VIRTIO gives a service or an algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offer {
    /// Whether it can be used (`VIRTIO_CRYPTO_S_HW_READY`).
    pub ready: bool,
    /// Data queues.
    pub queues: u32,
    /// Services.
    pub services: u32,
    /// Ciphers.
    pub ciphers: u64,
    /// Hashes.
    pub hashes: u32,
    /// Message authentication codes.
    pub codes: u64,
    /// Ciphers that authenticate, too.
    pub aeads: u32,
    /// Algorithms of public keys.
    pub public_keys: u32,
    /// Bytes of a cipher's key at most.
    pub cipher_key: u32,
    /// Bytes of a code's key at most.
    pub code_key: u32,
    /// Bytes of a request at most.
    pub longest: u64,
}

impl Offer {
    /// What the suite has, by so many data queues and in requests of so many bytes.
    pub fn of(queues: u32, longest: u64) -> Offer {
        let bits = |numbers: &[u32]| numbers.iter().fold(0u64, |mask, number| mask | 1 << number);
        Offer {
            ready: true,
            queues,
            services: bits(&[CIPHER, HASH, MAC, AEAD, AKCIPHER, AGREEMENT]) as u32,
            // CBC, CTR, XTS.
            ciphers: bits(&[3, 4, 13]),
            // SHA-1, SHA-224, 256, 384 and 512, and HMAC with each.
            hashes: bits(&[2, 3, 4, 5, 6]) as u32,
            codes: bits(&[2, 3, 4, 5, 6]),
            // GCM.
            aeads: bits(&[1]) as u32,
            // RSA, ECDSA.
            public_keys: bits(&[1, 3]) as u32,
            // XTS with two keys of AES-256.
            cipher_key: 64,
            code_key: service::LONGEST_KEY,
            longest,
        }
    }

    /// Whether it has the service of an algorithm and, where there is a bit for it, the algorithm.
    pub fn has(&self, algorithm: Algorithm) -> bool {
        let is = |service: u32, mask: u64, number: u32| {
            self.services >> service & 1 == 1 && mask >> number & 1 == 1
        };
        match algorithm {
            Algorithm::Cipher(CipherMode::Cbc, _) => is(CIPHER, self.ciphers, 3),
            Algorithm::Cipher(CipherMode::Ctr, _) => is(CIPHER, self.ciphers, 4),
            Algorithm::Cipher(CipherMode::Xts, _) => is(CIPHER, self.ciphers, 13),
            Algorithm::Hash(hash) => is(HASH, self.hashes.into(), service::digest_number(hash)),
            Algorithm::Mac { digest, .. } => is(MAC, self.codes, service::digest_number(digest)),
            Algorithm::Gcm(_) => is(AEAD, self.aeads.into(), 1),
            Algorithm::Rsa { .. } => is(AKCIPHER, self.public_keys.into(), 1),
            Algorithm::Ecdsa { .. } => is(AKCIPHER, self.public_keys.into(), 3),
            Algorithm::Agreement(_) => is(AGREEMENT, 1, 0),
        }
    }

    /// Its bytes.
    pub fn compose(&self) -> [u8; OFFER] {
        let [ciphers, codes] = [self.ciphers, self.codes].map(|mask| [mask as u32, (mask >> 32) as u32]);
        let words = [
            self.ready.into(),
            self.queues,
            self.services,
            ciphers[0],
            ciphers[1],
            self.hashes,
            codes[0],
            codes[1],
            self.aeads,
            self.cipher_key,
            self.code_key,
            self.public_keys,
            self.longest as u32,
            (self.longest >> 32) as u32,
        ];
        let mut bytes = [0; OFFER];
        for (place, word) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(words) {
            *place = word.to_le_bytes();
        }
        bytes
    }

    /// What these bytes say.
    pub fn parse(bytes: &[u8; OFFER]) -> Offer {
        let word = |number: usize| {
            let at = 4 * number;
            u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        let long = |number: usize| u64::from(word(number)) | u64::from(word(number + 1)) << 32;
        Offer {
            ready: word(0) & 1 == 1,
            queues: word(1),
            services: word(2),
            ciphers: long(3),
            hashes: word(5),
            codes: long(6),
            aeads: word(8),
            cipher_key: word(9),
            code_key: word(10),
            public_keys: word(11),
            longest: long(12),
        }
    }

    /// The message that asks for all of it.
    pub fn question() -> [u8; HEAD + OFFER] {
        let mut body = [0; HEAD + OFFER];
        body[4..8].copy_from_slice(&(OFFER as u32).to_ne_bytes());
        body
    }

    /// The answer to a message that asks for some of it; None where it asks for what there is not, which a device tells by a
    /// reply without a body.
    pub fn answer(&self, body: &[u8]) -> Option<Vec<u8>> {
        let (head, _) = body.split_first_chunk::<HEAD>()?;
        let [offset, bytes] = [0, 4]
            .map(|at| u32::from_ne_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]) as usize);
        let all = self.compose();
        let asked = all.get(offset..offset.checked_add(bytes)?).filter(|asked| !asked.is_empty())?;
        Some([&head[..], asked].concat())
    }

    /// What the answer to [`question`](Offer::question) says; None if it is none.
    pub fn of_answer(body: &[u8]) -> Option<Offer> {
        body.get(HEAD..)?.first_chunk().map(Offer::parse)
    }
}
