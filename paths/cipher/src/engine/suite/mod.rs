//! What a session does to bytes: algorithms, keys, and the bytes wherever they lie.

mod algorithm;
mod job;
mod session;

pub use algorithm::{Algorithm, CipherMode, Curve, Digest, Direction, RsaPadding};
pub use job::Job;
pub use session::Session;
