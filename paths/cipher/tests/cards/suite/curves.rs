//! Signatures and agreements on curves against another library, and vectors.

use p256::ecdsa::signature::hazmat::{PrehashSigner, PrehashVerifier};
use proptest::prelude::*;
use sha2::{Digest, Sha256};
use tollway_cipher::engine::protocol::{Status, Work};
use tollway_cipher::engine::suite::{Algorithm, Curve, Group, Session};

use super::memory::{Asked, Layout, hex, layouts, run};

/// An `ECPrivateKey` (RFC 5915, 3) without what may be left out.
pub fn private_key(scalar: &[u8]) -> Vec<u8> {
    let len = scalar.len() as u8;
    [&[0x30, len + 5, 2, 1, 1, 4, len], scalar].concat()
}

/// A signature and its digest, to be verified.
fn verified<'a>(source: &'a [u8], digest: usize) -> Asked<'a> {
    Asked { digest, result: 0, ..Asked::cipher(Work::Verify, &[], source) }
}

/// A test of signatures and of agreements on one curve.
macro_rules! on_a_curve {
    ($name:ident, $curve:expr, $library:ident, $bytes:expr) => {
        mod $name {
            use super::*;

            proptest! {
                #![proptest_config(ProptestConfig::with_cases(10))]

                #[test]
                fn is_the_other_librarys(
                    scalars in any::<[[[u8; 32]; 3]; 2]>(),
                    digest in proptest::collection::vec(any::<u8>(), $bytes.min(64)..=64),
                    flip in any::<proptest::sample::Index>(),
                    layout in layouts(),
                ) {
                    let [secret, other] = scalars.map(|scalar| {
                        let mut scalar = scalar.as_flattened()[..$bytes].to_vec();
                        // The curve of 521 bits has an order of as many.
                        scalar[0] &= if $bytes == 66 { 0 } else { 0x7f };
                        $library::SecretKey::from_slice(&scalar).unwrap()
                    });
                    let curve = $curve;
                    let private = private_key(&secret.to_bytes());
                    let public = secret.public_key().to_sec1_bytes();

                    let session = Session::new(Algorithm::Ecdsa { curve, private: true }, &private).unwrap();
                    let asked = Asked { result: 160, ..Asked::cipher(Work::Sign, &[], &digest) };
                    let ours = run(&session, asked, &layout).unwrap();
                    let verifier = $library::ecdsa::VerifyingKey::from(secret.public_key());
                    let signature = $library::ecdsa::Signature::from_der(&ours).unwrap();
                    prop_assert!(verifier.verify_prehash(&digest, &signature).is_ok());

                    let signer = $library::ecdsa::SigningKey::from(&secret);
                    let theirs: $library::ecdsa::Signature = signer.sign_prehash(&digest).unwrap();
                    let mut both = theirs.to_der().as_bytes().to_vec();
                    both.extend(&digest);
                    let holder = Session::new(Algorithm::Ecdsa { curve, private: false }, &public).unwrap();
                    for session in [&session, &holder] {
                        prop_assert_eq!(run(session, verified(&both, digest.len()), &layout), Ok(vec![]));
                    }
                    prop_assert_eq!(run(&holder, asked, &layout), Err(Status::NotSupported));
                    // Of a digest longer than the order, only its beginning counts.
                    let used = both.len() - digest.len() + digest.len().min($bytes);
                    both[flip.index(used)] ^= 4;
                    let wrong = run(&holder, verified(&both, digest.len()), &layout);
                    prop_assert_eq!(wrong, Err(Status::KeyRejected));

                    let session = Session::new(Algorithm::Agreement(Group::Nist(curve)), &private).unwrap();
                    let peer = other.public_key().to_sec1_bytes();
                    let theirs = $library::ecdh::diffie_hellman(
                        secret.to_nonzero_scalar(),
                        other.public_key().as_affine(),
                    );
                    let asked = Asked { result: $bytes, ..Asked::cipher(Work::Agree, &[], &peer) };
                    prop_assert_eq!(&run(&session, asked, &layout).unwrap(), &theirs.raw_secret_bytes().to_vec());
                    let mut nowhere = peer.to_vec();
                    nowhere[1 + flip.index(peer.len() - 1)] ^= 4;
                    let asked = Asked { source: &nowhere, ..asked };
                    prop_assert_eq!(run(&session, asked, &layout), Err(Status::Err));
                    let made = Session::new(Algorithm::Ecdsa { curve, private: false }, &nowhere);
                    prop_assert_eq!(made.map(drop), Err(Status::Err));
                }
            }
        }
    };
}

on_a_curve!(p_256, Curve::P256, p256, 32);
on_a_curve!(p_384, Curve::P384, p384, 48);
on_a_curve!(p_521, Curve::P521, p521, 66);

