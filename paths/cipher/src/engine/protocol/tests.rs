//! Layouts held against the offsets of `linux/virtio_crypto.h`, and whatever else may stand there.

use proptest::prelude::*;

use super::*;
use crate::engine::suite::{Algorithm, CipherMode, Curve, Digest, Direction, Group, RsaPadding};

/// A fixed part with these words at these offsets.
fn fixed(words: &[(usize, u32)]) -> [u8; FIXED] {
    let mut bytes = [0; FIXED];
    for (at, word) in words {
        bytes[*at..*at + 4].copy_from_slice(&word.to_le_bytes());
    }
    bytes
}

fn created(words: &[(usize, u32)]) -> Result<NewSession, Status> {
    Control::parse(&fixed(words)).map(|control| match control {
        Control::Create(session) => session,
        Control::Destroy(_) => panic!("{control:?}"),
    })
}

#[test]
fn sessions_of_every_service() {
    let encrypt = Algorithm::Cipher(CipherMode::Xts, Direction::Encrypt);
    let cipher = [(0, 0x002), (16, 13), (20, 64), (24, 1), (64, 1)];
    assert_eq!(created(&cipher), Ok(NewSession { algorithm: encrypt, key: 64 }));
    let chained = [(0, 0x002), (16, 3), (20, 16), (24, 1), (64, 2)];
    assert_eq!(created(&chained), Err(Status::NotSupported));
    let hash = created(&[(0, 0x102), (16, 4), (20, 32)]);
    assert_eq!(hash, Ok(NewSession { algorithm: Algorithm::Hash(Digest::Sha256), key: 0 }));
    let mac = created(&[(0, 0x202), (16, 6), (20, 64), (24, 20)]);
    let algorithm = Algorithm::Mac { digest: Digest::Sha512, tag: 64 };
    assert_eq!(mac, Ok(NewSession { algorithm, key: 20 }));
    let aead = created(&[(0, 0x302), (16, 1), (20, 32), (24, 16), (32, 2)]);
    assert_eq!(aead, Ok(NewSession { algorithm: Algorithm::Gcm(Direction::Decrypt), key: 32 }));
    let rsa = created(&[(0, 0x404), (16, 1), (20, 2), (24, 1190), (28, 1), (32, 6)]);
    let padding = RsaPadding::Pkcs1(Some(Digest::Sha256));
    assert_eq!(rsa, Ok(NewSession { algorithm: Algorithm::Rsa { padding, private: true }, key: 1190 }));
    let ecdsa = created(&[(0, 0x404), (16, 3), (20, 1), (24, 65), (28, 3)]);
    let algorithm = Algorithm::Ecdsa { curve: Curve::P256, private: false };
    assert_eq!(ecdsa, Ok(NewSession { algorithm, key: 65 }));
    assert_eq!(Control::parse(&fixed(&[(0, 0x003), (16, 7), (20, 1)])), Ok(Control::Destroy(1 << 32 | 7)));
    assert_eq!(Control::parse(&fixed(&[(0, 0x405), (16, 7)])), Ok(Control::Destroy(7)));
    // This device's own.
    let x25519 = created(&[(0, 0x1f04), (16, 1), (20, 2), (24, 32)]);
    assert_eq!(x25519, Ok(NewSession { algorithm: Algorithm::Agreement(Group::X25519), key: 32 }));
    let ecdh = created(&[(0, 0x1f04), (16, 2), (20, 2), (24, 39), (28, 4)]);
    let algorithm = Algorithm::Agreement(Group::Nist(Curve::P384));
    assert_eq!(ecdh, Ok(NewSession { algorithm, key: 39 }));
    assert_eq!(Control::parse(&fixed(&[(0, 0x1f05), (16, 7)])), Ok(Control::Destroy(7)));
}

/// Not supported is what the device has not; all else that cannot be is an error, and nothing is a bad message.
#[test]
fn what_is_not_supported_and_what_is_wrong() {
    for (words, status) in [
        // A digest, a tag, a request's tag of other lengths than they have.
        (vec![(0, 0x102), (16, 4), (20, 20)], Status::NotSupported),
        (vec![(0, 0x302), (16, 1), (20, 16), (24, 12), (32, 1)], Status::NotSupported),
        (vec![(0, 0x302), (16, 2), (20, 16), (24, 16), (32, 1)], Status::NotSupported),
        (vec![(0, 0x002), (16, 1), (20, 16), (24, 1), (64, 1)], Status::NotSupported),
        (vec![(0, 0x502)], Status::NotSupported),
        (vec![(0, 0x1f04), (16, 3), (20, 2)], Status::NotSupported),
        (vec![(0, 0x1f04), (16, 2), (20, 2), (28, 1)], Status::NotSupported),
        (vec![(0, 0x1f04), (16, 1), (20, 1)], Status::Err),
        (vec![(0, 0x404), (16, 3), (20, 2), (28, 2)], Status::NotSupported),
        // A direction, a kind of key, the length of a key.
        (vec![(0, 0x002), (16, 3), (20, 16), (24, 3), (64, 1)], Status::Err),
        (vec![(0, 0x302), (16, 1), (20, 16), (24, 16), (32, 0)], Status::Err),
        (vec![(0, 0x404), (16, 1), (20, 0), (24, 100), (28, 1)], Status::Err),
        (vec![(0, 0x202), (16, 4), (20, 32), (24, u32::MAX)], Status::Err),
    ] {
        assert_eq!(created(&words), Err(status), "{words:?}");
    }
    let short = fixed(&[(0, 0x300), (24, 12), (32, 100), (36, 112), (40, 12)]);
    assert_eq!(Request::parse(&short), Err(Status::NotSupported));
}

