//! RSA against numbers of any length, and the paddings written down once more (RFC 8017).

use std::sync::OnceLock;

use num_bigint::BigUint;
use proptest::prelude::*;
use tollway_cipher::engine::protocol::{Status, Work};
use tollway_cipher::engine::suite::{Algorithm, Digest, RsaPadding, Session};

use super::memory::{Asked, Layout, layouts, run};

/// A key, as DER and as its numbers.
pub struct Key {
    pub private: Vec<u8>,
    pub public: Vec<u8>,
    n: BigUint,
    e: BigUint,
    d: BigUint,
}

impl Key {
    fn bytes(&self) -> usize {
        self.n.bits().div_ceil(8) as usize
    }

    /// A number to the power of the private exponent, as long as the modulus.
    fn powered(&self, bytes: &[u8], exponent: &BigUint) -> Vec<u8> {
        let mut power = BigUint::from_bytes_be(bytes).modpow(exponent, &self.n).to_bytes_be();
        power.splice(..0, std::iter::repeat_n(0, self.bytes() - power.len()));
        power
    }
}

/// Two keys, made here: one of a length that is no power of two.
pub fn keys() -> &'static [Key; 2] {
    static KEYS: OnceLock<[Key; 2]> = OnceLock::new();
    KEYS.get_or_init(|| [2048, 1160].map(made))
}

/// No operation with a private key takes longer than one of 4096 bits does: nothing interrupts it, and others wait.
#[test]
fn private_keys_of_more_than_4096_bits_are_not_supported() {
    for (bits, private) in [(4096, Ok(())), (4224, Err(Status::NotSupported))] {
        let key = made(bits);
        let padding = RsaPadding::Pkcs1(None);
        let made = |private, der: &[u8]| Session::new(Algorithm::Rsa { padding, private }, der).map(|_| ());
        assert_eq!((made(true, &key.private), made(false, &key.public)), (private, Ok(())), "{bits}");
    }
}

fn made(bits: i32) -> Key {
    use aws_lc_sys::{
        BN_free, BN_new, BN_set_word, OPENSSL_free, RSA_free, RSA_generate_key_ex, RSA_new,
        RSA_private_key_to_bytes, RSA_public_key_to_bytes,
    };
    // SAFETY: what is made here is used as what it is, and freed once; the bytes are as many as the library says.
    let [private, public] = unsafe {
        let (rsa, e) = (RSA_new(), BN_new());
        assert_eq!(BN_set_word(e, 65537), 1);
        assert_eq!(RSA_generate_key_ex(rsa, bits, e, std::ptr::null_mut()), 1);
        let of = |write: unsafe extern "C" fn(*mut *mut u8, *mut usize, *const _) -> i32| {
            let (mut bytes, mut len) = (std::ptr::null_mut(), 0);
            assert_eq!(write(&mut bytes, &mut len, rsa), 1);
            let copy = std::slice::from_raw_parts(bytes, len).to_vec();
            OPENSSL_free(bytes.cast());
            copy
        };
        let ders = [of(RSA_private_key_to_bytes), of(RSA_public_key_to_bytes)];
        RSA_free(rsa);
        BN_free(e);
        ders
    };
    let numbers = numbers(&private);
    let [n, e, d] = [1, 2, 3].map(|number: usize| numbers[number].clone());
    Key { private, public, n, e, d }
}

/// The integers of a sequence of nothing else (X.690, 8.3, 8.9).
fn numbers(der: &[u8]) -> Vec<BigUint> {
    let value = |bytes: &[u8]| {
        let (len, at) = match bytes[1] {
            0x81 => (bytes[2] as usize, 3),
            0x82 => (usize::from(bytes[2]) << 8 | usize::from(bytes[3]), 4),
            short => (short as usize, 2),
        };
        (at, at + len)
    };
    let (mut at, mut numbers) = (value(der).0, Vec::new());
    while at < der.len() {
        let (from, to) = value(&der[at..]);
        numbers.push(BigUint::from_bytes_be(&der[at + from..at + to]));
        at += to;
    }
    numbers
}

fn session(padding: RsaPadding, private: bool, key: &Key) -> Session {
    let der = if private { &key.private } else { &key.public };
    Session::new(Algorithm::Rsa { padding, private }, der).unwrap()
}

