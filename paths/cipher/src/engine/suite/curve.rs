//! Elliptic curves: ECDSA (FIPS 186-5, 6), ECDH (NIST SP 800-56A, 5.7.1.2) and X25519 (RFC 7748, 5).

use std::ptr::{self, NonNull};

use aws_lc_sys::{
    CBS, CBS_init, EC_GROUP, EC_KEY, EC_KEY_check_key, EC_KEY_free, EC_KEY_new, EC_KEY_parse_private_key,
    EC_KEY_set_group, EC_KEY_set_public_key, EC_POINT, EC_POINT_free, EC_POINT_new, EC_POINT_oct2point,
    EC_group_p256, EC_group_p384, EC_group_p521, ECDH_compute_key, ECDSA_sign, ECDSA_size, ECDSA_verify,
    X25519,
};
use zeroize::Zeroizing;

use super::bytes::put;
use super::digest::LONGEST;
use super::library::{MOST, Piece, check};
use super::{Curve, Group, Job};
use crate::engine::protocol::{Status, Work};

/// A key on a curve, public or private. The library wipes what it frees.
pub(super) struct Key {
    key: NonNull<EC_KEY>,
    curve: Curve,
    private: bool,
}

// SAFETY: the library lets any threads use a key at once that none of them changes (ec_key.h); nobody does after `new`.
unsafe impl Send for Key {}
// SAFETY: as above.
unsafe impl Sync for Key {}

impl Key {
    /// As VIRTIO 1.2, 5.9.7.2.1.6 has it: of a DER-encoded `ECPrivateKey` (RFC 5915), or of a point (SEC 1, 2.3.3).
    ///
    /// # Errors
    /// It is none, or of another curve, or the point is not on the curve.
    pub(super) fn new(curve: Curve, private: bool, bytes: &[u8]) -> Result<Key, Status> {
        let group = group(curve);
        let key = if private {
            let mut rest = CBS { data: ptr::null(), len: 0 };
            // SAFETY: so many bytes are there, and the group is one.
            let (key, more) = unsafe {
                CBS_init(&mut rest, bytes.as_ptr(), bytes.len());
                (EC_KEY_parse_private_key(&mut rest, group), rest.len)
            };
            let key = owned(key)?;
            let key = Key { key, curve, private };
            if more > 0 {
                return Err(Status::Err);
            }
            key
        } else {
            // SAFETY: it takes nothing; what it gives is ours, and freed by `drop`.
            let key = Key { key: owned(unsafe { EC_KEY_new() })?, curve, private };
            let point = Point::new(curve, bytes)?;
            // SAFETY: key, group and point are what they are called; the key copies the point.
            check(unsafe { EC_KEY_set_group(key.key.as_ptr(), group) })?;
            // SAFETY: as above.
            check(unsafe { EC_KEY_set_public_key(key.key.as_ptr(), point.0.as_ptr()) })?;
            key
        };
        // SAFETY: the key is one.
        check(unsafe { EC_KEY_check_key(key.key.as_ptr()) }).map(|()| key)
    }

    /// ECDSA over a digest that the caller has made; a signature is an `ECDSA-Sig-Value` in DER (RFC 3279, 2.2.3).
    pub(super) fn ecdsa(&self, job: &Job<'_, '_>) -> Result<usize, Status> {
        let source = Piece::of(job.source)?;
        match job.work {
            Work::Sign if self.private => {
                let digest = a_digest(source.bytes())?;
                let (mut result, mut len) = (Piece::new(), 0);
                let room = result.room();
                let (to, key) = (room.as_mut_ptr(), self.key.as_ptr());
                // SAFETY: the key is a private one, the digest as long as is said, and no signature longer than the
                // library says, which is looked at first.
                check(unsafe {
                    if ECDSA_size(key) > MOST {
                        return Err(Status::NotSupported);
                    }
                    ECDSA_sign(0, digest.as_ptr(), digest.len(), to, &mut len, key)
                })?;
                put(job.result, &room[..len as usize])
            }
            Work::Verify => {
                let (signature, digest) = source.split(job.digest)?;
                let digest = a_digest(digest)?;
                let (hash, from, key) = (digest.as_ptr(), signature.as_ptr(), self.key.as_ptr());
                // SAFETY: the key is one; digest and signature are as long as is said.
                let done = unsafe { ECDSA_verify(0, hash, digest.len(), from, signature.len(), key) };
                check(done).map(|()| 0).map_err(|_| Status::KeyRejected)
            }
            _ => Err(Status::NotSupported),
        }
    }

