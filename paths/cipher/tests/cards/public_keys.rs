//! Public-key work through each door of the card, held against other libraries: numbers of any length (RSA), RustCrypto (curves).

use num_bigint::BigUint;
use p256::ecdsa::signature::hazmat::{PrehashSigner, PrehashVerifier};
use sha2::{Digest as _, Sha256};
use tollway_cipher::engine::device::Options as CardOptions;
use tollway_cipher::engine::driver::{Driver, Handle, Operation, Options, Through};
use tollway_cipher::engine::protocol::{Status, Work};
use tollway_cipher::engine::suite::{Algorithm, Curve, Digest, Group, RsaPadding};
use tollway_virtio::Span;

use crate::tenancy::{Served, ask};

/// The two primes of a key of 1024 bits, which fits into a message of QEMU's, and protects nothing (`openssl prime -generate`).
const PRIMES: [&str; 2] = [
    "cab9f128194e188844d32e22b281021759e6b53815ac294e1517a86b9dc037de5ed8082d0a038513932b7c028c6395596a47d8b0e7f612bad135ac5df2975f85",
    "cda25ca0115b0b3d6005a72aeac98b04565d297c335146b3afc068e98452c56d5df4d42f0a47d91d089f2ea8133a847eb204b7aa89acfb05783544e31e46f7e9",
];

/// A key of RSA, as its numbers and in DER.
struct Key {
    n: BigUint,
    e: BigUint,
    d: BigUint,
    private: Vec<u8>,
    public: Vec<u8>,
}

/// A number or a sequence in DER (X.690, 8.1, 8.3).
fn der(tag: u8, content: &[u8]) -> Vec<u8> {
    let len = content.len();
    match len {
        0..0x80 => [&[tag, len as u8], content].concat(),
        _ => [&[tag, 0x82, (len >> 8) as u8, len as u8], content].concat(),
    }
}

/// Numbers in DER; of lengths from 128 to 255 the shortest form has one byte.
fn sequence(numbers: &[&BigUint]) -> Vec<u8> {
    let number = |number: &&BigUint| {
        let mut bytes = number.to_bytes_be();
        if bytes[0] & 0x80 > 0 {
            bytes.insert(0, 0);
        }
        match bytes.len() {
            0x80..=0xff => [&[2, 0x81, bytes.len() as u8], &bytes[..]].concat(),
            _ => der(2, &bytes),
        }
    };
    let all: Vec<u8> = numbers.iter().flat_map(number).collect();
    match all.len() {
        0x80..=0xff => [&[0x30, 0x81, all.len() as u8], &all[..]].concat(),
        _ => der(0x30, &all),
    }
}

impl Key {
    /// RFC 8017, A.1.
    fn new() -> Key {
        let [p, q] = PRIMES.map(|prime| BigUint::parse_bytes(prime.as_bytes(), 16).unwrap());
        let (one, e) = (BigUint::from(1u8), BigUint::from(65_537u32));
        let [p1, q1] = [&p, &q].map(|prime| prime - &one);
        let d = e.modinv(&(&p1 * &q1)).unwrap();
        let n = &p * &q;
        let numbers = [&BigUint::ZERO, &n, &e, &d, &p, &q, &(&d % &p1), &(&d % &q1), &q.modinv(&p).unwrap()];
        let (private, public) = (sequence(&numbers), sequence(&[&n, &e]));
        Key { n, e, d, private, public }
    }

    fn power(&self, bytes: &[u8], exponent: &BigUint) -> Vec<u8> {
        let power = BigUint::from_bytes_be(bytes).modpow(exponent, &self.n).to_bytes_be();
        [vec![0; 128 - power.len()], power].concat()
    }
}

/// A tenant that asks for one thing after the other.
struct Tenant {
    driver: Driver,
}

impl Tenant {
    fn open(&mut self, algorithm: Algorithm, key: &[u8]) -> Handle {
        self.driver.open(algorithm, key).unwrap().unwrap_or_else(|status| panic!("{algorithm:?}: {status}"))
    }

    /// The source in two pieces, and what comes of it in room for so many bytes.
    fn run(&mut self, session: Handle, work: Work, source: &[u8], room: usize) -> Result<Vec<u8>, Status> {
        self.ask(session, work, source, room, 0)
    }

    fn verify(&mut self, session: Handle, signature: &[u8], digest: &[u8]) -> Status {
        let both = [signature, digest].concat();
        let done = self.ask(session, Work::Verify, &both, 0, digest.len());
        done.map_or_else(
            |status| status,
            |nothing| if nothing.is_empty() { Status::Ok } else { panic!("{nothing:?}") },
        )
    }

