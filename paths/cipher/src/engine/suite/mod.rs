//! What a session does to bytes: algorithms, keys, and the bytes wherever they lie.
//!
//! ```text
//!   session    an algorithm with its key: what a request asks for is done by one of these
//!   aes        keys, CBC, counter mode
//!   context    a key of the library's own modes, used again and again
//!   gcm        Galois/Counter mode
//!   xts        sectors
//!   digest     hashes, HMAC
//!   rsa        encryption, signatures
//!   curve      ECDSA, ECDH, X25519
//!   named      ciphers by the names that people know
//!   library    what AWS-LC says of a call
//!   stack      what private keys leave below
//!   bytes      pieces of somebody's memory, and two of them in step
//! ```
//!
//! All by AWS-LC, by its functions for raw memory: to what may change meanwhile nobody makes a reference. Keys are expanded
//! where they stay: in a box of ours or in memory of the library, each wiped at the end. A cipher allocates nothing, takes
//! no lock and makes no system call; only where two threads use one key of GCM or XTS at once, one of them has a copy of it
//! made.

mod aes;
mod algorithm;
mod bytes;
mod context;
mod curve;
mod digest;
mod gcm;
mod job;
mod library;
mod named;
mod rsa;
mod session;
mod stack;
mod xts;

pub use algorithm::{Algorithm, CipherMode, Curve, Digest, Direction, Group, RsaPadding};
pub use job::Job;
pub use named::{Keyed, Named, Outcome};
pub use session::Session;