/// What is signed (RFC 8017, 9.2): each digest with what its note 1 has before it.
fn encoded(digest: Option<Digest>, hashed: &[u8], len: usize) -> Vec<u8> {
    let sha2 = |which: u8| {
        let len = hashed.len() as u8;
        let info = [0x30, 17 + len, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02];
        [&info[..], &[which, 0x05, 0x00, 0x04, len]].concat()
    };
    let info = match digest {
        None => Vec::new(),
        Some(Digest::Sha1) => {
            vec![0x30, 0x21, 0x30, 0x09, 0x06, 0x05, 0x2b, 0x0e, 0x03, 0x02, 0x1a, 0x05, 0x00, 0x04, 0x14]
        }
        Some(Digest::Sha224) => sha2(4),
        Some(Digest::Sha256) => sha2(1),
        Some(Digest::Sha384) => sha2(2),
        Some(Digest::Sha512) => sha2(3),
    };
    let padding = vec![0xff; len - 3 - info.len() - hashed.len()];
    [&[0, 1], &padding[..], &[0], &info, hashed].concat()
}

const DIGESTS: [Option<Digest>; 6] = [
    None,
    Some(Digest::Sha1),
    Some(Digest::Sha224),
    Some(Digest::Sha256),
    Some(Digest::Sha384),
    Some(Digest::Sha512),
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn bare_numbers(text in proptest::collection::vec(any::<u8>(), 0..145), layout in layouts()) {
        for key in keys() {
            let mut text = text.clone();
            text.truncate(key.bytes());
            if text.len() == key.bytes() {
                text[0] = 0;
            }
            let [public, private] = [false, true].map(|private| session(RsaPadding::Raw, private, key));
            let asked = Asked { result: key.bytes(), ..Asked::cipher(Work::Encrypt, &[], &text) };
            let coded = run(&public, asked, &layout).unwrap();
            prop_assert_eq!(&coded, &key.powered(&text, &key.e));
            prop_assert_eq!(&run(&private, asked, &layout).unwrap(), &coded);
            let asked = Asked { work: Work::Decrypt, source: &coded, ..asked };
            let mut padded = vec![0; key.bytes() - text.len()];
            padded.extend(&text);
            // The library takes nothing that a power does not change: 0, 1, and the modulus less 1.
            let is_taken = BigUint::from_bytes_be(&text) > BigUint::from(1u8);
            let right = if is_taken { Ok(padded) } else { Err(Status::Err) };
            prop_assert_eq!(run(&private, asked, &layout), right);
            prop_assert_eq!(run(&public, asked, &layout), Err(Status::NotSupported));
        }
    }

    #[test]
    fn padded_texts(text in proptest::collection::vec(any::<u8>(), 0..134), layout in layouts()) {
        for key in keys() {
            let padding = RsaPadding::Pkcs1(None);
            let [public, private] = [false, true].map(|private| session(padding, private, key));
            let asked = Asked { result: key.bytes(), ..Asked::cipher(Work::Encrypt, &[], &text) };
            let coded = run(&public, asked, &layout).unwrap();
            // RFC 8017, 7.2.1: at least eight bytes that are not zero.
            let plain = key.powered(&coded, &key.d);
            prop_assert_eq!(&plain[..2], &[0, 2]);
            let end = 2 + plain[2..].iter().position(|byte| *byte == 0).unwrap();
            prop_assert!(end >= 10);
            prop_assert_eq!(&plain[end + 1..], &text);

            let padding: Vec<u8> = (0..key.bytes() - 3 - text.len()).map(|i| 1 + i as u8 % 255).collect();
            let plain = [&[0, 2], &padding[..], &[0], &text].concat();
            let coded = key.powered(&plain, &key.e);
            let asked = Asked { result: 245, ..Asked::cipher(Work::Decrypt, &[], &coded) };
            prop_assert_eq!(&run(&private, asked, &layout).unwrap(), &text);
            let coded = key.powered(&[&[0, 1], &plain[2..]].concat(), &key.e);
            let asked = Asked { source: &coded, ..asked };
            prop_assert_eq!(run(&private, asked, &layout), Err(Status::Err), "the padding is another");
        }
    }

    #[test]
    fn signatures(
        hashed in any::<[[u8; 32]; 2]>(),
        flip in any::<proptest::sample::Index>(),
        layout in layouts(),
    ) {
        for key in keys() {
            for digest in DIGESTS {
                let hashed = &hashed.as_flattened()[..digest.map_or(50, Digest::bytes)];
                let padding = RsaPadding::Pkcs1(digest);
                let [public, private] = [false, true].map(|private| session(padding, private, key));
                let asked = Asked { result: key.bytes(), ..Asked::cipher(Work::Sign, &[], hashed) };
                let signature = run(&private, asked, &layout).unwrap();
                prop_assert_eq!(&signature, &key.powered(&encoded(digest, hashed, key.bytes()), &key.d));
                prop_assert_eq!(run(&public, asked, &layout), Err(Status::NotSupported));
                let mut both = [&signature, hashed].concat();
                let verified =
                    Asked { digest: hashed.len(), result: 0, ..Asked::cipher(Work::Verify, &[], &both) };
                prop_assert_eq!(run(&public, verified, &layout), Ok(vec![]));
                prop_assert_eq!(run(&private, verified, &layout), Ok(vec![]));
                let flip = flip.index(both.len());
                both[flip] ^= 4;
                let verified =
                    Asked { digest: hashed.len(), result: 0, ..Asked::cipher(Work::Verify, &[], &both) };
                prop_assert_eq!(run(&public, verified, &layout), Err(Status::KeyRejected));
            }
        }
    }

    #[test]
    fn keys_of_other_bytes_are_taken_or_refused(
        at in any::<proptest::sample::Index>(),
        byte in any::<u8>(),
        text in any::<[u8; 32]>(),
    ) {
        let key = &keys()[0];
        let padding = RsaPadding::Pkcs1(None);
        for (der, private) in [(&key.private, true), (&key.public, false)] {
            let mut der = der.clone();
            let at = at.index(der.len());
            der[at] ^= byte;
            if let Ok(session) = Session::new(Algorithm::Rsa { padding, private }, &der) {
                let asked = Asked { result: 256, ..Asked::cipher(Work::Sign, &[], &text) };
                let _ = run(&session, asked, &Layout::default());
            }
            let cut = Session::new(Algorithm::Rsa { padding, private }, &der[..at]);
            prop_assert!(cut.is_err());
        }
    }
}