    /// What this private key and the public one of a peer have in common, and nobody else knows.
    fn agree(&self, peer: &[u8], secret: &mut [u8; MOST]) -> Result<usize, Status> {
        let point = Point::new(self.curve, peer)?;
        // SAFETY: the key is a private one, the point one of its curve; as many bytes are written as fit into the secret.
        let len = unsafe {
            ECDH_compute_key(secret.as_mut_ptr().cast(), MOST, point.0.as_ptr(), self.key.as_ptr(), None)
        };
        usize::try_from(len).map_err(|_| check(0).err().unwrap_or(Status::Err))
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        // SAFETY: it is ours, and used no more.
        unsafe { EC_KEY_free(self.key.as_ptr()) }
    }
}

/// A private key to agree on a secret with.
pub(super) enum Private {
    /// A scalar, as it came.
    X25519(Box<Zeroizing<[u8; 32]>>),
    Nist(Key),
}

impl Private {
    /// Of 32 bytes; on a curve of NIST, as [`Key::new`] has it.
    ///
    /// # Errors
    /// It is none.
    pub(super) fn new(group: Group, bytes: &[u8]) -> Result<Private, Status> {
        match group {
            Group::X25519 => {
                let mut key = Box::new(Zeroizing::new([0; 32]));
                let place = key.get_mut(..bytes.len()).filter(|place| place.len() == 32);
                place.ok_or(Status::Err)?.copy_from_slice(bytes);
                Ok(Private::X25519(key))
            }
            Group::Nist(curve) => Key::new(curve, true, bytes).map(Private::Nist),
        }
    }

    pub(super) fn run(&self, job: &Job<'_, '_>) -> Result<usize, Status> {
        let (peer, mut result) = (Piece::of(job.source)?, Piece::new());
        let secret = result.room();
        let len = match self {
            Private::X25519(key) => {
                let peer: &[u8; 32] = peer.bytes().try_into().map_err(|_| Status::Err)?;
                // SAFETY: all three have 32 bytes. It refuses a peer that would have the secret be nothing.
                check(unsafe { X25519(secret.as_mut_ptr(), key.as_ptr(), peer.as_ptr()) })?;
                32
            }
            Private::Nist(key) => key.agree(peer.bytes(), secret)?,
        };
        put(job.result, &secret[..len])
    }
}

/// A point of a curve.
struct Point(NonNull<EC_POINT>);

impl Point {
    /// As SEC 1, 2.3.3 encodes it.
    fn new(curve: Curve, bytes: &[u8]) -> Result<Point, Status> {
        let group = group(curve);
        // SAFETY: the group is one; what it gives is ours, and freed by `drop`.
        let point = Point(owned(unsafe { EC_POINT_new(group) })?);
        let (to, from) = (point.0.as_ptr(), bytes.as_ptr());
        // SAFETY: group and point are what they are called, and so many bytes are there. It refuses what is not on the curve.
        check(unsafe { EC_POINT_oct2point(group, to, from, bytes.len(), ptr::null_mut()) }).map(|()| point)
    }
}

impl Drop for Point {
    fn drop(&mut self) {
        // SAFETY: it is ours, and used no more.
        unsafe { EC_POINT_free(self.0.as_ptr()) }
    }
}

fn group(curve: Curve) -> *const EC_GROUP {
    // SAFETY: these take nothing and give constants of the library.
    unsafe {
        match curve {
            Curve::P256 => EC_group_p256(),
            Curve::P384 => EC_group_p384(),
            Curve::P521 => EC_group_p521(),
        }
    }
}

/// What the library made, if it did.
fn owned<T>(made: *mut T) -> Result<NonNull<T>, Status> {
    NonNull::new(made).ok_or_else(|| check(0).err().unwrap_or(Status::Err))
}

/// A digest has some bytes, and no more than the longest.
fn a_digest(bytes: &[u8]) -> Result<&[u8], Status> {
    if (1..=LONGEST).contains(&bytes.len()) { Ok(bytes) } else { Err(Status::Err) }
}
