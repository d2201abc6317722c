//! Ciphers by the names that `openssl speed` has for them, with what each needs.

use super::{Algorithm, CipherMode, Digest, Direction};
use crate::engine::protocol::Work;

/// A cipher, hash or code whose speed can be asked for by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Named {
    /// The name.
    pub name: &'static str,
    /// What a session of it does.
    pub algorithm: Algorithm,
    /// What is asked of it.
    pub work: Work,
    /// Bytes of its key.
    pub key: usize,
    /// Bytes of its IV, counter or tweak.
    pub iv: usize,
    /// What its result is made of.
    pub result: Outcome,
}

/// How long a result is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// As long as the source, and so many bytes more.
    Longer(usize),
    /// So many bytes.
    Fixed(usize),
}

const fn cipher(name: &'static str, mode: CipherMode, key: usize) -> Named {
    Named {
        name,
        algorithm: Algorithm::Cipher(mode, Direction::Encrypt),
        work: Work::Encrypt,
        key,
        iv: 16,
        result: Outcome::Longer(0),
    }
}

const fn gcm(name: &'static str, key: usize) -> Named {
    let algorithm = Algorithm::Gcm(Direction::Encrypt);
    Named { name, algorithm, work: Work::Encrypt, key, iv: 12, result: Outcome::Longer(16) }
}

const fn hash(name: &'static str, digest: Digest) -> Named {
    let result = Outcome::Fixed(digest.bytes());
    Named { name, algorithm: Algorithm::Hash(digest), work: Work::Hash, key: 0, iv: 0, result }
}

const fn code(name: &'static str, digest: Digest) -> Named {
    let tag = digest.bytes();
    let algorithm = Algorithm::Mac { digest, tag };
    Named { name, algorithm, work: Work::Mac, key: 32, iv: 0, result: Outcome::Fixed(tag) }
}

impl Named {
    /// All that there are.
    pub const ALL: &'static [Named] = &[
        cipher("aes-128-cbc", CipherMode::Cbc, 16),
        cipher("aes-192-cbc", CipherMode::Cbc, 24),
        cipher("aes-256-cbc", CipherMode::Cbc, 32),
        cipher("aes-128-ctr", CipherMode::Ctr, 16),
        cipher("aes-192-ctr", CipherMode::Ctr, 24),
        cipher("aes-256-ctr", CipherMode::Ctr, 32),
        cipher("aes-128-xts", CipherMode::Xts, 32),
        cipher("aes-256-xts", CipherMode::Xts, 64),
        gcm("aes-128-gcm", 16),
        gcm("aes-192-gcm", 24),
        gcm("aes-256-gcm", 32),
        hash("sha1", Digest::Sha1),
        hash("sha224", Digest::Sha224),
        hash("sha256", Digest::Sha256),
        hash("sha384", Digest::Sha384),
        hash("sha512", Digest::Sha512),
        code("hmac-sha1", Digest::Sha1),
        code("hmac-sha256", Digest::Sha256),
        code("hmac-sha512", Digest::Sha512),
    ];

    /// The one of that name.
    pub fn find(name: &str) -> Option<&'static Named> {
        Named::ALL.iter().find(|named| named.name == name)
    }

    /// Bytes of the result of a source of so many bytes.
    pub fn result(&self, source: usize) -> usize {
        match self.result {
            Outcome::Longer(more) => source + more,
            Outcome::Fixed(bytes) => bytes,
        }
    }

    /// Bytes of which a source is a multiple.
    pub fn block(&self) -> usize {
        match self.algorithm {
            Algorithm::Cipher(CipherMode::Cbc, _) => 16,
            _ => 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::suite::Session;

    #[test]
    fn each_name_is_of_one_whose_key_fits() {
        for (number, named) in Named::ALL.iter().enumerate() {
            // The halves of a key of XTS differ.
            let key: Vec<u8> = (0..named.key as u8).collect();
            assert!(Session::new(named.algorithm, &key).is_ok(), "{}", named.name);
            assert_eq!(Named::ALL.iter().position(|other| other.name == named.name), Some(number));
        }
        assert_eq!(Named::find("aes-128-gcm").map(|named| named.result(100)), Some(116));
        assert_eq!(Named::find("rot13"), None);
    }
}
