//! AES: its key; in CBC and in counter mode, where the bytes lie.

use aws_lc_sys::{
    AES_KEY, AES_cbc_encrypt, AES_ctr128_encrypt, AES_decrypt, AES_encrypt, AES_set_decrypt_key,
    AES_set_encrypt_key,
};
use zeroize::Zeroize;

use super::Direction;
use super::bytes::{BLOCK, Pair};
use crate::engine::protocol::Status;

/// A key of AES, expanded for one direction. It stays where it is, and is wiped there.
pub(super) struct Key(Box<AES_KEY>);

impl Key {
    /// Expands 16, 24 or 32 bytes.
    ///
    /// # Errors
    /// There is no AES with a key of that length.
    pub(super) fn new(key: &[u8], direction: Direction) -> Result<Key, Status> {
        let bits = match key.len() {
            16 => 128,
            24 => 192,
            32 => 256,
            _ => return Err(Status::Err),
        };
        let mut place = Box::new(AES_KEY { rd_key: [0; 60], rounds: 0 });
        // SAFETY: the key has as many bytes as is said, and the place is a whole AES_KEY.
        let refused = unsafe {
            match direction {
                Direction::Encrypt => AES_set_encrypt_key(key.as_ptr(), bits, &mut *place),
                Direction::Decrypt => AES_set_decrypt_key(key.as_ptr(), bits, &mut *place),
            }
        };
        if refused == 0 { Ok(Key(place)) } else { Err(Status::Err) }
    }

    /// Encrypts, or decrypts, a block alone, as the key was expanded for.
    #[inline]
    pub(super) fn block(&self, direction: Direction, block: &mut [u8; BLOCK]) {
        let place = block.as_mut_ptr();
        // SAFETY: a block is read and written in place; the key is a whole AES_KEY.
        unsafe {
            match direction {
                Direction::Encrypt => AES_encrypt(place, place, &*self.0),
                Direction::Decrypt => AES_decrypt(place, place, &*self.0),
            }
        }
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        self.0.rd_key.zeroize();
    }
}

/// Cipher block chaining (NIST SP 800-38A, 6.2), nothing padded.
///
/// # Errors
/// There is a part of a block.
pub(super) fn cbc(
    key: &Key,
    direction: Direction,
    mut iv: [u8; BLOCK],
    pair: &Pair<'_, '_>,
) -> Result<(), Status> {
    if !pair.len.is_multiple_of(BLOCK) {
        return Err(Status::Err);
    }
    let encrypt = i32::from(direction == Direction::Encrypt);
    // SAFETY: `each` calls with valid memory, as long as it says, that is the same or does not overlap, and with whole
    // blocks, as all is whole blocks. The key was expanded for the direction; the IV is ours, and is a block.
    pair.each(|here, there, len| unsafe {
        AES_cbc_encrypt(here, there, len, &*key.0, iv.as_mut_ptr(), encrypt);
    });
    Ok(())
}

/// Counter mode (NIST SP 800-38A, 6.5): the counter is the whole block, big-endian. The key is one for encryption.
pub(super) fn ctr(key: &Key, mut counter: [u8; BLOCK], pair: &Pair<'_, '_>) {
    let mut stream = [0; BLOCK];
    let mut used = 0;
    // SAFETY: as in `cbc`, and a part of a block is allowed; `stream` is a block, of which `used` bytes are used up.
    pair.each(|here, there, len| unsafe {
        AES_ctr128_encrypt(here, there, len, &*key.0, counter.as_mut_ptr(), stream.as_mut_ptr(), &mut used);
    });
    stream.zeroize();
}
