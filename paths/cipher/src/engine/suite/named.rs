//! Ciphers by the names that `openssl speed` has for them, with what each needs; operations with private and public keys by names like them.

use super::{Algorithm, CipherMode, Curve, Digest, Direction, Group, RsaPadding};
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
    /// Of an operation with a private or a public key.
    pub keyed: Option<Keyed>,
}

/// What an operation with a private or a public key has besides, all of it for measurements alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keyed {
    /// Its key, which protects nothing.
    pub key: &'static [u8],
    /// Bytes of its source, which is not as long as one likes.
    pub source: usize,
    /// The other half: what makes the signatures that it verifies, or verifies those that it makes.
    pub other: Option<(Algorithm, &'static [u8])>,
}

/// How long a result is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// As long as the source, and so many bytes more.
    Longer(usize),
    /// So many bytes.
    Fixed(usize),
    /// So many bytes at most, and others each time.
    AtMost(usize),
}

const fn cipher(name: &'static str, mode: CipherMode, key: usize) -> Named {
    Named {
        name,
        algorithm: Algorithm::Cipher(mode, Direction::Encrypt),
        work: Work::Encrypt,
        key,
        iv: 16,
        result: Outcome::Longer(0),
        keyed: None,
    }
}

const fn gcm(name: &'static str, key: usize) -> Named {
    let algorithm = Algorithm::Gcm(Direction::Encrypt);
    Named { name, algorithm, work: Work::Encrypt, key, iv: 12, result: Outcome::Longer(16), keyed: None }
}

const fn hash(name: &'static str, digest: Digest) -> Named {
    let result = Outcome::Fixed(digest.bytes());
    Named { name, algorithm: Algorithm::Hash(digest), work: Work::Hash, key: 0, iv: 0, result, keyed: None }
}

const fn code(name: &'static str, digest: Digest) -> Named {
    let tag = digest.bytes();
    let algorithm = Algorithm::Mac { digest, tag };
    Named { name, algorithm, work: Work::Mac, key: 32, iv: 0, result: Outcome::Fixed(tag), keyed: None }
}

const RSA: [&[u8]; 2] = [include_bytes!("keys/rsa-2048.der"), include_bytes!("keys/rsa-2048-public.der")];
const P256: [&[u8]; 2] = [include_bytes!("keys/p-256.der"), include_bytes!("keys/p-256-public.point")];

const fn rsa(private: bool) -> Algorithm {
    Algorithm::Rsa { padding: RsaPadding::Pkcs1(Some(Digest::Sha256)), private }
}

const fn ecdsa(private: bool) -> Algorithm {
    Algorithm::Ecdsa { curve: Curve::P256, private }
}

const fn keyed(name: &'static str, algorithm: Algorithm, work: Work, result: Outcome, keyed: Keyed) -> Named {
    Named { name, algorithm, work, key: keyed.key.len(), iv: 0, result, keyed: Some(keyed) }
}

/// Bytes of SHA-256, of which signatures are.
const DIGEST: usize = 32;

/// Bytes of a signature on P-256 at most, and of every other one.
const SIGNATURE: usize = 72;
const USUAL: usize = 71;

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

    /// Their names.
    pub const NAMES: &'static [&'static str] = &{
        let (mut names, mut at) = ([""; Named::ALL.len()], 0);
        while at < names.len() {
            names[at] = Named::ALL[at].name;
            at += 1;
        }
        names
    };

    /// Operations with private and public keys.
    pub const KEYED: &'static [Named] = &[
        keyed(
            "rsa2048-sign",
            rsa(true),
            Work::Sign,
            Outcome::Fixed(256),
            Keyed { key: RSA[0], source: DIGEST, other: None },
        ),
        keyed(
            "rsa2048-verify",
            rsa(false),
            Work::Verify,
            Outcome::Fixed(0),
            Keyed { key: RSA[1], source: 256 + DIGEST, other: Some((rsa(true), RSA[0])) },
        ),
        keyed(
            "ecdsap256-sign",
            ecdsa(true),
            Work::Sign,
            Outcome::AtMost(SIGNATURE),
            Keyed { key: P256[0], source: DIGEST, other: Some((ecdsa(false), P256[1])) },
        ),
        keyed(
            "ecdsap256-verify",
            ecdsa(false),
            Work::Verify,
            Outcome::Fixed(0),
            Keyed { key: P256[1], source: USUAL + DIGEST, other: Some((ecdsa(true), P256[0])) },
        ),
        keyed(
            "x25519",
            Algorithm::Agreement(Group::X25519),
            Work::Agree,
            Outcome::Fixed(32),
            Keyed { key: P256[1].split_at(32).0, source: 32, other: None },
        ),
    ];

    /// The cipher, hash or code of that name.
    pub fn find(name: &str) -> Option<&'static Named> {
        Named::ALL.iter().find(|named| named.name == name)
    }

    /// The operation with a key of that name.
    pub fn find_keyed(name: &str) -> Option<&'static Named> {
        Named::KEYED.iter().find(|named| named.name == name)
    }

    /// Bytes of its source that are a digest to be verified.
    pub fn digest(&self) -> usize {
        if self.work == Work::Verify { DIGEST } else { 0 }
    }

    /// Bytes of the result of a source of so many bytes.
    pub fn result(&self, source: usize) -> usize {
        match self.result {
            Outcome::Longer(more) => source + more,
            Outcome::Fixed(bytes) | Outcome::AtMost(bytes) => bytes,
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
        for named in Named::KEYED {
            let keyed = named.keyed.unwrap();
            assert!(Session::new(named.algorithm, keyed.key).is_ok(), "{}", named.name);
            assert!(keyed.other.is_none_or(|(algorithm, key)| Session::new(algorithm, key).is_ok()));
            assert!(Named::find(named.name).is_none() && Named::find_keyed(named.name) == Some(named));
        }
        assert_eq!(Named::find("aes-128-gcm").map(|named| named.result(100)), Some(116));
        assert_eq!(Named::find("rot13"), None);
    }
}
