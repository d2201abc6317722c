//! Hashes (FIPS 180-4) and HMAC over them (RFC 2104).

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr;

use aws_lc_sys::{
    EVP_MD, EVP_sha1, EVP_sha224, EVP_sha256, EVP_sha384, EVP_sha512, HMAC_CTX, HMAC_CTX_cleanse,
    HMAC_CTX_copy_ex, HMAC_CTX_init, HMAC_Final, HMAC_Init_ex, HMAC_Update, OPENSSL_cleanse, SHA1_Final,
    SHA1_Init, SHA1_Update, SHA224_Final, SHA224_Init, SHA224_Update, SHA256_Final, SHA256_Init,
    SHA256_Update, SHA384_Final, SHA384_Init, SHA384_Update, SHA512_Final, SHA512_Init, SHA512_Update,
};
use vm_memory::VolatileSlice;

use super::Digest;
use crate::engine::protocol::Status;

/// The longest digest, in bytes.
pub(super) const LONGEST: usize = 64;

type Init<C> = unsafe extern "C" fn(*mut C) -> c_int;
type Update<C> = unsafe extern "C" fn(*mut C, *const c_void, usize) -> c_int;
type Final<C> = unsafe extern "C" fn(*mut u8, *mut C) -> c_int;

/// The hash of bytes, at the beginning of what is given.
pub(super) fn hash(digest: Digest, source: &[VolatileSlice<'_>]) -> [u8; LONGEST] {
    match digest {
        Digest::Sha1 => hashed(SHA1_Init, SHA1_Update, SHA1_Final, source),
        Digest::Sha224 => hashed(SHA224_Init, SHA224_Update, SHA224_Final, source),
        Digest::Sha256 => hashed(SHA256_Init, SHA256_Update, SHA256_Final, source),
        Digest::Sha384 => hashed(SHA384_Init, SHA384_Update, SHA384_Final, source),
        Digest::Sha512 => hashed(SHA512_Init, SHA512_Update, SHA512_Final, source),
    }
}

fn hashed<C>(
    init: Init<C>,
    update: Update<C>,
    finish: Final<C>,
    source: &[VolatileSlice<'_>],
) -> [u8; LONGEST] {
    let mut place = MaybeUninit::<C>::uninit();
    let state = place.as_mut_ptr();
    let mut out = [0; LONGEST];
    // SAFETY: the three belong together, and C is their state, which `init` makes; a slice is valid memory while it is
    // borrowed; no digest is longer than `out`. None of them fails. At the end the state, which may hold bytes of the
    // source, is wiped: any bytes are a MaybeUninit.
    unsafe {
        init(state);
        for slice in source {
            update(state, slice.ptr_guard().as_ptr().cast(), slice.len());
        }
        finish(out.as_mut_ptr(), state);
        OPENSSL_cleanse(state.cast(), size_of::<C>());
    }
    out
}

/// A key of HMAC, hashed already. It stays where it is, and is wiped there.
pub(super) struct Key(Box<MaybeUninit<HMAC_CTX>>);

// SAFETY: after `new` the library's state is only read, and it points to nothing but constants.
unsafe impl Send for Key {}
// SAFETY: as above.
unsafe impl Sync for Key {}

impl Key {
    /// Of any length.
    ///
    /// # Errors
    /// The library refuses.
    pub(super) fn new(digest: Digest, key: &[u8]) -> Result<Key, Status> {
        let mut place = Box::new(MaybeUninit::uninit());
        // SAFETY: `HMAC_CTX_init` makes a context of any bytes; the key is as long as is said.
        let done = unsafe {
            HMAC_CTX_init(place.as_mut_ptr());
            HMAC_Init_ex(place.as_mut_ptr(), key.as_ptr().cast(), key.len(), method(digest), ptr::null_mut())
        };
        let key = Key(place);
        if done == 1 { Ok(key) } else { Err(Status::Err) }
    }

    /// The code of bytes, at the beginning of what is given.
    ///
    /// # Errors
    /// The library refuses.
    pub(super) fn code(&self, source: &[VolatileSlice<'_>]) -> Result<[u8; LONGEST], Status> {
        let mut place = MaybeUninit::uninit();
        let copy = place.as_mut_ptr();
        let mut out = [0; LONGEST];
        let mut done = 1;
        // SAFETY: the key's context was initialised by `new`; copying makes another of any bytes. A slice is valid memory
        // while it is borrowed; no code is longer than `out`.
        unsafe {
            done &= HMAC_CTX_copy_ex(copy, self.0.as_ptr());
            for slice in source {
                done &= HMAC_Update(copy, slice.ptr_guard().as_ptr(), slice.len());
            }
            done &= HMAC_Final(copy, out.as_mut_ptr(), ptr::null_mut());
            HMAC_CTX_cleanse(copy);
        }
        if done == 1 { Ok(out) } else { Err(Status::Err) }
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        // SAFETY: `HMAC_CTX_init` has made it a context, which is used no more.
        unsafe { HMAC_CTX_cleanse(self.0.as_mut_ptr()) }
    }
}

fn method(digest: Digest) -> *const EVP_MD {
    // SAFETY: these take nothing and give constants of the library.
    unsafe {
        match digest {
            Digest::Sha1 => EVP_sha1(),
            Digest::Sha224 => EVP_sha224(),
            Digest::Sha256 => EVP_sha256(),
            Digest::Sha384 => EVP_sha384(),
            Digest::Sha512 => EVP_sha512(),
        }
    }
}