    fn ask(
        &mut self,
        session: Handle,
        work: Work,
        source: &[u8],
        room: usize,
        digest: usize,
    ) -> Result<Vec<u8>, Status> {
        let (area, at) = (self.driver.area().clone(), self.driver.free());
        area.write(at, source);
        let span = |at: usize, bytes: usize| Span { at, bytes: bytes as u32 };
        let half = source.len() / 2;
        let sources = [span(at, half), span(at + half, source.len() - half)];
        let result = [span(at + 4096, room)];
        let result = if room > 0 { &result[..] } else { &[] };
        let operation =
            Operation { digest: digest as u32, ..Operation::new(session, work, &[], &sources, result) };
        let done = ask(&mut self.driver, &operation);
        let mut bytes = vec![0; done.bytes as usize];
        area.read(at + 4096, &mut bytes);
        if done.status == Status::Ok { Ok(bytes) } else { Err(done.status) }
    }
}

/// A tenant at each door; its sessions are made in each way that there is.
fn at_each_door(test: impl Fn(&mut Tenant)) {
    let served = Served::start(1, &CardOptions::default());
    for function in 0..2 {
        for sessions in [Through::ControlQueue, Through::Messages] {
            let driver = served.driver(function, &Options { sessions, ..Options::default() });
            test(&mut Tenant { driver });
            served.wait_until(|card| card.status().functions[function].sessions == 0);
        }
    }
}

#[test]
fn rsa_is_what_the_numbers_say() {
    let key = Key::new();
    at_each_door(|tenant| {
        let rsa = |padding, private| Algorithm::Rsa { padding, private };
        let text: Vec<u8> = (1..=128).map(|byte| byte % 100).collect();
        let [public, private] = [(false, &key.public), (true, &key.private)]
            .map(|(private, der)| tenant.open(rsa(RsaPadding::Raw, private), der));
        let coded = tenant.run(public, Work::Encrypt, &text, 128).unwrap();
        assert_eq!(coded, key.power(&text, &key.e));
        assert_eq!(tenant.run(private, Work::Decrypt, &coded, 128).unwrap(), text);
        assert_eq!(tenant.run(public, Work::Decrypt, &coded, 128), Err(Status::NotSupported));
        assert_eq!(
            tenant.run(private, Work::Sign, &text, 128),
            Err(Status::NotSupported),
            "nothing is signed bare"
        );

        // RFC 8017, 7.2.1 and 9.2.
        let plain = tenant.open(rsa(RsaPadding::Pkcs1(None), true), &key.private);
        let coded = tenant.run(plain, Work::Encrypt, b"a session key", 128).unwrap();
        let padded = key.power(&coded, &key.d);
        assert!(padded.starts_with(&[0, 2]) && padded.ends_with(b"\0a session key"), "{padded:?}");
        assert_eq!(tenant.run(plain, Work::Decrypt, &coded, 117).unwrap(), b"a session key");
        let padding = RsaPadding::Pkcs1(Some(Digest::Sha256));
        let [holder, signer] = [(false, &key.public), (true, &key.private)]
            .map(|(private, der)| tenant.open(rsa(padding, private), der));
        let digest = Sha256::digest(b"what is signed");
        let signature = tenant.run(signer, Work::Sign, &digest, 128).unwrap();
        let info = [
            &[0x30, 0x31, 0x30, 0x0d, 6, 9, 0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, 1, 5, 0, 4, 0x20],
            &digest[..],
        ]
        .concat();
        let encoded = [&[0, 1], &vec![0xff; 125 - info.len()][..], &[0], &info].concat();
        assert_eq!(signature, key.power(&encoded, &key.d));
        assert_eq!(tenant.verify(holder, &signature, &digest), Status::Ok);
        let mut other = signature.clone();
        other[100] ^= 1;
        assert_eq!(tenant.verify(holder, &other, &digest), Status::KeyRejected);
        assert_eq!(
            tenant.verify(holder, &signature, &Sha256::digest(b"something else")),
            Status::KeyRejected
        );
        for session in [public, private, plain, holder, signer] {
            assert_eq!(tenant.driver.close(session).unwrap(), Status::Ok);
        }
    });
}

/// An `ECPrivateKey` (RFC 5915, 3).
fn private_key(scalar: &[u8]) -> Vec<u8> {
    let len = scalar.len() as u8;
    [&[0x30, len + 5, 2, 1, 1, 4, len], scalar].concat()
}

