//! AES in Galois/Counter mode (NIST SP 800-38D), where the bytes lie.

use std::cell::UnsafeCell;
use std::ffi::c_int;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, Ordering};

use aws_lc_sys::{
    EVP_CIPHER_CTX, EVP_CIPHER_CTX_copy, EVP_CIPHER_CTX_ctrl, EVP_CIPHER_CTX_free, EVP_CIPHER_CTX_new,
    EVP_CTRL_AEAD_GET_TAG, EVP_CTRL_AEAD_SET_TAG, EVP_CipherFinal_ex, EVP_CipherInit_ex, EVP_CipherUpdate,
    EVP_aes_128_gcm, EVP_aes_192_gcm, EVP_aes_256_gcm,
};
use vm_memory::VolatileSlice;

use super::Direction;
use super::bytes::{Cursor, Pair, total};
use super::library::check;
use crate::engine::protocol::Status;

/// Bytes of a tag.
pub(super) const TAG: usize = 16;

/// Bytes of an IV.
pub(super) const IV: usize = 12;

/// The most bytes of one call of the library, which counts them in an `int`.
const MOST: usize = 1 << 30;

/// A key in one direction.
pub(super) struct Gcm {
    direction: Direction,
    /// Never worked with, only copied.
    template: Context,
    /// Worked with by whoever has taken it.
    spare: UnsafeCell<Context>,
    taken: AtomicBool,
}

// SAFETY: `template` is only read, and `spare` only used by the one thread that has set `taken`.
unsafe impl Sync for Gcm {}

/// Gives `taken` back.
struct Taken<'g>(&'g AtomicBool);

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

impl Gcm {
    /// With a key of 16, 24 or 32 bytes.
    ///
    /// # Errors
    /// It has another length, or there is no memory.
    pub(super) fn new(key: &[u8], direction: Direction) -> Result<Gcm, Status> {
        let template = Context::new(key, direction)?;
        let spare = UnsafeCell::new(template.copy()?);
        Ok(Gcm { direction, template, spare, taken: AtomicBool::new(false) })
    }

