//! A tenant that keeps to the rules while others do not: each answer that it gets is held against another library, and timed.

use std::collections::VecDeque;
use std::fmt;
use std::path::Path;
use std::time::{Duration, Instant};

use tollway_cipher::engine::driver::{DataQueue, Driver, Handle, Options};
use tollway_cipher::engine::protocol::Status;
use tollway_virtio::Span;

use super::pause::pause;
use super::tenancy::{ENCRYPT, PATIENCE, encrypted, operation};

/// What nobody else may ever see.
pub const KEY: &[u8; 16] = b"the victim's key";
/// What its texts begin with.
pub const TEXT: &[u8; 16] = b"the victim's own";

/// What is between two requests: the processors are for others, too.
const PAUSE: Duration = Duration::from_micros(100);

const LENGTHS: [usize; 4] = [16, 64, 512, LONGEST];
const LONGEST: usize = 4096;

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

/// How a neighbour asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Habit {
    /// For one thing after the other, with a pause between them; it sleeps until it is told.
    Now,
    /// For this many things at a time, without end.
    Always(usize),
}

/// A tenant at a socket.
pub struct Victim {
    driver: Driver,
    session: Handle,
    habit: Habit,
}

/// What was asked for, and when.
struct Asked {
    text: Vec<u8>,
    begun: Instant,
}

impl Victim {
    /// At a card with so many data queues, which it uses in turns.
    pub fn connect(socket: &Path, habit: Habit, queues: usize) -> Victim {
        let depth = habit.depth();
        let options = Options { queues, bytes: 2 * depth * LONGEST, ..Options::default() };
        let mut driver = Driver::connect(socket, &options).unwrap();
        let session = driver.open(ENCRYPT, KEY).unwrap().unwrap();
        Victim { driver, session, habit }
    }

    /// Asks for one thing after the other until `stop` says so.
    pub fn ask(&mut self, stop: impl Fn() -> bool) -> Waits {
        // In memory that does not grow: sixteenths of powers of two, so that what is told is right to 6 %.
        let (mut counts, mut answers, mut longest) = ([0u64; 64 * 16], 0, Duration::ZERO);
        let (mut number, mut asked) = (0, VecDeque::new());
        while !stop() || answers == 0 {
            while asked.len() < self.habit.depth() {
                asked.push_back(self.submit(number));
                number += 1;
            }
            for queue in &mut self.driver.queues {
                queue.kick();
            }
            let took = self.take(answers, asked.pop_front().unwrap());
            longest = longest.max(took);
            counts[bucket(took.as_nanos() as u64)] += 1;
            answers += 1;
            if self.habit == Habit::Now {
                pause(PAUSE);
            }
        }
        while let Some(last) = asked.pop_front() {
            self.take(number - asked.len() - 1, last);
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

    /// The queue of a request.
    fn queue(&mut self, number: usize) -> &mut DataQueue {
        let queues = &mut self.driver.queues;
        let queue = number % queues.len();
        &mut queues[queue]
    }

    /// Where a request's text is, and its result.
    fn places(&self, number: usize) -> [usize; 2] {
        let at = self.driver.free() + 2 * LONGEST * (number % self.habit.depth());
        [at, at + LONGEST]
    }

    fn submit(&mut self, number: usize) -> Asked {
        let bytes = LENGTHS[number % LENGTHS.len()];
        let mut text: Vec<u8> = (0..bytes).map(|at| (at * 3 + number) as u8).collect();
        text[..TEXT.len()].copy_from_slice(TEXT);
        let places = self.places(number);
        self.driver.area().write(places[0], &text);
        let [source, result] = places.map(|at| [Span { at, bytes: bytes as u32 }]);
        let iv = [number as u8; 16];
        let operation = operation(self.session, &iv, &source, &result);
        let begun = Instant::now();
        assert!(self.queue(number).submit(number as u64, &operation).unwrap());
        Asked { text, begun }
    }

    /// Waits for the request of that number, and compares its result; how long it took.
    fn take(&mut self, number: usize, asked: Asked) -> Duration {
        let Asked { text, begun } = asked;
        let done = self.queue(number).wait(PATIENCE).unwrap().expect("nothing came");
        let took = begun.elapsed();
        assert_eq!((done.token, done.status, done.bytes), (number as u64, Status::Ok, text.len() as u32));
        let mut found = vec![0; text.len()];
        self.driver.area().read(self.places(number)[1], &mut found);
        assert!(found == encrypted(KEY, &[number as u8; 16], &text), "a wrong answer");
        took
    }
}

impl Habit {
    fn depth(self) -> usize {
        match self {
            Habit::Now => 1,
            Habit::Always(depth) => depth,
        }
    }
}