#[test]
fn a_request_is_as_long_as_what_it_is_done_to() {
    let most = Request {
        session: 1,
        work: Work::Encrypt,
        iv: u32::MAX,
        source: u32::MAX,
        associated: u32::MAX,
        result: u32::MAX,
    };
    assert_eq!(most.bytes(), 2 * u64::from(u32::MAX));
    let mut some = Request { iv: 12, source: 100, associated: 13, result: 32, ..most };
    assert_eq!(some.bytes(), 113);
    some.work = Work::Verify;
    assert_eq!(some.bytes(), 145);
}

#[test]
fn requests_of_every_service() {
    let of = |words: &[(usize, u32)]| Request::parse(&fixed(words));
    let none = Request { session: 9, work: Work::Hash, iv: 0, source: 0, associated: 0, result: 0 };
    let cipher = of(&[(0, 0x001), (8, 9), (24, 16), (28, 4096), (32, 4097), (64, 1)]);
    assert_eq!(cipher, Ok(Request { work: Work::Decrypt, iv: 16, source: 4096, result: 4097, ..none }));
    assert_eq!(of(&[(0, 0x001), (64, 2)]), Err(Status::NotSupported));
    assert_eq!(
        of(&[(0, 0x100), (8, 9), (24, 100), (28, 32)]),
        Ok(Request { source: 100, result: 32, ..none })
    );
    let mac = of(&[(0, 0x200), (8, 9), (24, 100), (28, 20)]);
    assert_eq!(mac, Ok(Request { work: Work::Mac, source: 100, result: 20, ..none }));
    let aead = of(&[(0, 0x300), (8, 9), (24, 12), (28, 13), (32, 100), (36, 116), (40, 16)]);
    let sealed = Request { work: Work::Encrypt, iv: 12, source: 100, associated: 13, result: 116, ..none };
    assert_eq!(aead, Ok(sealed));
    for (which, work) in [Work::Encrypt, Work::Decrypt, Work::Sign, Work::Verify].into_iter().enumerate() {
        let asked = of(&[(0, 0x400 + which as u32), (8, 9), (24, 256), (28, 32)]);
        assert_eq!(asked, Ok(Request { work, source: 256, result: 32, ..none }));
    }
}

#[test]
fn sessions_by_message_are_as_qemu_sends_them() {
    let mut body = vec![0; 1072];
    let mut put = |at: usize, bytes: &[u8]| body[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, &2u64.to_le_bytes());
    put(8, &3u32.to_le_bytes());
    put(12, &16u32.to_le_bytes());
    put(32, &[1, 1]);
    put(56, b"sixteen bytes ok");
    let (session, key) = session_of_message(&body).unwrap();
    assert_eq!(session.algorithm, Algorithm::Cipher(CipherMode::Cbc, Direction::Encrypt));
    assert_eq!(&**key, b"sixteen bytes ok");
    assert_eq!(session_of_message(&body[..71]).unwrap_err(), Status::Err);
    let mut put = |at: usize, bytes: &[u8]| body[at..at + bytes.len()].copy_from_slice(bytes);
    put(12, &65u32.to_le_bytes());
    assert_eq!(session_of_message(&body).unwrap_err(), Status::Err);
    let mut put = |at: usize, bytes: &[u8]| body[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, &0x404u64.to_le_bytes());
    // `algo`, `keytype` and `keylen`, four bytes that nobody sets, QEMU's pointer to the key, `padding_algo` and `hash_algo`.
    let pointer = 0x7f12_3456_7890u64.to_ne_bytes();
    for (at, word) in [(8, 1u32), (12, 2), (16, 5), (20, 0xdead_beef), (32, 1), (36, 5)] {
        put(at, &word.to_le_bytes());
    }
    put(24, &pointer);
    put(40, b"a key");
    let (session, key) = session_of_message(&body).unwrap();
    let padding = RsaPadding::Pkcs1(Some(Digest::Sha1));
    assert_eq!(session.algorithm, Algorithm::Rsa { padding, private: true });
    assert_eq!(&**key, b"a key");
    let mut put = |at: usize, bytes: &[u8]| body[at..at + bytes.len()].copy_from_slice(bytes);
    put(16, &1025u32.to_le_bytes());
    assert_eq!(session_of_message(&body).unwrap_err(), Status::Err, "longer than its place");
}

