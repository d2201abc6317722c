//! An algorithm with its key.

use std::fmt;

use super::bytes::{BLOCK, Pair, put, total};
use super::stack::wiped;
use super::{Algorithm, CipherMode, Direction, Job};
use super::{aes, curve, digest, gcm, rsa, xts};
use crate::engine::protocol::{Status, Work};

/// A session. Its key is wiped when it is dropped, and shown to nobody.
///
/// Any number of threads may use one at once.
pub struct Session {
    algorithm: Algorithm,
    key: Key,
}

/// What is made of a key.
enum Key {
    Cbc(aes::Key),
    Ctr(aes::Key),
    Xts(Box<xts::Xts>),
    Gcm(Box<gcm::Gcm>),
    None,
    Mac(digest::Key),
    Rsa(rsa::Key),
    Ecdsa(curve::Key),
    Agreement(curve::Private),
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("algorithm", &self.algorithm).finish_non_exhaustive()
    }
}

impl Session {
    /// With that key, whose owner wipes what it was given as.
    ///
    /// # Errors
    /// [`Status::Err`] if the key does not fit: it is not as long as one of the algorithm's; the halves of one of XTS are the
    /// same; one of a public-key algorithm is none. [`Status::NotSupported`] if there is no such algorithm here: a code
    /// longer than the digest, or of no bytes.
    pub fn new(algorithm: Algorithm, key: &[u8]) -> Result<Session, Status> {
        let key = match algorithm {
            Algorithm::Cipher(CipherMode::Cbc, direction) => Key::Cbc(aes::Key::new(key, direction)?),
            // Counters are encrypted both ways.
            Algorithm::Cipher(CipherMode::Ctr, _) => Key::Ctr(aes::Key::new(key, Direction::Encrypt)?),
            Algorithm::Cipher(CipherMode::Xts, direction) => {
                Key::Xts(Box::new(xts::Xts::new(key, direction)?))
            }
            Algorithm::Gcm(direction) => Key::Gcm(Box::new(gcm::Gcm::new(key, direction)?)),
            Algorithm::Hash(_) => Key::None,
            Algorithm::Mac { digest, tag } if (1..=digest.bytes()).contains(&tag) => {
                Key::Mac(digest::Key::new(digest, key)?)
            }
            Algorithm::Mac { .. } => return Err(Status::NotSupported),
            Algorithm::Rsa { padding, private } => Key::Rsa(wiped(|| rsa::Key::new(padding, private, key))?),
            Algorithm::Ecdsa { curve, private } => {
                Key::Ecdsa(wiped(|| curve::Key::new(curve, private, key))?)
            }
            Algorithm::Agreement(group) => Key::Agreement(wiped(|| curve::Private::new(group, key))?),
        };
        Ok(Session { algorithm, key })
    }

    /// What it does.
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// Does it, and writes the result; how many bytes that has. If there is more room, the rest is left as it is.
    ///
    /// # Errors
    /// [`Status::Err`] for an IV, a source or a result whose length is none for it; for a source that lies where the result
    /// goes, but shifted, and for a result that overlaps itself, or has more than 1024 pieces. [`Status::NotSupported`] for work
    /// that the session is not for. [`Status::BadMessage`] for a wrong tag, [`Status::KeyRejected`] for a wrong signature.
    #[inline]
    pub fn run(&self, job: &Job<'_, '_>) -> Result<usize, Status> {
        self.check(job.work)?;
        match &self.key {
            Key::Cbc(key) => {
                let pair = whole(job)?;
                aes::cbc(key, direction(job.work), iv(job)?, &pair).map(|()| pair.len)
            }
            Key::Ctr(key) => {
                let pair = whole(job)?;
                aes::ctr(key, iv(job)?, &pair);
                Ok(pair.len)
            }
            Key::Xts(key) => {
                let pair = whole(job)?;
                key.run(iv(job)?, &pair).map(|()| pair.len)
            }
            Key::Gcm(key) => key.run(job),
            Key::None => self.hash(job),
            Key::Mac(key) => self.mac(key, job),
            Key::Rsa(key) => wiped(|| key.run(job)),
            Key::Ecdsa(key) => wiped(|| key.ecdsa(job)),
            Key::Agreement(key) => wiped(|| key.run(job)),
        }
    }

    /// Is that what the session is for?
    #[inline]
    fn check(&self, work: Work) -> Result<(), Status> {
        let is = match self.algorithm {
            Algorithm::Cipher(_, way) | Algorithm::Gcm(way) => match way {
                Direction::Encrypt => work == Work::Encrypt,
                Direction::Decrypt => work == Work::Decrypt,
            },
            Algorithm::Hash(_) => work == Work::Hash,
            Algorithm::Mac { .. } => work == Work::Mac,
            // Of these, by what the key is.
            Algorithm::Rsa { .. } | Algorithm::Ecdsa { .. } => true,
            Algorithm::Agreement(_) => work == Work::Agree,
        };
        if is { Ok(()) } else { Err(Status::NotSupported) }
    }

    fn hash(&self, job: &Job<'_, '_>) -> Result<usize, Status> {
        let Algorithm::Hash(digest) = self.algorithm else { return Err(Status::NotSupported) };
        put(job.result, &digest::hash(digest, job.source)[..digest.bytes()])
    }

    fn mac(&self, key: &digest::Key, job: &Job<'_, '_>) -> Result<usize, Status> {
        let Algorithm::Mac { tag, .. } = self.algorithm else { return Err(Status::NotSupported) };
        put(job.result, &key.code(job.source)?[..tag])
    }
}

fn direction(work: Work) -> Direction {
    if work == Work::Encrypt { Direction::Encrypt } else { Direction::Decrypt }
}

/// Source and result of a cipher that neither lengthens nor shortens.
#[inline]
fn whole<'j, 'm>(job: &Job<'j, 'm>) -> Result<Pair<'j, 'm>, Status> {
    Pair::new(job.source, job.result, total(job.source))
}

fn iv(job: &Job<'_, '_>) -> Result<[u8; BLOCK], Status> {
    job.iv.try_into().map_err(|_| Status::Err)
}
