//! A card with tenants at sockets and in this process, and a tenant that encrypts and compares with another library.
//! Several test programs have this file.

use std::path::PathBuf;
use std::time::Duration;

use cbc::cipher::{BlockModeEncrypt, KeyIvInit};
use tollway_cipher::engine::device::{Card, NewFunction, Options as CardOptions};
use tollway_cipher::engine::driver::{Completion, Driver, Handle, Operation, Options};
use tollway_cipher::engine::protocol::{Status, Work};
use tollway_cipher::engine::suite::{Algorithm, CipherMode, Direction};
use tollway_virtio::Span;
use tollway_virtio::socket::{Listener, Meeting};

use crate::eventually::eventually;

/// How long anything may take.
pub const PATIENCE: Duration = Duration::from_secs(60);

pub const ENCRYPT: Algorithm = Algorithm::Cipher(CipherMode::Cbc, Direction::Encrypt);
pub const DECRYPT: Algorithm = Algorithm::Cipher(CipherMode::Cbc, Direction::Decrypt);

/// A card that runs.
pub struct Served {
    pub card: Card,
    folder: tempfile::TempDir,
}

impl Served {
    /// With so many functions at sockets, and one more in this process.
    pub fn start(sockets: usize, options: &CardOptions) -> Served {
        Served::with(sockets, options, |_, _| ())
    }

    /// The same, each changed by its number.
    pub fn with(sockets: usize, options: &CardOptions, change: impl Fn(usize, &mut NewFunction)) -> Served {
        let folder = tempfile::tempdir().unwrap();
        let listen = |number: usize| {
            let path = folder.path().join(format!("{number}.sock"));
            Meeting::Listen(Listener::bind(&path, 0o600).unwrap())
        };
        let meetings = (0..sockets).map(listen).chain([Meeting::Inside]);
        let functions = meetings.enumerate().map(|(number, meeting)| {
            let mut function = NewFunction::new(format!("f{number}"), meeting);
            change(number, &mut function);
            function
        });
        let card = Card::start(functions.collect(), options, |_| ()).unwrap();
        Served { card, folder }
    }

    pub fn socket(&self, function: usize) -> PathBuf {
        self.folder.path().join(format!("{function}.sock"))
    }

    /// A tenant of a function, by whichever door that has.
    pub fn driver(&self, function: usize, options: &Options) -> Driver {
        match self.card.inside(function) {
            Some(inside) => Driver::inside(inside, options).unwrap(),
            None => Driver::connect(&self.socket(function), options).unwrap(),
        }
    }

    /// Waits until a function is as it should be.
    pub fn wait_until(&self, wanted: impl Fn(&Card) -> bool) {
        until(|| wanted(&self.card), || format!("{:?}", self.card.status()));
    }
}

/// Waits until something is so; `otherwise` says what there is instead.
pub fn until(is_so: impl Fn() -> bool, otherwise: impl Fn() -> String) {
    struct Says<F: Fn() -> String>(F);
    impl<F: Fn() -> String> Drop for Says<F> {
        fn drop(&mut self) {
            if std::thread::panicking() {
                eprintln!("there is {}", (self.0)());
            }
        }
    }
    let _says = Says(otherwise);
    eventually("what is waited for is so", is_so);
}

/// What RustCrypto makes of it, with AES-128 in CBC.
pub fn encrypted(key: &[u8; 16], iv: &[u8; 16], text: &[u8]) -> Vec<u8> {
    let mut bytes = text.to_vec();
    let (blocks, rest) = aes::Block::slice_as_chunks_mut(&mut bytes);
    assert!(rest.is_empty());
    cbc::Encryptor::<aes::Aes128>::new(key.into(), iv.into()).encrypt_blocks(blocks);
    bytes
}

/// An operation of a cipher.
pub fn operation<'a>(session: Handle, iv: &'a [u8], source: &'a [Span], result: &'a [Span]) -> Operation<'a> {
    let work = if session.algorithm == DECRYPT { Work::Decrypt } else { Work::Encrypt };
    Operation::new(session, work, iv, source, result)
}

/// Has one request done, of whatever kind.
pub fn ask(driver: &mut Driver, operation: &Operation<'_>) -> Completion {
    let queue = &mut driver.queues[0];
    assert!(queue.submit(77, operation).unwrap());
    queue.kick();
    let done = queue.wait(PATIENCE).unwrap().expect("nothing came");
    assert_eq!(done.token, 77);
    done
}

/// Encrypts `rounds` texts of so many bytes with `depth` of them on their way at a time, in pieces, and compares each.
pub fn encrypts(
    driver: &mut Driver,
    number: usize,
    key: &[u8; 16],
    session: Handle,
    bytes: usize,
    rounds: u64,
    depth: u64,
) {
    let (area, free) = (driver.area().clone(), driver.free());
    let queue = &mut driver.queues[number];
    let place = |token: u64| free + (number * 64 + token as usize % depth as usize) * 2 * bytes;
    let text = |token: u64| -> Vec<u8> { (0..bytes).map(|at| (at as u64 * 7 + token * 13) as u8).collect() };
    let iv = |token: u64| [token as u8; 16];
    let (mut sent, mut back) = (0, 0);
    while back < rounds {
        while sent < rounds && sent < back + depth {
            let at = place(sent);
            area.write(at, &text(sent));
            let cut = 1 + sent as usize % (bytes - 1);
            let source = [Span { at, bytes: cut as u32 }, Span { at: at + cut, bytes: (bytes - cut) as u32 }];
            let result = [Span { at: at + bytes, bytes: bytes as u32 }];
            assert!(queue.submit(sent, &operation(session, &iv(sent), &source, &result)).unwrap());
            sent += 1;
        }
        queue.kick();
        let mut done = queue.wait(PATIENCE).unwrap();
        assert!(done.is_some(), "nothing came: {:?}", queue.looks());
        while let Some(found) = done {
            let expected = Completion { token: back, status: Status::Ok, bytes: bytes as u32 };
            assert_eq!(found, expected, "requests of a queue are done in their order");
            let mut result = vec![0; bytes];
            area.read(place(back) + bytes, &mut result);
            assert_eq!(result, encrypted(key, &iv(back), &text(back)));
            back += 1;
            done = queue.take().unwrap();
        }
    }
    assert_eq!(queue.in_flight(), 0);
}
