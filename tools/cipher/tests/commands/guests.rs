//! Linux guests in QEMU whose virtio-crypto is this card, by QEMU's cryptodev-vhost-user, while a process uses the card, too.
//!
//! Where QEMU 8 or newer, a kernel or the static agent are missing the test says why it does nothing, unless `TOLLWAY_REQUIRE`
//! names `qemu8`: then it fails.

use std::env;
use std::fs::File;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tollway_cipher::engine::device::{FunctionStatus, Options as CardOptions};
use tollway_cipher::engine::driver::{Driver, Options};
use tollway_cipher::engine::protocol::Status;
use tollway_core::{GuestDevice, GuestSpec};
use tollway_host::requirement::skip_test;
use tollway_tenant::Agent;
use tollway_tenant::linux::{self, Boot, GuestOptions, LinuxGuest, vhost_user_crypto};
use tollway_tenant::probe::Probe;
use tollway_tenant::protocol::{Answer, Command};
use tollway_virtio::Span;

use crate::pause::pause;
use crate::tenancy::{ENCRYPT, Served, ask, encrypted, operation};

const PATIENCE: Duration = Duration::from_secs(300);

/// NIST SP 800-38A, appendix F.2.1: CBC-AES128.Encrypt, all four blocks.
const KEY: &str = "2b7e151628aed2a6abf7158809cf4f3c";
const IV: &str = "000102030405060708090a0b0c0d0e0f";
const PLAIN: &str = "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51\
                     30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710";
const CIPHER: &str = "7649abac8119b246cee98e9b12e9197d5086cb9b507219ee95db113a917678b2\
                      73bed6b8e3c1743b7116e69e222295163ff1caa1681fac09120eca307586e1a7";

fn bytes(digits: &str) -> Vec<u8> {
    (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap()).collect()
}

/// What a guest's kernel makes of it, by the card.
fn encipher(agent: &mut Agent, key: Vec<u8>, plain: Vec<u8>) -> Vec<u8> {
    let probe = Probe::Encipher { implementation: "virtio_crypto_aes_cbc".into(), key, iv: bytes(IV), plain };
    match agent.ask(1, Command::Probe(probe), Instant::now() + PATIENCE).unwrap() {
        Answer::Probed(found) => bytes(&found),
        other => panic!("{other:?}"),
    }
}

/// A process that uses the card: what it makes of a text is right, if it is longer than one piece, too.
struct Process {
    driver: Driver,
}

impl Process {
    fn encipher(&mut self, key: &[u8], plain: &[u8]) -> Vec<u8> {
        let session = self.driver.open(ENCRYPT, key).unwrap().unwrap();
        let (area, at) = (self.driver.area().clone(), self.driver.free());
        area.write(at, plain);
        let len = plain.len() as u32;
        let (source, result) = (
            [Span { at, bytes: 5 }, Span { at: at + 5, bytes: len - 5 }],
            [Span { at: at + 65_536, bytes: len }],
        );
        let done = ask(&mut self.driver, &operation(session, &bytes(IV), &source, &result));
        assert_eq!((done.status, done.bytes), (Status::Ok, len));
        let mut made = vec![0; plain.len()];
        area.read(at + 65_536, &mut made);
        assert_eq!(self.driver.close(session).unwrap(), Status::Ok);
        made
    }
}

#[test]
fn two_guests_and_a_process_share_a_card() {
    if let Err(missing) = linux::check(None) {
        return skip_test(&["qemu8"], &missing);
    }
    let boot = Boot::prepare(None).unwrap();
    if let Err(missing) = vhost_user_crypto(&boot.found().qemu) {
        return skip_test(&["qemu8"], &missing);
    }
    let turn = File::create(env::temp_dir().join("tollway-guest-tests.lock")).unwrap();
    turn.lock().unwrap();
    let served = Served::start(2, &CardOptions::default());

    // The process works all the while, and some more where the guests are quicker.
    let options = Options { bytes: 1 << 18, ..Options::default() };
    let mut process = Process { driver: served.driver(2, &options) };
    let end = AtomicBool::new(false);
    let rounds = thread::scope(|scope| {
        let (working, ended) = (
            scope.spawn(|| {
                let mut rounds = 0;
                while !end.load(Ordering::Acquire) || rounds <= 100 {
                    assert_eq!(process.encipher(&bytes(KEY), &bytes(PLAIN)), bytes(CIPHER));
                    rounds += 1;
                    // The guests are to have the processors, too.
                    pause(Duration::from_millis(1));
                }
                rounds
            }),
            &end,
        );
        let _end = Ends(ended);
        guests(&boot, &served);
        ended.store(true, Ordering::Release);
        working.join().unwrap()
    });
    let counts = served.card.status().functions[2].counts;
    assert_eq!((counts.requests, counts.failed), (rounds, 0));
}

/// Ends the process's work, also when the guests' fails.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

fn guests(boot: &Boot, served: &Served) {
    let begun = Instant::now();
    let mut guests = [0, 1].map(|function| {
        let socket = served.socket(function).display().to_string();
        let devices = vec![GuestDevice::VhostUser { kind: "crypto".into(), socket, listens: false }];
        let spec = GuestSpec { devices, ..GuestSpec::default() };
        LinuxGuest::start(boot, &GuestOptions { spec, ..GuestOptions::default() }).unwrap()
    });
    guests.iter_mut().for_each(|guest| guest.booted(begun + PATIENCE).unwrap());
    println!("QEMU {}: two guests booted in {:?}", boot.found().qemu.version, begun.elapsed());
    let mut agents = guests.each_mut().map(|guest| guest.agent(0).unwrap());
    let iv = bytes(IV).try_into().unwrap();
    for round in 0..5u8 {
        for (number, agent) in agents.iter_mut().enumerate() {
            assert_eq!(encipher(agent, bytes(KEY), bytes(PLAIN)), bytes(CIPHER), "guest {number}");
            // With another key, and longer than a page: of the two guests' sessions neither knows of the
            // other. Of 32 pages and of 52, which is what a socket holds, Linux's driver makes tables that
            // are longer than the ring.
            let key = [number as u8 ^ round; 16];
            let pages = [4, 31, 32, 52, 16][usize::from(round)];
            let plain: Vec<u8> = (0..pages * 4096).map(|at| (at / 7) as u8 ^ round).collect();
            let made = encipher(agent, key.into(), plain.clone());
            assert_ne!(made, plain);
            assert_eq!(made, encrypted(&key, &iv, &plain), "guest {number}");
        }
    }
    for function in &served.card.status().functions[..2] {
        println!("{function:?}");
        assert!(function.connected && function.served);
        assert!(function.counts.requests >= 10);
        let counts = function.counts;
        assert_eq!((counts.failed, counts.refused_chains, counts.refused_messages), (0, 0, 0));
        assert!(function.sessions <= 2, "sessions that were closed are still there");
    }
    for guest in guests {
        guest.stop(PATIENCE).unwrap();
    }
    let has_gone = |function: &FunctionStatus| !function.connected && function.sessions == 0;
    served.wait_until(|card| card.status().functions[..2].iter().all(has_gone));
}