macro_rules! ecdsa {
    ($tenant:expr, $library:ident, $curve:expr, $bytes:expr) => {{
        let mut scalar = vec![0x17; $bytes];
        scalar[0] = 0;
        let secret = $library::SecretKey::from_slice(&scalar).unwrap();
        let digest = [0x5c; 64];
        let digest = &digest[..$bytes.min(64)];
        let signer = $tenant.open(Algorithm::Ecdsa { curve: $curve, private: true }, &private_key(&scalar));
        let point = secret.public_key().to_sec1_bytes();
        let holder = $tenant.open(Algorithm::Ecdsa { curve: $curve, private: false }, &point);
        let ours = $tenant.run(signer, Work::Sign, digest, 160).unwrap();
        let signature = $library::ecdsa::Signature::from_der(&ours).unwrap();
        let verifier = $library::ecdsa::VerifyingKey::from(secret.public_key());
        assert!(verifier.verify_prehash(digest, &signature).is_ok());
        let theirs: $library::ecdsa::Signature =
            $library::ecdsa::SigningKey::from(&secret).sign_prehash(digest).unwrap();
        let theirs = theirs.to_der();
        assert_eq!($tenant.verify(holder, theirs.as_bytes(), digest), Status::Ok);
        assert_eq!($tenant.verify(holder, theirs.as_bytes(), &[9; 32]), Status::KeyRejected);
        assert_eq!($tenant.run(holder, Work::Sign, digest, 160), Err(Status::NotSupported));
    }};
}

#[test]
fn ecdsa_is_the_other_librarys() {
    at_each_door(|tenant| {
        ecdsa!(tenant, p256, Curve::P256, 32);
        ecdsa!(tenant, p384, Curve::P384, 48);
        ecdsa!(tenant, p521, Curve::P521, 66);
    });
}

/// Sessions of agreement are made by the control queue alone.
#[test]
fn agreements_are_the_other_librarys() {
    let served = Served::start(1, &CardOptions::default());
    for function in 0..2 {
        let mut tenant = Tenant { driver: served.driver(function, &Options::default()) };
        let (key, peer) = ([0x21; 32], [0x55; 32]);
        let x25519 = tenant.open(Algorithm::Agreement(Group::X25519), &key);
        assert_eq!(tenant.run(x25519, Work::Agree, &peer, 32).unwrap(), x25519_dalek::x25519(key, peer));
        assert_eq!(tenant.run(x25519, Work::Agree, &[0; 32], 32), Err(Status::Err), "a secret that all know");
        assert_eq!(tenant.run(x25519, Work::Agree, &peer[..31], 32), Err(Status::Err));
        assert_eq!(tenant.run(x25519, Work::Sign, &peer, 32), Err(Status::NotSupported));
        let [secret, other] = [3, 5].map(|byte| p384::SecretKey::from_slice(&[byte; 48]).unwrap());
        let group = Algorithm::Agreement(Group::Nist(Curve::P384));
        let ecdh = tenant.open(group, &private_key(&secret.to_bytes()));
        let agreed = tenant.run(ecdh, Work::Agree, &other.public_key().to_sec1_bytes(), 48).unwrap();
        let theirs = p384::ecdh::diffie_hellman(secret.to_nonzero_scalar(), other.public_key().as_affine());
        assert_eq!(agreed, theirs.raw_secret_bytes().to_vec());
        for session in [x25519, ecdh] {
            assert_eq!(tenant.driver.close(session).unwrap(), Status::Ok);
        }
        assert_eq!(served.card.status().functions[function].sessions, 0);
    }
    let by_messages = Options { sessions: Through::Messages, ..Options::default() };
    let refused = served.driver(0, &by_messages).open(Algorithm::Agreement(Group::X25519), &[1; 32]);
    assert!(refused.unwrap_err().to_string().contains("no message has"));
}

#[test]
fn what_is_no_key_makes_no_session() {
    let key = Key::new();
    at_each_door(|tenant| {
        let rsa = Algorithm::Rsa { padding: RsaPadding::Raw, private: true };
        let ecdsa = |private| Algorithm::Ecdsa { curve: Curve::P256, private };
        let cut = &key.private[..key.private.len() - 1];
        let longer = [&key.private[..], &[0]].concat();
        let mut lies = key.private.clone();
        lies[2] = 0xff;
        for (algorithm, der) in [
            (rsa, cut),
            (rsa, &longer),
            (rsa, &lies),
            (rsa, &key.public),
            (rsa, &[]),
            (rsa, &[0x30, 0x84, 0xff, 0xff, 0xff, 0xff]),
            (ecdsa(true), &private_key(&[0; 32])),
            (ecdsa(true), &private_key(&[0xff; 32])),
            (ecdsa(false), &[4; 65]),
            (ecdsa(false), &[0]),
        ] {
            assert_eq!(
                tenant.driver.open(algorithm, der).unwrap(),
                Err(Status::Err),
                "{algorithm:?} {der:x?}"
            );
        }
    });
}

#[test]
fn a_tenant_learns_what_its_card_has() {
    let served = Served::start(1, &CardOptions { queues: 2, longest: 5000, ..CardOptions::default() });
    for function in 0..2 {
        let mut driver = served.driver(function, &Options { queues: 2, ..Options::default() });
        let offer = driver.offer().unwrap();
        assert!(offer.ready && offer.has(Algorithm::Agreement(Group::X25519)), "{offer:?}");
        assert_eq!((offer.queues, offer.longest, offer.public_keys), (2, 5000, 1 << 1 | 1 << 3));
    }
}
