//! What can be done to bytes, by name.

use vm_memory::VolatileSlice;

/// Which way a cipher goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From plain text to cipher text.
    Encrypt,
    /// Back.
    Decrypt,
}

/// How blocks of AES are chained (NIST SP 800-38A; XTS: IEEE Std 1619-2007 and NIST SP 800-38E). Nothing is padded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CipherMode {
    /// Cipher block chaining; whole blocks of 16 bytes, an IV of 16.
    Cbc,
    /// Counter mode; any length, a first counter of 16 bytes, big-endian.
    Ctr,
    /// For sectors; at least 16 bytes, a tweak of 16, two keys one after the other that differ.
    Xts,
}

/// Hash functions (FIPS 180-4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Digest {
    /// SHA-1, 20 bytes: for peers that still ask for it.
    Sha1,
    /// SHA-224, 28 bytes.
    Sha224,
    /// SHA-256, 32 bytes.
    Sha256,
    /// SHA-384, 48 bytes.
    Sha384,
    /// SHA-512, 64 bytes.
    Sha512,
}

impl Digest {
    /// Bytes of a digest.
    pub const fn bytes(self) -> usize {
        match self {
            Digest::Sha1 => 20,
            Digest::Sha224 => 28,
            Digest::Sha256 => 32,
            Digest::Sha384 => 48,
            Digest::Sha512 => 64,
        }
    }

    /// The digest of bytes that nobody else has.
    pub fn of(self, bytes: &mut [u8]) -> Vec<u8> {
        super::digest::hash(self, &[VolatileSlice::from(bytes)])[..self.bytes()].to_vec()
    }
}

/// How an RSA message is made as long as the modulus.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RsaPadding {
    /// Not at all: it is as long already, or has zeros put before it. The numbers 0, 1 and the modulus less 1 are encrypted,
    /// but not decrypted: they are the same afterwards, and AWS-LC refuses them.
    Raw,
    /// PKCS #1 v1.5 (RFC 8017): encryption without a digest; signatures name the one that was hashed with.
    Pkcs1(Option<Digest>),
}

/// Curves of NIST (FIPS 186-5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Curve {
    /// P-256.
    P256,
    /// P-384.
    P384,
    /// P-521.
    P521,
}

/// Where two agree on a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Group {
    /// Curve25519 (RFC 7748): keys of 32 bytes.
    X25519,
    /// A curve of NIST: ECDH (NIST SP 800-56A).
    Nist(Curve),
}

/// What a session does. The size of a key says which AES it is: 16, 24 or 32 bytes (XTS: 32 or 64).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// AES, one way.
    Cipher(CipherMode, Direction),
    /// A hash, without a key.
    Hash(Digest),
    /// HMAC (RFC 2104); its result may be cut to so many bytes.
    Mac {
        /// Over which hash.
        digest: Digest,
        /// Bytes of the result that are given.
        tag: usize,
    },
    /// AES in Galois/Counter mode (NIST SP 800-38D), an IV of 12 bytes; the tag of 16 follows the cipher text.
    Gcm(Direction),
    /// RSA: encryption, decryption, signatures and their verification, by what a request asks for. The key is an
    /// `RSAPrivateKey` or an `RSAPublicKey` in DER (RFC 8017, A.1). A private key does what a public one does, too.
    Rsa {
        /// How messages are padded.
        padding: RsaPadding,
        /// Whether the key is a private one.
        private: bool,
    },
    /// ECDSA over a digest that the caller has made. The key is an `ECPrivateKey` in DER (RFC 5915), or a point
    /// (SEC 1, 2.3.3); a signature is an `ECDSA-Sig-Value` in DER (RFC 3279, 2.2.3).
    Ecdsa {
        /// On which curve.
        curve: Curve,
        /// Whether the key is a private one.
        private: bool,
    },
    /// Agreement on a secret with a private key: the source is the public key of the peer (on a curve of NIST a point,
    /// SEC 1, 2.3.3), the result the x-coordinate that both come to, from which keys are still to be derived. The key is
    /// 32 bytes, or as for ECDSA. VIRTIO has no such service: this device has one of its own.
    Agreement(Group),
}
