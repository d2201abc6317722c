//! How many requests a second a card does for one tenant of this process that looks for itself, the card on another core doing
//! the same; both touch the bytes.
//!
//! `cargo run --release -p tollway-cipher --example requests -- [BYTES] [IN FLIGHT] [SECONDS] [socket|inside]`

use std::time::{Duration, Instant};

use tollway_cipher::engine::device::{Card, Delivery, NewFunction, Options as CardOptions};
use tollway_cipher::engine::driver::{Driver, Operation, Options, Waiting};
use tollway_cipher::engine::protocol::{Status, Work};
use tollway_cipher::engine::suite::{Algorithm, CipherMode, Direction};
use tollway_core::Result;
use tollway_virtio::Span;
use tollway_virtio::order::Share;
use tollway_virtio::socket::{Listener, Meeting};

const PATIENCE: Duration = Duration::from_secs(10);

fn main() -> Result<()> {
    let argument = |number: usize, default: u64| {
        std::env::args().nth(number).map_or(default, |text| text.parse().expect("a number"))
    };
    let (bytes, depth, seconds) = (argument(1, 64) as usize, argument(2, 32), argument(3, 3));
    let socket = std::env::args().nth(4).is_some_and(|door| door == "socket");
    let path = std::env::temp_dir().join(format!("tollway-requests-{}.sock", std::process::id()));
    let meeting = if socket { Meeting::Listen(Listener::bind(&path, 0o600)?) } else { Meeting::Inside };
    let function =
        NewFunction { name: "tenant".into(), meeting, share: Share::default(), delivery: Delivery::Each };
    let spin = Duration::from_secs(3600);
    let card = Card::start(vec![function], &CardOptions { spin, ..CardOptions::default() }, |_| ())?;
    let options = Options {
        waiting: Waiting::Busy,
        bytes: 2 * bytes * depth as usize,
        depth: (depth as u16).next_power_of_two(),
        ..Options::default()
    };
    let mut driver = match card.inside(0) {
        Some(inside) => Driver::inside(inside, &options)?,
        None => Driver::connect(&path, &options)?,
    };
    let algorithm = Algorithm::Cipher(CipherMode::Cbc, Direction::Encrypt);
    let session = driver.open(algorithm, &[7; 16])?.expect("a key of AES");
    let (area, free) = (driver.area().clone(), driver.free());
    let queue = &mut driver.queues[0];
    let (mut text, mut result) = (vec![0; bytes], vec![0; bytes]);
    let (mut sent, mut done) = (0, 0);
    let (begun, mut last, mut before) = (Instant::now(), Instant::now(), 0);
    let span = |at: usize| [Span { at, bytes: bytes as u32 }];
    while begun.elapsed() < Duration::from_secs(seconds) {
        while sent < done + depth {
            let at = free + 2 * bytes * (sent % depth) as usize;
            text[0] = sent as u8;
            area.write(at, &text);
            let (source, target) = (span(at), span(at + bytes));
            let operation = Operation {
                session,
                work: Work::Encrypt,
                iv: &[1; 16],
                source: &source,
                associated: &[],
                result: &target,
                digest: 0,
            };
            assert!(queue.submit(sent, &operation)?);
            sent += 1;
        }
        queue.kick();
        let mut found = queue.wait(PATIENCE)?;
        while let Some(completion) = found {
            assert_eq!(completion.status, Status::Ok);
            area.read(free + 2 * bytes * (completion.token % depth) as usize + bytes, &mut result);
            done += 1;
            found = queue.take()?;
        }
        if last.elapsed() >= Duration::from_millis(500) {
            println!("{:.2} million/s", (done - before) as f64 / last.elapsed().as_secs_f64() / 1e6);
            (last, before) = (Instant::now(), done);
        }
    }
    Ok(())
}
