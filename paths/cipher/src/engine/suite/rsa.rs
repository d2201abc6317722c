//! RSA (RFC 8017): encryption, decryption, signatures.

use std::ffi::{c_int, c_uint};
use std::ptr::NonNull;

use aws_lc_sys::{
    NID_sha1, NID_sha224, NID_sha256, NID_sha384, NID_sha512, RSA, RSA_NO_PADDING, RSA_PKCS1_PADDING,
    RSA_decrypt, RSA_encrypt, RSA_free, RSA_private_key_from_bytes, RSA_public_key_from_bytes, RSA_sign,
    RSA_sign_raw, RSA_size, RSA_verify, RSA_verify_raw,
};

use super::bytes::put;
use super::library::{MOST, MOST_PRIVATE, Piece, check};
use super::{Digest, Job, RsaPadding};
use crate::engine::protocol::{Status, Work};

/// A key, public or private. The library wipes what it frees.
pub(super) struct Key {
    key: NonNull<RSA>,
    padding: RsaPadding,
    private: bool,
}

// SAFETY: the library lets any threads use a key at once that none of them changes (rsa.h); nobody does after `new`.
unsafe impl Send for Key {}
// SAFETY: as above.
unsafe impl Sync for Key {}

/// A function of the library that makes bytes of bytes with a key.
type Raw = unsafe extern "C" fn(*mut RSA, *mut usize, *mut u8, usize, *const u8, usize, c_int) -> c_int;

impl Key {
    /// Of a DER-encoded `RSAPrivateKey` or `RSAPublicKey` (RFC 8017, A.1), as VIRTIO 1.2, 5.9.7.2.1.6 has it.
    ///
    /// # Errors
    /// It is none, or its numbers do not go together; a private one is of more than 4096 bits.
    pub(super) fn new(padding: RsaPadding, private: bool, der: &[u8]) -> Result<Key, Status> {
        // SAFETY: so many bytes are there.
        let key = unsafe {
            match private {
                true => RSA_private_key_from_bytes(der.as_ptr(), der.len()),
                false => RSA_public_key_from_bytes(der.as_ptr(), der.len()),
            }
        };
        let Some(key) = NonNull::new(key) else { return check(0).and(Err(Status::Err)) };
        let key = Key { key, padding, private };
        let most = if private { MOST_PRIVATE } else { MOST };
        if key.size() <= most { Ok(key) } else { Err(Status::NotSupported) }
    }

    /// Bytes of the modulus.
    fn size(&self) -> usize {
        // SAFETY: the key is one.
        unsafe { RSA_size(self.key.as_ptr()) as usize }
    }

    pub(super) fn run(&self, job: &Job<'_, '_>) -> Result<usize, Status> {
        let source = Piece::of(job.source)?;
        match (job.work, self.padding) {
            // Shorter numbers have zeros before them.
            (Work::Encrypt, RsaPadding::Raw) => {
                self.raw(RSA_encrypt, &source.padded(self.size())?, RSA_NO_PADDING, job)
            }
            (Work::Encrypt, RsaPadding::Pkcs1(_)) => self.raw(RSA_encrypt, &source, RSA_PKCS1_PADDING, job),
            (Work::Verify, RsaPadding::Pkcs1(digest)) => {
                let (signature, hashed) = source.split(job.digest)?;
                self.verify(digest, signature, hashed)
            }
            (Work::Decrypt, RsaPadding::Raw) if self.private => {
                self.raw(RSA_decrypt, &source.padded(self.size())?, RSA_NO_PADDING, job)
            }
            (Work::Decrypt, RsaPadding::Pkcs1(_)) if self.private => {
                self.raw(RSA_decrypt, &source, RSA_PKCS1_PADDING, job)
            }
            (Work::Sign, RsaPadding::Pkcs1(None)) if self.private => {
                self.raw(RSA_sign_raw, &source, RSA_PKCS1_PADDING, job)
            }
            (Work::Sign, RsaPadding::Pkcs1(Some(digest))) if self.private => {
                self.sign(digest, source.bytes(), job)
            }
            _ => Err(Status::NotSupported),
        }
    }

    fn raw(&self, work: Raw, source: &Piece, padding: c_int, job: &Job<'_, '_>) -> Result<usize, Status> {
        let (source, mut result, mut len) = (source.bytes(), Piece::new(), 0);
        let room = result.room();
        // SAFETY: the key is one, of the kind that the work asks for; source and room are as long as is said; no result is
        // longer than the modulus, and that not longer than the room, which the library is told besides.
        check(unsafe {
            work(self.key.as_ptr(), &mut len, room.as_mut_ptr(), MOST, source.as_ptr(), source.len(), padding)
        })?;
        put(job.result, &room[..len])
    }

    fn sign(&self, digest: Digest, hashed: &[u8], job: &Job<'_, '_>) -> Result<usize, Status> {
        if hashed.len() != digest.bytes() {
            return Err(Status::Err);
        }
        let (mut result, mut len): (_, c_uint) = (Piece::new(), 0);
        let room = result.room();
        // SAFETY: the key is a private one; the digest is as long as is said; a signature is as long as the modulus, and that
        // not longer than the room.
        check(unsafe {
            RSA_sign(
                number(digest),
                hashed.as_ptr(),
                hashed.len(),
                room.as_mut_ptr(),
                &mut len,
                self.key.as_ptr(),
            )
        })?;
        put(job.result, &room[..len as usize])
    }

    fn verify(&self, digest: Option<Digest>, signature: &[u8], hashed: &[u8]) -> Result<usize, Status> {
        let key = self.key.as_ptr();
        let is = if let Some(digest) = digest {
            if hashed.len() != digest.bytes() {
                return Err(Status::Err);
            }
            let (number, hash, len) = (number(digest), hashed.as_ptr(), hashed.len());
            // SAFETY: the key is one; digest and signature are as long as is said.
            check(unsafe { RSA_verify(number, hash, len, signature.as_ptr(), signature.len(), key) }).is_ok()
        } else {
            let (mut signed, mut len) = (Piece::new(), 0);
            let room = signed.room();
            let (from, bytes) = (signature.as_ptr(), signature.len());
            // SAFETY: as above; what was signed is shorter than the modulus, and that not longer than the room.
            let done = unsafe {
                RSA_verify_raw(key, &mut len, room.as_mut_ptr(), MOST, from, bytes, RSA_PKCS1_PADDING)
            };
            check(done).is_ok() && room[..len] == *hashed
        };
        if is { Ok(0) } else { Err(Status::KeyRejected) }
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        // SAFETY: it is ours, and used no more.
        unsafe { RSA_free(self.key.as_ptr()) }
    }
}

fn number(digest: Digest) -> c_int {
    match digest {
        Digest::Sha1 => NID_sha1,
        Digest::Sha224 => NID_sha224,
        Digest::Sha256 => NID_sha256,
        Digest::Sha384 => NID_sha384,
        Digest::Sha512 => NID_sha512,
    }
}
