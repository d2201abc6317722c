//! Hashes and codes against another library.

use hmac::{Hmac, KeyInit, Mac};
use proptest::prelude::*;
use sha1::Sha1;
use sha2::{Digest as _, Sha224, Sha256, Sha384, Sha512};
use tollway_cipher::engine::protocol::Work;
use tollway_cipher::engine::suite::{Algorithm, Digest, Session};

use super::memory::{Asked, layouts, run};

const ALL: [Digest; 5] = [Digest::Sha1, Digest::Sha224, Digest::Sha256, Digest::Sha384, Digest::Sha512];

fn hash(digest: Digest, bytes: &[u8]) -> Vec<u8> {
    match digest {
        Digest::Sha1 => Sha1::digest(bytes).to_vec(),
        Digest::Sha224 => Sha224::digest(bytes).to_vec(),
        Digest::Sha256 => Sha256::digest(bytes).to_vec(),
        Digest::Sha384 => Sha384::digest(bytes).to_vec(),
        Digest::Sha512 => Sha512::digest(bytes).to_vec(),
    }
}

fn code(digest: Digest, key: &[u8], bytes: &[u8]) -> Vec<u8> {
    fn with<M: Mac + KeyInit>(key: &[u8], bytes: &[u8]) -> Vec<u8> {
        <M as KeyInit>::new_from_slice(key).unwrap().chain_update(bytes).finalize().into_bytes().to_vec()
    }
    match digest {
        Digest::Sha1 => with::<Hmac<Sha1>>(key, bytes),
        Digest::Sha224 => with::<Hmac<Sha224>>(key, bytes),
        Digest::Sha256 => with::<Hmac<Sha256>>(key, bytes),
        Digest::Sha384 => with::<Hmac<Sha384>>(key, bytes),
        Digest::Sha512 => with::<Hmac<Sha512>>(key, bytes),
    }
}

proptest! {
    #[test]
    fn hashes_and_codes_are_the_other_librarys(
        bytes in proptest::collection::vec(any::<u8>(), 0..700),
        key in proptest::collection::vec(any::<u8>(), 0..300),
        cut in any::<proptest::sample::Index>(),
        layout in layouts(),
    ) {
        for digest in ALL {
            let right = hash(digest, &bytes);
            let session = Session::new(Algorithm::Hash(digest), &[]).unwrap();
            let asked = Asked { result: right.len(), ..Asked::cipher(Work::Hash, &[], &bytes) };
            prop_assert_eq!(run(&session, asked, &layout).unwrap(), right);

            let mut right = code(digest, &key, &bytes);
            right.truncate(1 + cut.index(right.len()));
            let session = Session::new(Algorithm::Mac { digest, tag: right.len() }, &key).unwrap();
            let asked = Asked { result: right.len(), ..Asked::cipher(Work::Mac, &[], &bytes) };
            for _ in 0..2 {
                prop_assert_eq!(&run(&session, asked, &layout).unwrap(), &right);
            }
        }
    }
}
