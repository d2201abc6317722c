//! What sessions are asked for by, and how requests end.

use crate::engine::suite::{Algorithm, CipherMode, Curve, Digest, Direction, Group, RsaPadding};

/// How a request ended (5.9.7.1, `VIRTIO_CRYPTO_*`): the byte, or the number, that the driver reads.
///
/// The rule: an algorithm, with the tag that it is to have, or an operation that the device has not is
/// [`NotSupported`](Status::NotSupported). All else that cannot be done as it was asked for (lengths of keys, IVs and texts,
/// overlaps, more bytes or pieces than are taken) is [`Err`](Status::Err). [`BadMessage`](Status::BadMessage) says of a text that
/// was decrypted that it is not authentic, and nothing else: so a driver can tell a forgery from a mistake of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[repr(u8)]
pub enum Status {
    /// It was done.
    #[error("it was done")]
    Ok = 0,
    /// It cannot be done as it was asked for.
    #[error("it cannot be done as it was asked for")]
    Err = 1,
    /// The tag of what was decrypted is wrong.
    #[error("a tag is wrong")]
    BadMessage = 2,
    /// The device does not do this.
    #[error("the device does not do this")]
    NotSupported = 3,
    /// There is no such session.
    #[error("there is no such session")]
    InvalidSession = 4,
    /// There is no room for another session.
    #[error("there is no room for another session")]
    NoSpace = 5,
    /// A signature was held against a key that it was not made with (`VIRTIO_CRYPTO_KEY_REJECTED`).
    #[error("a signature was not made with that key")]
    KeyRejected = 6,
}

/// A session that somebody wants; its key is elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewSession {
    /// What it is to do.
    pub algorithm: Algorithm,
    /// Bytes of its key.
    pub key: usize,
}

/// The longest key that is taken, in bytes: an RSA private key of 8192 bits in PKCS #1 has some 4650.
pub(super) const LONGEST_KEY: u32 = 6144;

/// The cipher of a number (`VIRTIO_CRYPTO_CIPHER_*`), in a direction (`VIRTIO_CRYPTO_OP_*`), with a key as long.
pub(super) fn cipher(algorithm: u32, direction: u32, key: u32) -> Result<NewSession, Status> {
    let mode = match algorithm {
        3 => CipherMode::Cbc,
        4 => CipherMode::Ctr,
        13 => CipherMode::Xts,
        _ => return Err(Status::NotSupported),
    };
    session(Algorithm::Cipher(mode, self::direction(direction)?), key)
}

pub(super) fn direction(number: u32) -> Result<Direction, Status> {
    match number {
        1 => Ok(Direction::Encrypt),
        2 => Ok(Direction::Decrypt),
        _ => Err(Status::Err),
    }
}

/// The hash of a number: `VIRTIO_CRYPTO_HASH_*` and `VIRTIO_CRYPTO_MAC_HMAC_*` number them alike.
pub(super) fn digest(number: u32) -> Result<Digest, Status> {
    Ok(match number {
        2 => Digest::Sha1,
        3 => Digest::Sha224,
        4 => Digest::Sha256,
        5 => Digest::Sha384,
        6 => Digest::Sha512,
        _ => return Err(Status::NotSupported),
    })
}

/// The number of a hash.
pub(super) fn digest_number(digest: Digest) -> u32 {
    match digest {
        Digest::Sha1 => 2,
        Digest::Sha224 => 3,
        Digest::Sha256 => 4,
        Digest::Sha384 => 5,
        Digest::Sha512 => 6,
    }
}

/// The public-key algorithm of a number (`VIRTIO_CRYPTO_AKCIPHER_*`) with the two words of its own parameters.
pub(super) fn public_key(algorithm: u32, kind: u32, key: u32, own: [u32; 2]) -> Result<NewSession, Status> {
    let private = match kind {
        1 => false,
        2 => true,
        _ => return Err(Status::Err),
    };
    let algorithm = match (algorithm, own) {
        (1, [0, _]) => Algorithm::Rsa { padding: RsaPadding::Raw, private },
        (1, [1, hash]) => Algorithm::Rsa { padding: RsaPadding::Pkcs1(rsa_digest(hash)?), private },
        (3, [curve, _]) => Algorithm::Ecdsa { curve: self::curve(curve)?, private },
        _ => return Err(Status::NotSupported),
    };
    session(algorithm, key)
}

/// The agreement of a number, which only this device has.
pub(super) fn agreement(algorithm: u32, kind: u32, key: u32, curve: u32) -> Result<NewSession, Status> {
    let group = match algorithm {
        1 => Group::X25519,
        2 => Group::Nist(self::curve(curve)?),
        _ => return Err(Status::NotSupported),
    };
    if kind != 2 {
        return Err(Status::Err);
    }
    session(Algorithm::Agreement(group), key)
}

/// `VIRTIO_CRYPTO_CURVE_NIST_*`.
fn curve(number: u32) -> Result<Curve, Status> {
    Ok(match number {
        3 => Curve::P256,
        4 => Curve::P384,
        5 => Curve::P521,
        _ => return Err(Status::NotSupported),
    })
}

/// `VIRTIO_CRYPTO_RSA_*` hashes; none at 0.
fn rsa_digest(number: u32) -> Result<Option<Digest>, Status> {
    Ok(Some(match number {
        0 => return Ok(None),
        5 => Digest::Sha1,
        6 => Digest::Sha256,
        7 => Digest::Sha384,
        8 => Digest::Sha512,
        9 => Digest::Sha224,
        _ => return Err(Status::NotSupported),
    }))
}

pub(super) fn session(algorithm: Algorithm, key: u32) -> Result<NewSession, Status> {
    if key > LONGEST_KEY {
        return Err(Status::Err);
    }
    Ok(NewSession { algorithm, key: key as usize })
}