/// VIRTIO 1.2, 5.9.4; `linux/virtio_crypto.h` has the fields at these offsets.
#[test]
fn what_a_device_has_is_where_the_driver_looks() {
    let offer = Offer::of(3, 1 << 20);
    let bytes = offer.compose();
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    assert_eq!([word(0), word(4)], [1, 3], "status, max_dataqueues");
    assert_eq!(word(8), 1 << 31 | 0b1_1111, "crypto_services");
    assert_eq!([word(12), word(16)], [1 << 3 | 1 << 4 | 1 << 13, 0], "cipher_algo_l, _h");
    assert_eq!([word(20), word(24), word(28)], [0b111_1100, 0b111_1100, 0], "hash_algo, mac_algo_l, _h");
    assert_eq!(
        [word(32), word(36), word(40)],
        [1 << 1, 64, 6144],
        "aead_algo, max_cipher_key_len, max_auth_key_len"
    );
    assert_eq!([word(44), word(48), word(52)], [1 << 1 | 1 << 3, 1 << 20, 0], "akcipher_algo, max_size");
    assert_eq!(Offer::parse(&bytes), offer);
}

#[test]
fn a_configuration_is_asked_for_in_whole_and_in_parts() {
    let offer = Offer::of(1, 1 << 40);
    let whole = offer.answer(&Offer::question()).unwrap();
    assert_eq!((whole.len(), Offer::of_answer(&whole)), (68, Some(offer)));
    assert_eq!(Offer::of_answer(&whole[..67]), None);
    let part = |offset: u32, bytes: u32| {
        let mut body = vec![0; 12 + 256];
        body[..4].copy_from_slice(&offset.to_ne_bytes());
        body[4..8].copy_from_slice(&bytes.to_ne_bytes());
        offer.answer(&body).map(|answer| answer[12..].to_vec())
    };
    assert_eq!(part(44, 4), Some(vec![0b1010, 0, 0, 0]));
    assert_eq!(part(52, 4), Some(vec![0, 1, 0, 0]));
    for (offset, bytes) in [(0, 57), (56, 1), (0, 0), (52, 5), (u32::MAX, 1), (1, u32::MAX)] {
        assert_eq!(part(offset, bytes), None, "{offset} {bytes}");
    }
    assert_eq!(offer.answer(&[0; 11]), None);
}

#[test]
fn whoever_offers_less_has_less() {
    let rsa = Algorithm::Rsa { padding: RsaPadding::Raw, private: false };
    let ecdsa = Algorithm::Ecdsa { curve: Curve::P256, private: false };
    let x25519 = Algorithm::Agreement(Group::X25519);
    // What QEMU's cryptodev-vhost-user says: ciphers, hashes, codes; CBC, SHA-1.
    let qemu = Offer { services: 0b111, ciphers: 1 << 3, hashes: 1 << 2, public_keys: 0, ..Offer::of(1, 64) };
    assert!(
        qemu.has(Algorithm::Cipher(CipherMode::Cbc, Direction::Encrypt))
            && qemu.has(Algorithm::Hash(Digest::Sha1))
    );
    for other in [rsa, ecdsa, x25519, Algorithm::Gcm(Direction::Encrypt), Algorithm::Hash(Digest::Sha256)] {
        assert!(!qemu.has(other), "{other:?}");
    }
    let some = Offer { public_keys: 1 << 1, services: 1 << 4, ..qemu };
    assert!(some.has(rsa) && !some.has(ecdsa) && !some.has(x25519));
}

