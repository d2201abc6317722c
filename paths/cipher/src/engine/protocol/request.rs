//! Requests of a data queue: something is to be done to bytes (5.9.7.4).

use super::service::Status;
use super::{AEAD, AGREEMENT, AKCIPHER, CIPHER, FIXED, HASH, MAC, TAG, long, word};

/// What is asked for, of a session of the service; lengths are in bytes and as the driver says, unchecked.
///
/// In the buffer the device may read, in this order: the fixed part, the IV, the source, and of AEAD what is only
/// authenticated. It may write the result, and after it one byte of [`Status`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Of which session.
    pub session: u64,
    /// What is to be done.
    pub work: Work,
    /// The IV, counter or tweak.
    pub iv: u32,
    /// What it is done to.
    pub source: u32,
    /// What is authenticated and not encrypted.
    pub associated: u32,
    /// Room for the result.
    pub result: u32,
}

/// What a request has done. It must be what its session is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// A cipher's, or AEAD's, plain text is encrypted; by a public key, too.
    Encrypt,
    /// Back.
    Decrypt,
    /// A hash is made.
    Hash,
    /// A message authentication code is made.
    Mac,
    /// A digest is signed.
    Sign,
    /// A signature is verified: the source is the signature, and what would be the result's length is that of the digest,
    /// which follows it.
    Verify,
    /// A secret is agreed on: the source is a peer's public key. VIRTIO has no such request; it is this device's own.
    Agree,
}

impl Request {
    /// How many bytes it is done to: source, a digest to be verified, and what is only authenticated. They say how long it takes.
    #[inline]
    pub fn bytes(&self) -> u64 {
        let digest = if self.work == Work::Verify { self.result } else { 0 };
        [self.source, self.associated, digest].into_iter().map(u64::from).sum()
    }

    /// What a fixed part asks for (`struct virtio_crypto_op_data_req`).
    ///
    /// # Errors
    /// The status to answer with.
    #[inline]
    pub fn parse(fixed: &[u8; FIXED]) -> Result<Request, Status> {
        // After the header of 24 bytes, what belongs to the service.
        let own = |at: usize| word(fixed, 24 + at);
        let none =
            Request { session: long(fixed, 8), work: Work::Hash, iv: 0, source: 0, associated: 0, result: 0 };
        let operation = word(fixed, 0);
        let coded = |work| Request { work, source: own(0), result: own(4), ..none };
        Ok(match (operation >> 8, operation & 0xff) {
            (CIPHER, which @ (0 | 1)) => {
                // The kind of operation is the last word but one: a cipher alone.
                if own(40) != 1 {
                    return Err(Status::NotSupported);
                }
                let work = if which == 0 { Work::Encrypt } else { Work::Decrypt };
                Request { work, iv: own(0), source: own(4), result: own(8), ..none }
            }
            (HASH, 0) => coded(Work::Hash),
            (MAC, 0) => coded(Work::Mac),
            (AEAD, which @ (0 | 1)) => {
                if own(16) as usize != TAG {
                    return Err(Status::NotSupported);
                }
                let work = if which == 0 { Work::Encrypt } else { Work::Decrypt };
                Request { work, iv: own(0), associated: own(4), source: own(8), result: own(12), ..none }
            }
            (AKCIPHER, 0) => coded(Work::Encrypt),
            (AKCIPHER, 1) => coded(Work::Decrypt),
            (AKCIPHER, 2) => coded(Work::Sign),
            (AKCIPHER, 3) => coded(Work::Verify),
            (AGREEMENT, 0) => coded(Work::Agree),
            _ => return Err(Status::NotSupported),
        })
    }
}
