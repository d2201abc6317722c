//! Sessions by messages of vhost-user: QEMU keeps the control queue to itself and sends what its guest asked for
//! ("Vhost-user Protocol", `VHOST_USER_CREATE_CRYPTO_SESSION`; the body is QEMU's `VhostUserCryptoSession`, whose layout its
//! documentation does not give: hw/virtio/vhost-user.c).

use zeroize::Zeroizing;

use super::service::{self, NewSession, Status};

/// VHOST_USER_CREATE_CRYPTO_SESSION.
pub const CREATE_SESSION: u32 = 26;

/// VHOST_USER_CLOSE_CRYPTO_SESSION.
pub const CLOSE_SESSION: u32 = 27;

/// VHOST_USER_PROTOCOL_F_CRYPTO_SESSION.
pub const CRYPTO_SESSION_FEATURE: u64 = 1 << 7;

/// Operation codes of the two kinds of session there are (`VIRTIO_CRYPTO_CIPHER_CREATE_SESSION`, `…_AKCIPHER_…`).
const CIPHER: u64 = 0x002;
const AKCIPHER: u64 = 0x404;

/// Where a cipher's key begins, and how long it is at most.
pub(super) const CIPHER_KEY: (usize, usize) = (56, 64);
/// The same of a public-key algorithm. Between its parameters and the two words of its own is a pointer of QEMU's, which means nothing
/// here (`CryptoDevBackendAsymSessionInfo`, include/system/cryptodev.h).
pub(super) const PUBLIC_KEY: (usize, usize) = (40, 1024);
/// Where these two words are.
pub(super) const OWN: [usize; 2] = [32, 36];

/// The session that a message asks for, with its key.
///
/// # Errors
/// Why there is none.
pub fn session_of_message(body: &[u8]) -> Result<(NewSession, Zeroizing<Vec<u8>>), Status> {
    let byte = |at: usize| body.get(at).copied().ok_or(Status::Err);
    let word = |at: usize| {
        let bytes = body.get(at..).and_then(|rest| rest.first_chunk::<4>()).ok_or(Status::Err)?;
        Ok(u32::from_ne_bytes(*bytes))
    };
    let operation = body.first_chunk::<8>().ok_or(Status::Err)?;
    let (session, (from, most)) = match u64::from_ne_bytes(*operation) {
        // The kind of session is 1: a cipher alone.
        CIPHER if byte(32)? == 1 => (service::cipher(word(8)?, byte(33)?.into(), word(12)?)?, CIPHER_KEY),
        AKCIPHER => {
            let own = [word(OWN[0])?, word(OWN[1])?];
            (service::public_key(word(8)?, word(12)?, word(16)?, own)?, PUBLIC_KEY)
        }
        _ => return Err(Status::NotSupported),
    };
    if session.key > most {
        return Err(Status::Err);
    }
    let key = body.get(from..from + session.key).ok_or(Status::Err)?;
    Ok((session, Zeroizing::new(key.to_vec())))
}
