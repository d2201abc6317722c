//! An algorithm with its key.

use super::{Algorithm, Job};
use crate::engine::protocol::Status;

/// A session.
#[derive(Debug)]
pub struct Session {
    algorithm: Algorithm,
}

impl Session {
    /// With that key.
    ///
    /// # Errors
    /// The key does not fit, or there is no such algorithm here.
    pub fn new(algorithm: Algorithm, key: &[u8]) -> Result<Session, Status> {
        let _ = key;
        Ok(Session { algorithm })
    }

    /// Does it; how many bytes the result has.
    ///
    /// # Errors
    /// Why it could not be done.
    pub fn run(&self, job: &Job<'_, '_>) -> Result<usize, Status> {
        let _ = (self.algorithm, job);
        Err(Status::NotSupported)
    }
}
