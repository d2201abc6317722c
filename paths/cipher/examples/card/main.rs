//! What a card does for process tenants, measured: the card on one processor, whoever asks on another, all by sockets of
//! vhost-user. `scripts/bench` holds the figures against the library alone; each call is a trial of its own.
//!
//! ```text
//! card one CIPHER BYTES DEPTH SECONDS        a tenant that touches its texts: requests a second
//! card library CIPHER BYTES DEPTH SECONDS    the same by the library alone
//! card transfer BYTES DEPTH SECONDS          the same with the texts only copied, on the other processor
//! card many ORDER QUANTUM WHAT SECONDS       16 tenants, WHAT: alike or flood; of 15 of them requests a second of the one with the
//!                                            fewest, and of each in the mean, the longest p99 of one, and that of all, in
//!                                            microseconds; requests a second of the other
//! ```
//! CIPHER: cbc or ctr, AES-128. ORDER: fair or arrival. The one that floods has its queue full of requests of 16 bytes.

mod alone;
mod many;
mod one;
mod served;

use std::process::ExitCode;
use std::time::Duration;

use tollway_cipher::engine::suite::{Algorithm, CipherMode, Direction};
use tollway_core::{Error, Result};
use tollway_host::cpu::allowed_cpus;

/// What is asked of whom.
#[derive(Clone, Copy)]
pub struct Load {
    /// By which cipher.
    pub algorithm: Algorithm,
    /// Of each request.
    pub bytes: usize,
    /// Requests on their way.
    pub depth: usize,
    /// How long it is measured.
    pub time: Duration,
}

/// The key of everybody: what is measured is no secret.
pub const KEY: [u8; 16] = [7; 16];
/// The IV of everybody.
pub const IV: [u8; 16] = [1; 16];

/// Where who asks is, and where the card is.
pub fn processors() -> Result<[u32; 2]> {
    match allowed_cpus()?[..] {
        [first, second, ..] => Ok([first, second]),
        _ => Err(Error::system("looking for two processors", "there is one")),
    }
}

fn load(cipher: &str, bytes: &str, depth: &str, seconds: &str) -> Option<Load> {
    let mode = match cipher {
        "cbc" => CipherMode::Cbc,
        "ctr" => CipherMode::Ctr,
        _ => return None,
    };
    let (bytes, depth): (usize, usize) = (bytes.parse().ok()?, depth.parse().ok()?);
    let time = time(seconds)?;
    let is_possible = bytes.is_multiple_of(16) && bytes > 0 && (1..=1024).contains(&depth);
    is_possible.then_some(Load { algorithm: Algorithm::Cipher(mode, Direction::Encrypt), bytes, depth, time })
}

fn time(seconds: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(seconds.parse().ok()?).ok()
}

fn main() -> Result<ExitCode> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["one", cipher, bytes, depth, seconds] => load(cipher, bytes, depth, seconds).map(one::serves),
        ["asks", socket, cipher, bytes, depth, seconds] => {
            load(cipher, bytes, depth, seconds).map(|load| one::asks(socket.as_ref(), &load))
        }
        ["library", cipher, bytes, depth, seconds] => load(cipher, bytes, depth, seconds).map(alone::library),
        ["transfer", bytes, depth, seconds] => load("cbc", bytes, depth, seconds).map(alone::transfer),
        ["many", order, quantum, what, seconds] => {
            many::trial(order, quantum, what, seconds).map(many::serves)
        }
        ["drives", folder, what, seconds] => {
            many::trial("fair", "1", what, seconds).map(|trial| many::drives(folder.as_ref(), &trial))
        }
        _ => None,
    };
    match done {
        Some(done) => done.map(|()| ExitCode::SUCCESS),
        None => {
            eprintln!("card: see the beginning of paths/cipher/examples/card/main.rs");
            Ok(ExitCode::from(2))
        }
    }
}