#[test]
fn answers_are_where_the_driver_looks() {
    assert_eq!(session_answer(Ok(0x0102)), *b"\x02\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
    assert_eq!(session_answer(Err(Status::NoSpace)), *b"\0\0\0\0\0\0\0\0\x05\0\0\0\0\0\0\0");
}

/// Every algorithm that there is.
fn algorithm() -> impl Strategy<Value = Algorithm> {
    let way = || prop::sample::select(vec![Direction::Encrypt, Direction::Decrypt]);
    let mode = prop::sample::select(vec![CipherMode::Cbc, CipherMode::Ctr, CipherMode::Xts]);
    let digests = vec![Digest::Sha1, Digest::Sha224, Digest::Sha256, Digest::Sha384, Digest::Sha512];
    let digest = move || prop::sample::select(digests.clone());
    let padding = prop_oneof![Just(RsaPadding::Raw), prop::option::of(digest()).prop_map(RsaPadding::Pkcs1)];
    let curve = prop::sample::select(vec![Curve::P256, Curve::P384, Curve::P521]);
    prop_oneof![
        (mode, way()).prop_map(|(mode, way)| Algorithm::Cipher(mode, way)),
        digest().prop_map(Algorithm::Hash),
        (digest(), 1usize..64).prop_map(|(digest, tag)| Algorithm::Mac { digest, tag }),
        way().prop_map(Algorithm::Gcm),
        (padding, any::<bool>()).prop_map(|(padding, private)| Algorithm::Rsa { padding, private }),
        (curve.clone(), any::<bool>()).prop_map(|(curve, private)| Algorithm::Ecdsa { curve, private }),
        curve.prop_map(|curve| Algorithm::Agreement(Group::Nist(curve))),
        Just(Algorithm::Agreement(Group::X25519)),
    ]
}

proptest! {
    #[test]
    fn what_is_composed_is_parsed(
        algorithm in algorithm(),
        key in prop::collection::vec(any::<u8>(), 0..100),
        number: u64,
        lengths: [u32; 4],
    ) {
        let key_bytes = if matches!(algorithm, Algorithm::Hash(_)) { 0 } else { key.len() };
        let new = NewSession { algorithm, key: key_bytes };
        prop_assert_eq!(Control::parse(&new.compose()), Ok(Control::Create(new)));
        prop_assert_eq!(Control::parse(&destroy(algorithm, number)), Ok(Control::Destroy(number)));
        prop_assert!(Offer::of(1, 1).has(algorithm));
        match new.message(&key) {
            Some(body) => {
                prop_assert_eq!(body.len(), 1072);
                let (session, theirs) = session_of_message(&body).unwrap();
                prop_assert_eq!((session.algorithm, &**theirs), (algorithm, &key[..]));
            }
            None => {
                let is_public = matches!(algorithm, Algorithm::Rsa { .. } | Algorithm::Ecdsa { .. });
                let is_long = matches!(algorithm, Algorithm::Cipher(..)) && key.len() > 64;
                prop_assert!(!is_public && (is_long || !matches!(algorithm, Algorithm::Cipher(..))));
            }
        }
        let [iv, source, associated, result] = lengths;
        let all = Request { session: number, work: Work::Encrypt, iv, source, associated, result };
        let none = Request { iv: 0, associated: 0, ..all };
        let requests = match algorithm {
            Algorithm::Cipher(..) => {
                vec![Request { associated: 0, ..all }, Request { associated: 0, work: Work::Decrypt, ..all }]
            }
            Algorithm::Hash(_) => vec![Request { work: Work::Hash, ..none }],
            Algorithm::Mac { .. } => vec![Request { work: Work::Mac, ..none }],
            Algorithm::Gcm(_) => vec![all, Request { work: Work::Decrypt, ..all }],
            Algorithm::Rsa { .. } | Algorithm::Ecdsa { .. } => [Work::Encrypt, Work::Decrypt, Work::Sign, Work::Verify]
                .map(|work| Request { work, ..none })
                .into(),
            Algorithm::Agreement(_) => vec![Request { work: Work::Agree, ..none }],
        };
        for request in requests {
            prop_assert_eq!(Request::parse(&request.compose(algorithm)), Ok(request));
        }
    }

    #[test]
    fn answers_are_read_as_they_were_written(id in 0u64..1 << 62, status in 1u8..7) {
        let status = Status::of(status).unwrap();
        prop_assert_eq!(opened(&session_answer(Ok(id))), Ok(id));
        prop_assert_eq!(opened(&session_answer(Err(status))), Err(status));
    }

    #[test]
    fn whatever_stands_there_is_parsed_or_refused(
        bytes in proptest::collection::vec(any::<u8>(), FIXED),
        operation in proptest::sample::select(vec![0u32, 1, 2, 3, 0x100, 0x102, 0x202, 0x302, 0x404, 0x400, 0x300, 0x1f00, 0x1f04]),
        body in proptest::collection::vec(any::<u8>(), 0..1200),
    ) {
        let mut fixed = [0; FIXED];
        fixed.copy_from_slice(&bytes);
        fixed[..4].copy_from_slice(&operation.to_le_bytes());
        let _ = Request::parse(&fixed);
        let mut answer = [0; SESSION_ANSWER];
        answer.copy_from_slice(&fixed[8..24]);
        let _ = opened(&answer);
        if let Ok(Control::Create(session)) = Control::parse(&fixed) {
            prop_assert!(session.key <= 6144);
        }
        let _ = Offer::of(1, 1).answer(&body);
        if let Ok((session, key)) = session_of_message(&body) {
            prop_assert_eq!(session.key, key.len());
        }
    }
}
