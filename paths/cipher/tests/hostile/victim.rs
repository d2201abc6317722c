//! A tenant that keeps to the rules while others do not: each answer that it gets is held against another library, and timed.

use std::fmt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use tollway_cipher::engine::driver::{Driver, Handle, Options};
use tollway_cipher::engine::protocol::Status;
use tollway_virtio::Span;

use super::tenancy::{ENCRYPT, encrypted, operation};

/// What nobody else may ever see.
pub const KEY: &[u8; 16] = b"the victim's key";
/// What its texts begin with.
pub const TEXT: &[u8; 16] = b"the victim's own";

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// What is between two requests: the processors are for others, too.
const PAUSE: Duration = Duration::from_micros(100);

const LENGTHS: [usize; 4] = [16, 64, 512, 4096];

/// What it had to wait for its answers.
pub struct Waits {
    pub answers: usize,
    pub median: Duration,
    pub p99: Duration,
    pub longest: Duration,
}

impl fmt::Display for Waits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Waits { answers, median, p99, longest } = self;
        write!(f, "{answers} answers, median {median:?}, p99 {p99:?}, the longest {longest:?}")
    }
}

/// Which sixteenth of which power of two.
fn bucket(nanos: u64) -> usize {
    let nanos = nanos.max(16);
    let power = nanos.ilog2();
    (power * 16) as usize + (nanos >> (power - 4) & 15) as usize
}

/// A tenant at a socket.
pub struct Victim {
    driver: Driver,
    session: Handle,
}

impl Victim {
    pub fn connect(socket: &Path) -> Victim {
        let mut driver = Driver::connect(socket, &Options::default()).unwrap();
        let session = driver.open(ENCRYPT, KEY).unwrap().unwrap();
        Victim { driver, session }
    }

    /// Asks for one thing after the other, with a pause between them, until `stop` says so.
    pub fn ask(&mut self, stop: impl Fn() -> bool) -> Waits {
        // In memory that does not grow: sixteenths of powers of two, so that what is told is right to 6 %.
        let (mut counts, mut answers, mut longest) = ([0u64; 64 * 16], 0, Duration::ZERO);
        while !stop() || answers == 0 {
            let took = self.once(answers);
            longest = longest.max(took);
            counts[bucket(took.as_nanos() as u64)] += 1;
            answers += 1;
            thread::sleep(PAUSE);
        }
        let at = |share: f64| {
            let mut left = (answers as f64 * share) as u64;
            let found = counts.iter().position(|count| {
                let is_there = *count > left;
                left = left.saturating_sub(*count);
                is_there
            });
            (0..).find(|nanos| bucket(nanos * 16) >= found.unwrap_or_default()).map_or(0, |nanos| nanos * 16)
        };
        let [median, p99] = [0.5, 0.99].map(|share| Duration::from_nanos(at(share)));
        Waits { answers, median, p99, longest }
    }

    fn once(&mut self, number: usize) -> Duration {
        let bytes = LENGTHS[number % LENGTHS.len()];
        let mut text: Vec<u8> = (0..bytes).map(|at| (at * 3 + number) as u8).collect();
        text[..TEXT.len()].copy_from_slice(TEXT);
        let iv = [number as u8; 16];
        let (area, at) = (self.driver.area().clone(), self.driver.free());
        area.write(at, &text);
        let span = |at: usize| [Span { at, bytes: bytes as u32 }];
        let (source, result) = (span(at), span(at + 4096));
        let operation = operation(self.session, &iv, &source, &result);
        let queue = &mut self.driver.queues[0];
        let begun = Instant::now();
        assert!(queue.submit(number as u64, &operation).unwrap());
        queue.kick();
        let done = queue.wait(PATIENCE).unwrap().expect("nothing came");
        let took = begun.elapsed();
        assert_eq!((done.token, done.status, done.bytes), (number as u64, Status::Ok, bytes as u32));
        let mut found = vec![0; bytes];
        area.read(at + 4096, &mut found);
        assert!(found == encrypted(KEY, &iv, &text), "a wrong answer");
        took
    }
}
