//! Ciphers against another library, in any lengths, cuts and places, both ways.

use aes::cipher::{
    Array, BlockCipherDecrypt, BlockCipherEncrypt, BlockModeDecrypt, BlockModeEncrypt, BlockSizeUser,
    InnerIvInit, KeyInit, KeyIvInit, StreamCipher,
};
use aes::{Aes128, Aes192, Aes256};
use aes_gcm::AesGcm;
use aes_gcm::aead::{Aead, Payload};
use proptest::prelude::*;
use tollway_cipher::engine::protocol::{Status, Work};
use tollway_cipher::engine::suite::{Algorithm, CipherMode, Direction, Session};

use super::memory::{Asked, layouts, run, run_in_place};

type U12 = aes::cipher::consts::U12;
type U16 = aes::cipher::consts::U16;

fn session(mode: CipherMode, direction: Direction, key: &[u8]) -> Session {
    Session::new(Algorithm::Cipher(mode, direction), key).unwrap()
}

/// A key for any AES, an IV, and bytes.
fn inputs(longest: usize) -> impl Strategy<Value = (Vec<u8>, [u8; 16], Vec<u8>)> {
    let key = prop_oneof![Just(16usize), Just(24), Just(32)]
        .prop_flat_map(|len| proptest::collection::vec(any::<u8>(), len));
    // A counter near its end runs over into what a carry of 32 bits would not reach.
    let iv = prop_oneof![
        any::<[u8; 16]>(),
        (any::<u8>(), 0u8..3).prop_map(|(first, below)| {
            let mut iv = [0xff; 16];
            (iv[0], iv[15]) = (first, 0xff - below);
            iv
        })
    ];
    (key, iv, proptest::collection::vec(any::<u8>(), 0..longest))
}

/// CBC by the other library.
fn cbc(key: &[u8], iv: &[u8; 16], bytes: &[u8], direction: Direction) -> Vec<u8> {
    fn with<C: KeyInit + BlockCipherEncrypt + BlockCipherDecrypt + BlockSizeUser<BlockSize = U16>>(
        key: &[u8],
        iv: &[u8; 16],
        bytes: &[u8],
        direction: Direction,
    ) -> Vec<u8> {
        let (mut bytes, iv, cipher) = (bytes.to_vec(), Array::from(*iv), C::new_from_slice(key).unwrap());
        let blocks = bytes.chunks_mut(16).map(|block| block.try_into().unwrap());
        match direction {
            Direction::Encrypt => {
                let mut chain = cbc::Encryptor::inner_iv_init(cipher, &iv);
                blocks.for_each(|block| chain.encrypt_block(block));
            }
            Direction::Decrypt => {
                let mut chain = cbc::Decryptor::inner_iv_init(cipher, &iv);
                blocks.for_each(|block| chain.decrypt_block(block));
            }
        }
        bytes
    }
    match key.len() {
        16 => with::<Aes128>(key, iv, bytes, direction),
        24 => with::<Aes192>(key, iv, bytes, direction),
        _ => with::<Aes256>(key, iv, bytes, direction),
    }
}

/// Counter mode by the other library.
fn ctr(key: &[u8], iv: &[u8; 16], bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    match key.len() {
        16 => ctr::Ctr128BE::<Aes128>::new_from_slices(key, iv).unwrap().apply_keystream(&mut bytes),
        24 => ctr::Ctr128BE::<Aes192>::new_from_slices(key, iv).unwrap().apply_keystream(&mut bytes),
        _ => ctr::Ctr128BE::<Aes256>::new_from_slices(key, iv).unwrap().apply_keystream(&mut bytes),
    }
    bytes
}

/// XTS by the other library's mode.
fn xts(key: &[u8], tweak: [u8; 16], bytes: &[u8], direction: Direction) -> Vec<u8> {
    fn with<C: KeyInit + BlockCipherEncrypt + BlockCipherDecrypt + BlockSizeUser<BlockSize = U16>>(
        key: &[u8],
        tweak: [u8; 16],
        bytes: &[u8],
        direction: Direction,
    ) -> Vec<u8> {
        let (data, second) = key.split_at(key.len() / 2);
        let xts = xts_mode::Xts128::new(C::new_from_slice(data).unwrap(), C::new_from_slice(second).unwrap());
        let mut bytes = bytes.to_vec();
        match direction {
            Direction::Encrypt => xts.encrypt_sector(&mut bytes, tweak.into()),
            Direction::Decrypt => xts.decrypt_sector(&mut bytes, tweak.into()),
        }
        bytes
    }
    if key.len() == 32 {
        with::<Aes128>(key, tweak, bytes, direction)
    } else {
        with::<Aes256>(key, tweak, bytes, direction)
    }
}

/// Of AES-256, XTS by AWS-LC in one piece.
fn xts_of_aws(key: &[u8], tweak: [u8; 16], bytes: &[u8], direction: Direction) -> Vec<u8> {
    use aws_lc_sys::{
        EVP_CIPHER_CTX_free, EVP_CIPHER_CTX_new, EVP_CipherInit_ex, EVP_CipherUpdate, EVP_aes_256_xts,
    };
    assert_eq!(key.len(), 64);
    let mut result = vec![0; bytes.len()];
    let mut written = 0;
    // SAFETY: the key has the 64 bytes of this cipher, the tweak 16; XTS writes as many bytes as it reads.
    unsafe {
        let context = EVP_CIPHER_CTX_new();
        let encrypt = i32::from(direction == Direction::Encrypt);
        let none = std::ptr::null_mut();
        assert_eq!(
            EVP_CipherInit_ex(context, EVP_aes_256_xts(), none, key.as_ptr(), tweak.as_ptr(), encrypt),
            1
        );
        let len = bytes.len() as i32;
        assert_eq!(EVP_CipherUpdate(context, result.as_mut_ptr(), &mut written, bytes.as_ptr(), len), 1);
        EVP_CIPHER_CTX_free(context);
    }
    result
}

