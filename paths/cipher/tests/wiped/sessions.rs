//! Sessions of the suite alone: what the libraries leave behind, too.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use tollway_cipher::engine::protocol::{Status, Work};
use tollway_cipher::engine::suite::{
    Algorithm, CipherMode, Curve, Digest, Direction, Group, Job, RsaPadding, Session,
};
use vm_memory::VolatileSlice;
use zeroize::{Zeroize, Zeroizing};

use crate::search::{Inverted, parts, places};

/// The sixth round key of AES, and of HMAC-SHA-256 what stands for the key: not the key, but as good.
pub fn derived(algorithm: Algorithm, key: &[u8]) -> Option<Inverted> {
    use aws_lc_sys::{AES_KEY, AES_set_encrypt_key, SHA256_CTX, SHA256_Init, SHA256_Update};
    match algorithm {
        Algorithm::Cipher(CipherMode::Cbc | CipherMode::Ctr, Direction::Encrypt) | Algorithm::Gcm(_) => {
            let mut keys = AES_KEY { rd_key: [0; 60], rounds: 0 };
            // SAFETY: the key has as many bytes as is said.
            assert_eq!(unsafe { AES_set_encrypt_key(key.as_ptr(), 8 * key.len() as u32, &mut keys) }, 0);
            let mut sixth: Vec<u8> = keys.rd_key[20..24].iter().flat_map(|word| word.to_ne_bytes()).collect();
            keys.rd_key.zeroize();
            Some(Inverted::of(&mut sixth))
        }
        Algorithm::Mac { digest: Digest::Sha256, .. } => {
            let mut block = Zeroizing::new([0x36; 64]);
            block.iter_mut().zip(key).for_each(|(byte, key)| *byte ^= key);
            let mut place = std::mem::MaybeUninit::<SHA256_CTX>::uninit();
            // SAFETY: `SHA256_Init` makes the state, and the block has its 64 bytes.
            let state = unsafe {
                SHA256_Init(place.as_mut_ptr());
                SHA256_Update(place.as_mut_ptr(), block.as_ptr().cast(), 64);
                place.assume_init_mut()
            };
            let mut words: Vec<u8> = state.h.iter().flat_map(|word| word.to_ne_bytes()).collect();
            state.h.zeroize();
            state.data.zeroize();
            Some(Inverted::of(&mut words))
        }
        _ => None,
    }
}

/// A session to be, and work for it.
pub struct Case {
    pub algorithm: Algorithm,
    pub key: Inverted,
    /// Where in the key what is secret begins.
    secret: usize,
    pub work: Work,
    iv: &'static [u8],
    pub source: usize,
}

impl Case {
    /// Whatever is as good as the key: any sixteen bytes of it, first to last, and last to first as numbers are kept.
    pub fn looked_for(&self) -> Vec<Inverted> {
        parts(&self.key, self.secret).chain(derived(self.algorithm, &self.key.bytes())).collect()
    }

    fn session(&self) -> Session {
        Session::new(self.algorithm, &self.key.bytes()).unwrap()
    }

    fn work(&self, session: &Session) {
        let (mut source, mut result) = ([7; 400], [0; 416]);
        let source = &[VolatileSlice::from(&mut source[..self.source])];
        let result = &[VolatileSlice::from(&mut result[..])];
        let job = Job { work: self.work, iv: self.iv, associated: &[], source, result, digest: 0 };
        let done = session.run(&job);
        let is_opened = self.algorithm == Algorithm::Gcm(Direction::Decrypt);
        assert_eq!(done.err(), is_opened.then_some(Status::BadMessage));
    }
}

/// Sessions of every kind, with keys that nobody had before.
pub fn cases() -> Vec<Case> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(std::process::id().into());
    let mut bytes = |len: usize| {
        let mut key = vec![0; len];
        random.fill_bytes(&mut key);
        key[0] &= 0x7f;
        Inverted::of(&mut key)
    };
    let mac = Algorithm::Mac { digest: Digest::Sha256, tag: 32 };
    let mut cases = vec![
        Case { algorithm: mac, key: bytes(48), secret: 0, work: Work::Mac, iv: &[], source: 400 },
        Case {
            algorithm: Algorithm::Agreement(Group::X25519),
            key: bytes(32),
            secret: 0,
            work: Work::Agree,
            iv: &[],
            source: 32,
        },
        Case {
            algorithm: Algorithm::Ecdsa { curve: Curve::P256, private: true },
            key: Inverted([&[0x30, 37, 2, 1, 1, 4, 32].map(|byte: u8| !byte), &bytes(32).0[..]].concat()),
            secret: 7,
            work: Work::Sign,
            iv: &[],
            source: 32,
        },
        Case {
            algorithm: Algorithm::Rsa { padding: RsaPadding::Raw, private: true },
            key: rsa_key(2048),
            // The modulus and the public exponent come first.
            secret: 280,
            work: Work::Decrypt,
            iv: &[],
            source: 250,
        },
        Case {
            algorithm: Algorithm::Rsa { padding: RsaPadding::Pkcs1(None), private: true },
            // Short enough for a message.
            key: rsa_key(1024),
            secret: 150,
            work: Work::Sign,
            iv: &[],
            source: 32,
        },
    ];
    for (way, work) in [(Direction::Encrypt, Work::Encrypt), (Direction::Decrypt, Work::Decrypt)] {
        for mode in [CipherMode::Cbc, CipherMode::Ctr, CipherMode::Xts] {
            let key = bytes(if mode == CipherMode::Xts { 64 } else { 32 });
            let algorithm = Algorithm::Cipher(mode, way);
            cases.push(Case { algorithm, key, secret: 0, work, iv: &[1; 16], source: 400 });
        }
        let (algorithm, key) = (Algorithm::Gcm(way), bytes(16));
        cases.push(Case { algorithm, key, secret: 0, work, iv: &[1; 12], source: 400 });
    }
    cases
}

/// An `RSAPrivateKey`.
fn rsa_key(bits: i32) -> Inverted {
    use aws_lc_sys::{
        BN_free, BN_new, BN_set_word, OPENSSL_free, RSA_free, RSA_generate_key_ex, RSA_new,
        RSA_private_key_to_bytes,
    };
    let (mut bytes, mut len) = (std::ptr::null_mut(), 0);
    // SAFETY: what is made here is used as what it is, and freed once, after the bytes, of which there are as many as is said.
    unsafe {
        let (rsa, e) = (RSA_new(), BN_new());
        assert_eq!(BN_set_word(e, 65537), 1);
        assert_eq!(RSA_generate_key_ex(rsa, bits, e, std::ptr::null_mut()), 1);
        assert_eq!(RSA_private_key_to_bytes(&mut bytes, &mut len, rsa), 1);
        let key = Inverted::of(std::slice::from_raw_parts_mut(bytes, len));
        OPENSSL_free(bytes.cast());
        RSA_free(rsa);
        BN_free(e);
        key
    }
}

#[test]
fn a_key_is_gone_with_its_session() {
    let _alone = crate::alone();
    for case in cases() {
        let (algorithm, looked_for) = (case.algorithm, case.looked_for());
        let before = places(&looked_for);
        assert!(before.is_empty(), "{algorithm:?}: found before there was a session: {before:#?}");
        let session = case.session();
        case.work(&session);
        let alive = places(&looked_for);
        assert!(!alive.is_empty(), "{algorithm:?}: not even found while it was there");
        drop(session);
        let gone = places(&looked_for);
        assert!(gone.is_empty(), "{algorithm:?}: still there: {gone:#?}, of {alive:#?}");
    }
}