    /// Encrypts, and writes the tag after the cipher text; or decrypts what the tag follows. How many bytes were written.
    ///
    /// # Errors
    /// [`Status::BadMessage`] for a wrong tag: then the result is wiped. Until then, whoever can look into its memory sees
    /// what is decrypted.
    pub(super) fn run(
        &self,
        iv: &[u8; IV],
        associated: &[VolatileSlice<'_>],
        source: &[VolatileSlice<'_>],
        result: &[VolatileSlice<'_>],
    ) -> Result<usize, Status> {
        if self.taken.swap(true, Ordering::Acquire) {
            // Another thread works with this key.
            return self.work(&mut self.template.copy()?, iv, associated, source, result);
        }
        let _taken = Taken(&self.taken);
        // SAFETY: we have set `taken`, so that nobody else uses it until `_taken` is dropped.
        let spare = unsafe { &mut *self.spare.get() };
        self.work(spare, iv, associated, source, result)
    }

    fn work(
        &self,
        context: &mut Context,
        iv: &[u8; IV],
        associated: &[VolatileSlice<'_>],
        source: &[VolatileSlice<'_>],
        result: &[VolatileSlice<'_>],
    ) -> Result<usize, Status> {
        let len = match self.direction {
            Direction::Encrypt => total(source),
            Direction::Decrypt => total(source).checked_sub(TAG).ok_or(Status::Err)?,
        };
        let pair = Pair::new(source, result, len)?;
        let mut tag = [0; TAG];
        match self.direction {
            Direction::Encrypt => {
                let mut after = Cursor::new(result);
                after.skip(len);
                if total(result) - len < TAG {
                    return Err(Status::Err);
                }
                context.begin(iv)?;
                context.texts(associated, &pair)?;
                context.tag(&mut tag)?;
                after.write(&tag);
                Ok(len + TAG)
            }
            Direction::Decrypt => {
                let mut after = Cursor::new(source);
                after.skip(len);
                after.read(&mut tag);
                context.begin(iv)?;
                let right = context.texts(associated, &pair).and_then(|()| context.is(&mut tag));
                if right.is_err() {
                    pair.wipe();
                }
                right.map(|()| len)
            }
        }
    }
}

/// A context of the library: key, IV, and how far it is.
struct Context(NonNull<EVP_CIPHER_CTX>);

// SAFETY: a context belongs to no thread; the library asks only that two do not use one at once.
unsafe impl Send for Context {}

impl Context {
    fn new(key: &[u8], direction: Direction) -> Result<Context, Status> {
        // SAFETY: these take nothing and give constants of the library.
        let cipher = unsafe {
            match key.len() {
                16 => EVP_aes_128_gcm(),
                24 => EVP_aes_192_gcm(),
                32 => EVP_aes_256_gcm(),
                _ => return Err(Status::Err),
            }
        };
        let context = Context::empty()?;
        let encrypt = c_int::from(direction == Direction::Encrypt);
        // SAFETY: the context is new, the key as long as the cipher's is, and without an IV none is read.
        let done = unsafe {
            EVP_CipherInit_ex(context.0.as_ptr(), cipher, ptr::null_mut(), key.as_ptr(), ptr::null(), encrypt)
        };
        check(done).map(|()| context)
    }

    fn empty() -> Result<Context, Status> {
        // SAFETY: it takes nothing; what it gives is ours, and freed by `drop`.
        NonNull::new(unsafe { EVP_CIPHER_CTX_new() }).map(Context).ok_or(Status::Err)
    }

    fn copy(&self) -> Result<Context, Status> {
        let copy = Context::empty()?;
        // SAFETY: both are contexts; ours has a cipher, and is only read.
        check(unsafe { EVP_CIPHER_CTX_copy(copy.0.as_ptr(), self.0.as_ptr()) }).map(|()| copy)
    }

    /// Another message.
    fn begin(&mut self, iv: &[u8; IV]) -> Result<(), Status> {
        // SAFETY: the context has cipher and key, which stay; an IV of GCM has 12 bytes unless another length was set.
        check(unsafe {
            EVP_CipherInit_ex(self.0.as_ptr(), ptr::null(), ptr::null_mut(), ptr::null(), iv.as_ptr(), -1)
        })
    }

    /// What is only authenticated, then what is encrypted or decrypted, too.
    fn texts(&mut self, associated: &[VolatileSlice<'_>], pair: &Pair<'_, '_>) -> Result<(), Status> {
        let mut done = 1;
        for slice in associated {
            done &= self.update(slice.ptr_guard().as_ptr(), ptr::null_mut(), slice.len());
        }
        pair.each(|here, there, len| done &= self.update(here, there, len));
        check(done)
    }

    /// `here` and `there` must be valid for so many bytes, and the same or apart; what is only authenticated goes nowhere.
    fn update(&mut self, here: *const u8, there: *mut u8, len: usize) -> c_int {
        let (mut done, mut at) = (1, 0);
        while at < len {
            let now = (len - at).min(MOST);
            let to = if there.is_null() { there } else { there.wrapping_add(at) };
            let mut written = 0;
            // SAFETY: as this function asks for; GCM writes as many bytes as it reads.
            done &= unsafe {
                EVP_CipherUpdate(self.0.as_ptr(), to, &mut written, here.wrapping_add(at), now as c_int)
            };
            at += now;
        }
        done
    }

    /// The end of an encryption.
    fn tag(&mut self, tag: &mut [u8; TAG]) -> Result<(), Status> {
        let (mut none, mut written) = ([0; TAG], 0);
        // SAFETY: the context is one that encrypts; GCM writes nothing at the end, and the tag has its 16 bytes.
        check(unsafe {
            EVP_CipherFinal_ex(self.0.as_ptr(), none.as_mut_ptr(), &mut written)
                & EVP_CIPHER_CTX_ctrl(
                    self.0.as_ptr(),
                    EVP_CTRL_AEAD_GET_TAG,
                    TAG as c_int,
                    tag.as_mut_ptr().cast(),
                )
        })
    }

    /// The end of a decryption: is that its tag?
    fn is(&mut self, tag: &mut [u8; TAG]) -> Result<(), Status> {
        let (mut none, mut written) = ([0; TAG], 0);
        // SAFETY: the context is one that decrypts; the tag is copied, and GCM writes nothing at the end.
        let done = unsafe {
            EVP_CIPHER_CTX_ctrl(self.0.as_ptr(), EVP_CTRL_AEAD_SET_TAG, TAG as c_int, tag.as_mut_ptr().cast())
                & EVP_CipherFinal_ex(self.0.as_ptr(), none.as_mut_ptr(), &mut written)
        };
        check(done).map_err(|_| Status::BadMessage)
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: it is ours, and used no more. The library wipes what it frees.
        unsafe { EVP_CIPHER_CTX_free(self.0.as_ptr()) }
    }
}