/// GCM by the other library: cipher text and tag.
fn gcm(key: &[u8], iv: &[u8; 12], associated: &[u8], text: &[u8]) -> Vec<u8> {
    let (iv, payload) = (Array::from(*iv), Payload { msg: text, aad: associated });
    match key.len() {
        16 => AesGcm::<Aes128, U12>::new_from_slice(key).unwrap().encrypt(&iv, payload),
        24 => AesGcm::<Aes192, U12>::new_from_slice(key).unwrap().encrypt(&iv, payload),
        _ => AesGcm::<Aes256, U12>::new_from_slice(key).unwrap().encrypt(&iv, payload),
    }
    .unwrap()
}

const WAYS: [(Direction, Work); 2] =
    [(Direction::Encrypt, Work::Encrypt), (Direction::Decrypt, Work::Decrypt)];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn cbc_is_the_other_librarys((key, iv, mut bytes) in inputs(1500), layout in layouts()) {
        bytes.truncate(bytes.len() / 16 * 16);
        for (direction, work) in WAYS {
            let right = cbc(&key, &iv, &bytes, direction);
            let session = session(CipherMode::Cbc, direction, &key);
            let asked = Asked::cipher(work, &iv, &bytes);
            prop_assert_eq!(&run(&session, asked, &layout).unwrap(), &right);
            prop_assert_eq!(&run_in_place(&session, asked, &layout).unwrap(), &right);
        }
    }

    #[test]
    fn ctr_is_the_other_librarys((key, iv, bytes) in inputs(1500), layout in layouts()) {
        let right = ctr(&key, &iv, &bytes);
        for (direction, work) in WAYS {
            let session = session(CipherMode::Ctr, direction, &key);
            let asked = Asked::cipher(work, &iv, &bytes);
            prop_assert_eq!(&run(&session, asked, &layout).unwrap(), &right);
            prop_assert_eq!(&run_in_place(&session, asked, &layout).unwrap(), &right);
        }
    }

    #[test]
    fn xts_is_the_other_librarys(
        key in any::<([u8; 32], [u8; 32])>(),
        tweak in any::<[u8; 16]>(),
        bytes in prop_oneof![
            proptest::collection::vec(any::<u8>(), 16..100),
            proptest::collection::vec(any::<u8>(), 16..3000),
        ],
        layout in layouts(),
    ) {
        let key = [key.0, key.1].concat();
        for key in [&key[..32], &key] {
            for (direction, work) in WAYS {
                let right = xts(key, tweak, &bytes, direction);
                if key.len() == 64 {
                    prop_assert_eq!(&xts_of_aws(key, tweak, &bytes, direction), &right);
                }
                let session = session(CipherMode::Xts, direction, key);
                let asked = Asked::cipher(work, &tweak, &bytes);
                prop_assert_eq!(&run(&session, asked, &layout).unwrap(), &right);
                prop_assert_eq!(&run_in_place(&session, asked, &layout).unwrap(), &right);
            }
        }
    }

    #[test]
    fn gcm_is_the_other_librarys(
        (key, iv, text) in inputs(1500),
        associated in proptest::collection::vec(any::<u8>(), 0..100),
        layout in layouts(),
        flip in any::<proptest::sample::Index>(),
    ) {
        let iv = iv.first_chunk::<12>().unwrap();
        let sealed = gcm(&key, iv, &associated, &text);
        let seal = Session::new(Algorithm::Gcm(Direction::Encrypt), &key).unwrap();
        let open = Session::new(Algorithm::Gcm(Direction::Decrypt), &key).unwrap();
        let asked = Asked { associated: &associated, ..Asked::cipher(Work::Encrypt, iv, &text) };
        let asked = Asked { result: sealed.len(), ..asked };
        prop_assert_eq!(&run(&seal, asked, &layout).unwrap(), &sealed);
        prop_assert_eq!(&run_in_place(&seal, asked, &layout).unwrap(), &sealed);
        let asked = Asked { work: Work::Decrypt, source: &sealed, result: text.len(), ..asked };
        prop_assert_eq!(&run(&open, asked, &layout).unwrap(), &text);
        prop_assert_eq!(&run_in_place(&open, asked, &layout).unwrap(), &text);
        // Any byte that is another: of the text, of the tag, of what is only authenticated.
        let mut all = [&sealed[..], &associated].concat();
        all[flip.index(sealed.len() + associated.len())] ^= 0x40;
        let (source, associated) = all.split_at(sealed.len());
        let asked = Asked { source, associated, ..asked };
        prop_assert_eq!(run(&open, asked, &layout), Err(Status::BadMessage));
        // The context is fit for the next.
        let asked = Asked { source: &sealed, associated: &[], ..asked };
        let right = if associated.is_empty() { Ok(text.clone()) } else { Err(Status::BadMessage) };
        prop_assert_eq!(run(&open, asked, &layout), right);
    }
}