proptest! {
    #[test]
    fn x25519_is_the_other_librarys(key in any::<[u8; 32]>(), peer in any::<[u8; 32]>(), layout in layouts()) {
        let session = Session::new(Algorithm::Agreement(Group::X25519), &key).unwrap();
        let asked = Asked::cipher(Work::Agree, &[], &peer);
        prop_assert_eq!(&run(&session, asked, &layout).unwrap(), &x25519_dalek::x25519(key, peer).to_vec());
    }

    #[test]
    fn keys_of_any_bytes_are_taken_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
        for curve in [Curve::P256, Curve::P384, Curve::P521] {
            for key in [bytes.clone(), private_key(&bytes)] {
                let _ = Session::new(Algorithm::Ecdsa { curve, private: true }, &key);
                let _ = Session::new(Algorithm::Ecdsa { curve, private: false }, &key);
            }
        }
    }
}

#[test]
fn keys_that_are_none() {
    let private = Algorithm::Ecdsa { curve: Curve::P256, private: true };
    let public = Algorithm::Ecdsa { curve: Curve::P256, private: false };
    let key = private_key(&[7; 32]);
    let made = |algorithm, key: &[u8]| Session::new(algorithm, key).map(drop);
    assert_eq!(made(private, &key), Ok(()));
    assert_eq!(made(private, &[&key[..], &[0]].concat()), Err(Status::Err), "a byte too many");
    assert_eq!(made(private, &key[..38]), Err(Status::Err), "a byte too few");
    assert_eq!(made(private, &private_key(&[0; 32])), Err(Status::Err), "nothing");
    assert_eq!(made(private, &private_key(&[0xff; 32])), Err(Status::Err), "beyond the order");
    assert_eq!(made(public, &[0]), Err(Status::Err), "the point at infinity");
    assert_eq!(made(public, &[]), Err(Status::Err));
    let x25519 = Algorithm::Agreement(Group::X25519);
    for len in [0, 31, 33] {
        assert_eq!(made(x25519, &vec![1; len]), Err(Status::Err));
    }
    let session = Session::new(x25519, &[1; 32]).unwrap();
    let of = |peer: &[u8]| {
        let asked = Asked { result: 32, ..Asked::cipher(Work::Agree, &[], peer) };
        run(&session, asked, &Layout::default())
    };
    assert_eq!(of(&[0; 32]), Err(Status::Err), "RFC 7748, 6.1: a secret that everybody knows");
    assert_eq!(of(&[9; 31]), Err(Status::Err));
    assert_eq!(of(&[9; 3000]), Err(Status::NotSupported));
}

/// RFC 6979, A.2.5: SHA-256, "sample".
#[test]
fn ecdsa_vector() {
    let point = hex("04 60fed4ba255a9d31c961eb74c6356d68c049b8923b61fa6ce669622e60f29fb6
         7903fe1008b8bc99a41ae9e95628bc64f2f1b20c2d7e9f5177a3c294d4462299");
    // Two numbers whose first bit is set: each with a zero before it.
    let mut source = hex("3046 022100 efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716
         022100 f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8");
    source.extend(Sha256::digest(b"sample"));
    let session = Session::new(Algorithm::Ecdsa { curve: Curve::P256, private: false }, &point).unwrap();
    assert_eq!(run(&session, verified(&source, 32), &Layout::default()), Ok(vec![]));
    source[20] ^= 1;
    assert_eq!(run(&session, verified(&source, 32), &Layout::default()), Err(Status::KeyRejected));
    assert_eq!(run(&session, verified(&source, 200), &Layout::default()), Err(Status::Err));
}

/// NIST CAVP, ECC CDH primitive (SP 800-56A), P-256, count 0; RFC 7748, 5.2.
#[test]
fn agreement_vectors() {
    let agreed = |group, key: &[u8], peer: &str, secret: &str| {
        let session = Session::new(Algorithm::Agreement(group), key).unwrap();
        let peer = hex(peer);
        let asked = Asked { result: 32, ..Asked::cipher(Work::Agree, &[], &peer) };
        assert_eq!(run(&session, asked, &Layout::default()).unwrap(), hex(secret));
    };
    agreed(
        Group::Nist(Curve::P256),
        &private_key(&hex("7d7dc5f71eb29ddaf80d6214632eeae03d9058af1fb6d22ed80badb62bc1a534")),
        "04 700c48f77f56584c5cc632ca65640db91b6bacce3a4df6b42ce7cc838833d287
         db71e509e3fd9b060ddb20ba5c51dcc5948d46fbf640dfe0441782cab85fa4ac",
        "46fc62106420ff012e54a434fbdd2d25ccc5852060561e68040dd7778997bd7b",
    );
    agreed(
        Group::X25519,
        &hex("a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4"),
        "e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c",
        "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552",
    );
}
