//! AES in Galois/Counter mode (NIST SP 800-38D), where the bytes lie.

use std::ptr;

use super::bytes::{Cursor, Pair, total};
use super::context::{Context, Contexts, Mode, TAG};
use super::library::check;
use super::{Direction, Job};
use crate::engine::protocol::Status;

/// A key in one direction.
pub(super) struct Gcm {
    direction: Direction,
    contexts: Contexts,
}

impl Gcm {
    /// With a key of 16, 24 or 32 bytes.
    ///
    /// # Errors
    /// It has another length, or there is no memory.
    pub(super) fn new(key: &[u8], direction: Direction) -> Result<Gcm, Status> {
        Ok(Gcm { direction, contexts: Contexts::new(Mode::Gcm, key, direction)? })
    }

    /// Encrypts, and writes the tag after the cipher text; or decrypts what the tag follows. How many bytes were written.
    ///
    /// # Errors
    /// [`Status::BadMessage`] for a wrong tag: then the result is wiped. Until then, whoever can look into its memory sees
    /// what is decrypted.
    pub(super) fn run(&self, job: &Job<'_, '_>) -> Result<usize, Status> {
        match self.direction {
            Direction::Encrypt => self.seal(job),
            Direction::Decrypt => self.open(job),
        }
    }

    fn seal(&self, job: &Job<'_, '_>) -> Result<usize, Status> {
        let pair = Pair::new(job.source, job.result, total(job.source))?;
        if total(job.result) - pair.len < TAG {
            return Err(Status::Err);
        }
        let tag = self.contexts.with(job.iv, |context| {
            texts(context, job, &pair)?;
            context.tag()
        })?;
        let mut after = Cursor::new(job.result);
        after.skip(pair.len);
        after.write(&tag);
        Ok(pair.len + TAG)
    }

    fn open(&self, job: &Job<'_, '_>) -> Result<usize, Status> {
        let len = total(job.source).checked_sub(TAG).ok_or(Status::Err)?;
        let pair = Pair::new(job.source, job.result, len)?;
        let mut tag = [0; TAG];
        let mut after = Cursor::new(job.source);
        after.skip(len);
        after.read(&mut tag);
        self.contexts.with(job.iv, |context| {
            let right = texts(context, job, &pair).and_then(|()| context.is(tag));
            if right.is_err() {
                pair.wipe();
            }
            right.map(|()| len)
        })
    }
}

/// What is only authenticated, then what is encrypted or decrypted, too.
fn texts(context: &mut Context, job: &Job<'_, '_>, pair: &Pair<'_, '_>) -> Result<(), Status> {
    let mut done = 1;
    for slice in job.associated {
        // SAFETY: a slice is valid memory while it is borrowed.
        done &= unsafe { context.update(slice.ptr_guard().as_ptr(), ptr::null_mut(), slice.len()) };
    }
    // SAFETY: `each` calls with valid memory that is the same or does not overlap.
    pair.each(|here, there, len| done &= unsafe { context.update(here, there, len) });
    check(done)
}
