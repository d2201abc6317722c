//! Requests of the control queue: sessions are made and closed (5.9.7.2).

use super::service::{self, NewSession, Status};
use super::{AEAD, AGREEMENT, AKCIPHER, CIPHER, FIXED, HASH, MAC, TAG, long, word};
use crate::engine::suite::Algorithm;

/// What a control request asks for. A new session's key follows the fixed part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// A session.
    Create(NewSession),
    /// Its end, by its number.
    Destroy(u64),
}

/// Bytes of the answer to a request for a session (`struct virtio_crypto_session_input`).
pub const SESSION_ANSWER: usize = 16;

/// The answer to a request for a session.
pub fn session_answer(session: Result<u64, Status>) -> [u8; SESSION_ANSWER] {
    let (id, status) = session.map_or_else(|status| (0, status), |id| (id, Status::Ok));
    let mut bytes = [0; SESSION_ANSWER];
    bytes[..8].copy_from_slice(&id.to_le_bytes());
    bytes[8..12].copy_from_slice(&u32::from(status as u8).to_le_bytes());
    bytes
}

impl Control {
    /// What a fixed part asks for (`struct virtio_crypto_op_ctrl_req`).
    ///
    /// # Errors
    /// The status to answer with.
    pub fn parse(fixed: &[u8; FIXED]) -> Result<Control, Status> {
        // After the header of 16 bytes, what belongs to the service.
        let own = |at: usize| word(fixed, 16 + at);
        let operation = word(fixed, 0);
        let create = match (operation >> 8, operation & 0xff) {
            // The kind of session is the last word but one: only ciphers alone, no chains of cipher and hash.
            (CIPHER, 2) if own(48) == 1 => service::cipher(own(0), own(8), own(4)),
            (CIPHER, 2) => Err(Status::NotSupported),
            (HASH, 2) => {
                let digest = service::digest(own(0))?;
                whole(own(4), digest.bytes())?;
                service::session(Algorithm::Hash(digest), 0)
            }
            (MAC, 2) => {
                let mac = Algorithm::Mac { digest: service::digest(own(0))?, tag: own(4) as usize };
                service::session(mac, own(8))
            }
            (AEAD, 2) if own(0) == 1 => {
                whole(own(8), TAG)?;
                service::session(Algorithm::Gcm(service::direction(own(16))?), own(4))
            }
            (AKCIPHER, 4) => service::public_key(own(0), own(4), own(8), [own(12), own(16)]),
            (AGREEMENT, 4) => service::agreement(own(0), own(4), own(8), own(12)),
            (CIPHER | HASH | MAC | AEAD, 3) | (AKCIPHER | AGREEMENT, 5) => {
                return Ok(Control::Destroy(long(fixed, 16)));
            }
            _ => Err(Status::NotSupported),
        };
        create.map(Control::Create)
    }
}

/// Whether a digest or a tag is wanted as long as it is: they are not cut.
fn whole(wanted: u32, bytes: usize) -> Result<(), Status> {
    if wanted as usize == bytes { Ok(()) } else { Err(Status::NotSupported) }
}