#[test]
fn requests_that_make_no_sense() {
    let key = &keys()[0];
    let of = |padding, work, source: &[u8], result, digest| {
        let asked = Asked { digest, result, ..Asked::cipher(work, &[], source) };
        run(&session(padding, true, key), asked, &Layout::default()).map(drop)
    };
    let (raw, plain) = (RsaPadding::Raw, RsaPadding::Pkcs1(None));
    let sha256 = RsaPadding::Pkcs1(Some(Digest::Sha256));
    // VIRTIO 1.2, 5.9.7.2.1.6: nothing is signed bare.
    assert_eq!(of(raw, Work::Sign, &[1; 256], 256, 0), Err(Status::NotSupported));
    assert_eq!(of(raw, Work::Verify, &[1; 256], 0, 32), Err(Status::NotSupported));
    assert_eq!(of(raw, Work::Hash, &[1; 256], 256, 0), Err(Status::NotSupported));
    assert_eq!(of(raw, Work::Encrypt, &[0xff; 256], 256, 0), Err(Status::Err), "not below the modulus");
    assert_eq!(of(raw, Work::Encrypt, &[1; 257], 257, 0), Err(Status::Err));
    assert_eq!(of(raw, Work::Encrypt, &[1; 256], 255, 0), Err(Status::Err), "no room");
    assert_eq!(of(raw, Work::Encrypt, &[1; 2049], 2049, 0), Err(Status::NotSupported));
    assert_eq!(of(plain, Work::Encrypt, &[1; 246], 256, 0), Err(Status::Err), "no room for a padding");
    assert_eq!(of(plain, Work::Decrypt, &[1; 255], 256, 0), Err(Status::Err));
    assert_eq!(of(sha256, Work::Sign, &[1; 31], 256, 0), Err(Status::Err), "no SHA-256");
    assert_eq!(of(sha256, Work::Verify, &[1; 256 + 31], 0, 31), Err(Status::Err));
    assert_eq!(of(sha256, Work::Verify, &[1; 31], 0, 32), Err(Status::Err));
    assert_eq!(of(sha256, Work::Verify, &[1; 200], 0, 32), Err(Status::KeyRejected));
}
