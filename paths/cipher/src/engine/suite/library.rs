//! What AWS-LC says of a call, and bytes of others that it takes in one piece only.

use std::ffi::c_int;

use aws_lc_sys::ERR_clear_error;
use vm_memory::VolatileSlice;
use zeroize::Zeroizing;

use super::bytes::{Cursor, total};
use crate::engine::protocol::Status;

/// The most bytes that a request with a public key may be about: a modulus of 16384 bits, the library's longest.
pub(super) const MOST: usize = 2048;

/// Bytes of the modulus of a private RSA key at most, 4096 bits: nothing interrupts an operation, which at 8192 bits takes tens of
/// milliseconds, and all tenants of an engine wait for it.
pub(super) const MOST_PRIVATE: usize = 512;

/// 1 if it was done. What the library remembers of an error is of no use to us.
pub(super) fn check(done: c_int) -> Result<(), Status> {
    if done == 1 {
        return Ok(());
    }
    // SAFETY: it empties a list of this thread.
    unsafe { ERR_clear_error() };
    Err(Status::Err)
}

/// Bytes of ours that are wiped.
pub(super) struct Piece {
    bytes: Zeroizing<[u8; MOST]>,
    len: usize,
}

impl Piece {
    /// No bytes, with room for [`MOST`].
    pub(super) fn new() -> Piece {
        Piece { bytes: Zeroizing::new([0; MOST]), len: 0 }
    }

    /// All of these, copied once.
    ///
    /// # Errors
    /// [`Status::NotSupported`] if there are more than [`MOST`].
    pub(super) fn of(slices: &[VolatileSlice<'_>]) -> Result<Piece, Status> {
        let mut piece = Piece::new();
        piece.len = total(slices);
        let place = piece.bytes.get_mut(..piece.len).ok_or(Status::NotSupported)?;
        Cursor::new(slices).read(place);
        Ok(piece)
    }

    /// With zeros before them, as many bytes as that.
    ///
    /// # Errors
    /// There are more.
    pub(super) fn padded(mut self, len: usize) -> Result<Piece, Status> {
        let zeros = len.checked_sub(self.len).filter(|_| len <= MOST).ok_or(Status::Err)?;
        self.bytes.copy_within(..self.len, zeros);
        self.bytes[..zeros].fill(0);
        self.len = len;
        Ok(self)
    }

    /// All the room there is, to be written into.
    pub(super) fn room(&mut self) -> &mut [u8; MOST] {
        &mut self.bytes
    }

    /// The bytes.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// A signature, and after it a digest of so many bytes.
    ///
    /// # Errors
    /// There are not as many.
    pub(super) fn split(&self, digest: usize) -> Result<(&[u8], &[u8]), Status> {
        let at = self.len.checked_sub(digest).ok_or(Status::Err)?;
        Ok(self.bytes().split_at(at))
    }
}
