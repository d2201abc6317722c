//! Tenants that ask for much at a time: one that gives its memory back while the card works in it, and processes that are killed in
//! mid-request.

use std::env;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use tollway_cipher::engine::device::Card;
use tollway_cipher::engine::driver::{Driver, Handle, Options};
use tollway_cipher::engine::protocol::Status;
use tollway_cipher::engine::suite::{Algorithm, CipherMode, Direction};
use tollway_virtio::Span;

use super::pause::pause;
use super::tenancy::{operation, until};

/// The socket of a process that is to be killed, how many data queues its card has, and a variable that has it end by itself instead.
const SOCKET: &str = "TOLLWAY_TEST_SOCKET";
const QUEUES: &str = "TOLLWAY_TEST_QUEUES";
const ENDS: &str = "TOLLWAY_TEST_ENDS";

/// Bytes of a request, and how many are on their way.
const BYTES: usize = 64 << 10;
const DEPTH: usize = 8;

/// Requests that are done before a process is killed, or ends.
const SOME: u64 = 100;

/// A tenant that asks for much.
struct Large {
    driver: Driver,
    session: Handle,
}

impl Large {
    fn connect(socket: &Path, queues: usize) -> Large {
        let options = Options { queues, bytes: 2 * DEPTH * BYTES, ..Options::default() };
        let mut driver = Driver::connect(socket, &options).unwrap();
        let algorithm = Algorithm::Cipher(CipherMode::Ctr, Direction::Encrypt);
        let session = driver.open(algorithm, &[1; 16]).unwrap().unwrap();
        Large { driver, session }
    }

    /// Has all of its requests on their way.
    fn submit(&mut self) {
        let (free, queue) = (self.driver.free(), &mut self.driver.queues[0]);
        for number in 0..DEPTH {
            let span = |half: usize| [Span { at: free + (2 * number + half) * BYTES, bytes: BYTES as u32 }];
            let (source, result) = (span(0), span(1));
            let operation = operation(self.session, &[1; 16], &source, &result);
            assert!(queue.submit(number as u64, &operation).unwrap());
        }
        queue.kick();
    }

    /// Takes what is done; whether all is.
    fn take(&mut self) -> bool {
        let queue = &mut self.driver.queues[0];
        while let Some(done) = queue.take().unwrap() {
            assert_eq!(done.status, Status::Ok);
        }
        queue.in_flight() == 0
    }
}

/// Gives memory back to the kernel while the card reads and writes it, unless it keeps to the rules; how often. When it has kept
/// the others waiting for too long, its queue is given up: it comes anew.
pub fn punches_holes(
    (socket, queues): (&Path, usize),
    (card, function): (&Card, usize),
    keeps_rules: bool,
    stop: impl Fn() -> bool,
) -> u64 {
    let given_up = || card.status().functions[function].counts.refused_chains;
    let mut holes = 0;
    while !stop() {
        let (mut large, before) = (Large::connect(socket, queues), given_up());
        let area = large.driver.area().clone();
        let (at, bytes) = (large.driver.free(), 2 * DEPTH * BYTES);
        // SAFETY: pages of the shared memory that the area keeps mapped; nothing is kept in these. Memory that is locked could not
        // be given back.
        let punch = || unsafe {
            let start = area.as_ptr().add(at).cast();
            let _ = rustix::mm::munlock(start, bytes);
            rustix::mm::madvise(start, bytes, rustix::mm::Advice::LinuxRemove)
        };
        while !stop() && given_up() == before {
            large.submit();
            while !large.take() && !stop() && given_up() == before {
                if !keeps_rules {
                    punch().unwrap();
                    holes += 1;
                }
            }
            // The others are to have the processors, too.
            pause(Duration::from_millis(1));
        }
    }
    holes
}

/// Starts one process after the other and kills each in the middle of its requests, or has each end by itself if they keep to the
/// rules; how many.
pub fn kills(
    (socket, queues): (&Path, usize),
    (card, function): (&Card, usize),
    keeps_rules: bool,
    stop: impl Fn() -> bool,
) -> u64 {
    struct Killed(Child);
    impl Drop for Killed {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }
    let requests = || card.status().functions[function].counts.requests;
    let mut killed = 0;
    while !stop() || killed == 0 {
        let before = requests();
        let mut child = Command::new(env::current_exe().unwrap());
        child.args(["--exact", "large::asks_until_it_is_killed", "--ignored", "--quiet"]);
        child.env(SOCKET, socket).env(QUEUES, queues.to_string()).stdout(Stdio::null());
        if keeps_rules {
            child.env(ENDS, "");
        }
        let mut child = Killed(child.spawn().unwrap());
        until(|| requests() >= before + SOME, || "it does not ask".into());
        if keeps_rules {
            assert!(child.0.wait().unwrap().success());
        }
        drop(child);
        killed += 1;
    }
    killed
}

/// No test of its own: a process that is started and killed. It is ignored because run by itself it does nothing.
#[test]
#[ignore = "a test of this file starts it, to kill it"]
fn asks_until_it_is_killed() {
    let Some(socket) = env::var_os(SOCKET) else { return };
    let queues = env::var(QUEUES).unwrap().parse().unwrap();
    let mut large = Large::connect(socket.as_ref(), queues);
    let ends = env::var_os(ENDS).is_some();
    for _ in (0..).take_while(|round| !ends || round * (DEPTH as u64) < 2 * SOME) {
        large.submit();
        while !large.take() {
            thread::yield_now();
        }
    }
}
