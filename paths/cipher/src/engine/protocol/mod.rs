//! virtio-crypto on the wire (VIRTIO 1.2, 5.9; `linux/virtio_crypto.h`): sessions, requests, statuses.
//!
//! Everything here is somebody else's bytes, copied once out of their memory before it is looked at. Numbers are
//! little-endian. The layouts are those without VIRTIO_CRYPTO_F_REVISION_1, which Linux's driver and QEMU use: a control
//! request and a data request have a fixed part of 72 bytes each, whatever they ask for.

mod compose;
mod control;
mod message;
mod offer;
mod request;
mod service;

pub use compose::{destroy, opened};
pub use control::{Control, SESSION_ANSWER, session_answer};
pub use message::{CLOSE_SESSION, CREATE_SESSION, CRYPTO_SESSION_FEATURE, session_of_message};
pub use offer::{CONFIG_FEATURE, GET_CONFIG, OFFER, Offer};
pub use request::{Request, Work};
pub use service::{NewSession, Status};

/// Bytes of the fixed part of a control request, and of a data request (`struct virtio_crypto_op_ctrl_req`, `struct
/// virtio_crypto_op_data_req`).
pub const FIXED: usize = 72;

/// Services (5.9.3, `VIRTIO_CRYPTO_SERVICE_*`); an operation code is the service times 256 and what is to be done.
const CIPHER: u32 = 0;
const HASH: u32 = 1;
const MAC: u32 = 2;
const AEAD: u32 = 3;
const AKCIPHER: u32 = 4;

/// Agreement on a secret, for which VIRTIO has no service: one of this device's own, with operations numbered as those of
/// [`AKCIPHER`] (4 makes a session, 5 ends it; 0 agrees), and parameters where those of ECDSA are: algorithm 1 (X25519) or 2 (ECDH), a
/// private key (2), its length, the number of a curve. Of the 32 services that a device can say it has (`crypto_services`, 5.9.4)
/// it is the last: whoever does not know it does not ask, and a device that does not have it answers that it is not supported.
const AGREEMENT: u32 = 31;

/// Bytes of a tag of GCM: no other length is asked for (NIST SP 800-38D, 5.2.1.2, has shorter ones, which are easier to forge).
const TAG: usize = 16;

/// The number of 32 bits at an offset of a fixed part.
fn word(bytes: &[u8; FIXED], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(word)
}

/// The number of 64 bits at an offset of a fixed part.
fn long(bytes: &[u8; FIXED], at: usize) -> u64 {
    let mut long = [0; 8];
    long.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(long)
}

#[cfg(test)]
mod tests;
