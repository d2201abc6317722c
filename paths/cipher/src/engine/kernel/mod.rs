//! Ciphers that a kernel does, with whatever driver it has for them: a card's, virtio-crypto's, or its own code.
//!
//! ```text
//!   af_alg     a socket of family AF_ALG (Documentation/crypto/userspace-if.rst of Linux)
//!   drivers    which drivers a kernel has for an algorithm (/proc/crypto)
//! ```

mod af_alg;
mod drivers;

pub use af_alg::AfAlg;
pub use drivers::{Driver, drivers};
