//! Contexts of the library: a key, an IV, and how far a message is. A key has one that is used again and again, so that nothing
//! is allocated.

use std::cell::UnsafeCell;
use std::ffi::c_int;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, Ordering};

use aws_lc_sys::{
    EVP_CIPHER, EVP_CIPHER_CTX, EVP_CIPHER_CTX_copy, EVP_CIPHER_CTX_ctrl, EVP_CIPHER_CTX_free,
    EVP_CIPHER_CTX_new, EVP_CIPHER_CTX_set_padding, EVP_CTRL_AEAD_GET_TAG, EVP_CTRL_AEAD_SET_TAG,
    EVP_CipherFinal_ex, EVP_CipherInit_ex, EVP_CipherUpdate, EVP_aes_128_ecb, EVP_aes_128_gcm,
    EVP_aes_192_gcm, EVP_aes_256_ecb, EVP_aes_256_gcm, EVP_aes_256_xts,
};

use super::Direction;
use super::library::check;
use crate::engine::protocol::Status;

/// Bytes of a tag of GCM.
pub(super) const TAG: usize = 16;

/// The most bytes of one call of the library, which counts them in an `int`.
const MOST: usize = 1 << 30;

/// What a context is for: those modes that can be done where the bytes lie, in which nothing is written but what was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// With a key of 16, 24 or 32 bytes, and an IV of 12.
    Gcm,
    /// With a key of 64 bytes whose halves differ, and an IV of 16; a message in one call.
    Xts,
    /// Blocks each for itself, of which other modes are made: with a key of 16 or 32 bytes, and no IV; whole blocks in each call.
    Blocks,
}

/// The contexts of a key in one direction.
pub(super) struct Contexts {
    mode: Mode,
    /// Never worked with, only copied.
    template: Context,
    /// Worked with by whoever has taken it.
    spare: UnsafeCell<Context>,
    taken: AtomicBool,
}

// SAFETY: `template` is only read, and `spare` only used by the one thread that has set `taken`.
unsafe impl Sync for Contexts {}

/// Gives `taken` back.
struct Taken<'c>(&'c AtomicBool);

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

impl Contexts {
    /// Of a key.
    ///
    /// # Errors
    /// The mode has no key of that length, or there is no memory.
    pub(super) fn new(mode: Mode, key: &[u8], direction: Direction) -> Result<Contexts, Status> {
        let template = Context::new(mode, key, direction)?;
        let spare = UnsafeCell::new(template.copy()?);
        Ok(Contexts { mode, template, spare, taken: AtomicBool::new(false) })
    }

    /// Works with a context whose message begins with that IV.
    ///
    /// # Errors
    /// The IV has another length; what `work` says.
    pub(super) fn with<T>(
        &self,
        iv: &[u8],
        work: impl FnOnce(&mut Context) -> Result<T, Status>,
    ) -> Result<T, Status> {
        let needed = match self.mode {
            Mode::Gcm => 12,
            Mode::Xts => 16,
            Mode::Blocks => 0,
        };
        if iv.len() != needed {
            return Err(Status::Err);
        }
        let begun = |context: &mut Context| {
            // SAFETY: the context has cipher and key, which stay, and the IV is as long as the cipher's.
            check(unsafe {
                EVP_CipherInit_ex(
                    context.0.as_ptr(),
                    ptr::null(),
                    ptr::null_mut(),
                    ptr::null(),
                    iv.as_ptr(),
                    -1,
                )
            })?;
            work(context)
        };
        if self.taken.swap(true, Ordering::Acquire) {
            // Another thread works with this key.
            return begun(&mut self.template.copy()?);
        }
        let _taken = Taken(&self.taken);
        // SAFETY: we have set `taken`, so that nobody else uses it until `_taken` is dropped.
        begun(unsafe { &mut *self.spare.get() })
    }
}

/// A context.
pub(super) struct Context(NonNull<EVP_CIPHER_CTX>);

// SAFETY: a context belongs to no thread; the library asks only that two do not use one at once.
unsafe impl Send for Context {}

impl Context {
    fn new(mode: Mode, key: &[u8], direction: Direction) -> Result<Context, Status> {
        // SAFETY: these take nothing and give constants of the library.
        let cipher: *const EVP_CIPHER = unsafe {
            match (mode, key.len()) {
                (Mode::Gcm, 16) => EVP_aes_128_gcm(),
                (Mode::Gcm, 24) => EVP_aes_192_gcm(),
                (Mode::Gcm, 32) => EVP_aes_256_gcm(),
                (Mode::Xts, 64) => EVP_aes_256_xts(),
                (Mode::Blocks, 16) => EVP_aes_128_ecb(),
                (Mode::Blocks, 32) => EVP_aes_256_ecb(),
                _ => return Err(Status::Err),
            }
        };
        let context = Context::empty()?;
        let encrypt = c_int::from(direction == Direction::Encrypt);
        // SAFETY: the context is new, the key as long as the cipher's is, and without an IV none is read.
        let done = unsafe {
            EVP_CipherInit_ex(context.0.as_ptr(), cipher, ptr::null_mut(), key.as_ptr(), ptr::null(), encrypt)
        };
        // SAFETY: it is a context. Nothing is padded, so that no block is kept back for the end.
        let whole = unsafe { EVP_CIPHER_CTX_set_padding(context.0.as_ptr(), 0) };
        check(done & whole).map(|()| context)
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

    /// Goes on with so many bytes; 1 if that was done. Of GCM, what goes nowhere (a null pointer) is authenticated alone.
    ///
    /// # Safety
    /// `here` and `there` are valid for so many bytes, and the same or apart.
    pub(super) unsafe fn update(&mut self, here: *const u8, there: *mut u8, len: usize) -> c_int {
        let (mut done, mut at) = (1, 0);
        while at < len {
            let now = (len - at).min(MOST);
            let to = if there.is_null() { there } else { there.wrapping_add(at) };
            let mut written = 0;
            // SAFETY: as this function asks for; these modes write as many bytes as they read.
            done &= unsafe {
                EVP_CipherUpdate(self.0.as_ptr(), to, &mut written, here.wrapping_add(at), now as c_int)
            };
            at += now;
        }
        done
    }

    /// The tag at the end of an encryption by GCM.
    ///
    /// # Errors
    /// The library refuses.
    pub(super) fn tag(&mut self) -> Result<[u8; TAG], Status> {
        let (mut tag, mut none, mut written) = ([0; TAG], [0; TAG], 0);
        let context = self.0.as_ptr();
        // SAFETY: GCM writes nothing at the end, and the tag has its 16 bytes; of a context that decrypts it is refused.
        check(unsafe {
            EVP_CipherFinal_ex(context, none.as_mut_ptr(), &mut written)
                & EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, TAG as c_int, tag.as_mut_ptr().cast())
        })
        .map(|()| tag)
    }

    /// The end of a decryption by GCM: is that its tag?
    ///
    /// # Errors
    /// [`Status::BadMessage`] if it is not.
    pub(super) fn is(&mut self, mut tag: [u8; TAG]) -> Result<(), Status> {
        let (mut none, mut written) = ([0; TAG], 0);
        let context = self.0.as_ptr();
        // SAFETY: the tag has 16 bytes, and is copied; GCM writes nothing at the end.
        let done = unsafe {
            EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, TAG as c_int, tag.as_mut_ptr().cast())
                & EVP_CipherFinal_ex(context, none.as_mut_ptr(), &mut written)
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
