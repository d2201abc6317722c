//! Tenants of every bad kind at once, and one that is served beside them.

use std::env;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use tollway_cipher::engine::device::{Card, Delivery, NewFunction, Options as CardOptions};
use tollway_cipher::engine::driver::{Driver, Handle, Operation, Options};
use tollway_cipher::engine::protocol::{Status, Work};
use tollway_cipher::engine::suite::{Algorithm, CipherMode, Direction};
use tollway_virtio::Span;
use tollway_virtio::order::Share;
use tollway_virtio::socket::{Listener, Meeting};

use super::attacker::{Attacker, Tally};
use super::victim::{KEY, TEXT, Victim, Waits};
use super::{alone, chains_wanted};

/// The socket of a process that is to be killed.
const SOCKET: &str = "TOLLWAY_TEST_SOCKET";

/// Functions by number.
const VICTIM: usize = 0;
const AT_A_SOCKET: usize = 1;
const STORM: usize = 2;
const HOLES: usize = 3;
const KILLED: usize = 4;
const INSIDE: [usize; 2] = [5, 6];

/// How much longer the victim's slowest answers may take than alone. Nine threads of this test and whatever else runs share the
/// processors; what it must not do is wait for what others have asked for.
const SLOW: Duration = Duration::from_millis(500);

#[test]
fn a_crowd_of_hostile_tenants_harms_nobody() {
    let (_alone, wanted) = (alone(), chains_wanted());
    let folder = tempfile::tempdir().unwrap();
    let socket = |number: usize| folder.path().join(format!("{number}.sock"));
    let function = |number: usize| NewFunction {
        name: format!("f{number}"),
        meeting: if INSIDE.contains(&number) {
            Meeting::Inside
        } else {
            Meeting::Listen(Listener::bind(&socket(number), 0o600).unwrap())
        },
        share: Share::default(),
        delivery: Delivery::Each,
    };
    let options = CardOptions { spin: Duration::from_micros(20), ..CardOptions::default() };
    let card = Arc::new(Card::start((0..7).map(function).collect(), &options, |_| ()).unwrap());
    let mut victim = Victim::connect(&socket(VICTIM));
    let until = Instant::now() + Duration::from_millis(300);
    let alone = victim.ask(|| Instant::now() >= until);

    // What the first tenth leaves behind is what is there in any case.
    let (first, _) = round(&card, &socket, &mut victim, wanted / 10, 1);
    let before = Resources::now(&card);
    let begun = Instant::now();
    let (mut tally, beside) = round(&card, &socket, &mut victim, wanted - first.chains(), 2);
    let (took, after) = (begun.elapsed(), Resources::now(&card));
    tally.add(first);
    println!("{} chains in {took:?} (but for the first tenth): {tally:?}", tally.chains());
    println!("the victim alone: {alone}");
    println!("and beside them:  {beside}");
    println!("before {before:?}, after {after:?}");
    tally.has_met_everything();
    assert!(tally.chains() >= wanted);
    assert!(beside.p99 < alone.p99 + SLOW, "it waits too long");
    assert!(after.kilobytes < before.kilobytes + (4 << 10), "memory has grown");
    assert_eq!((after.descriptors, after.sessions), (before.descriptors, before.sessions));
    assert!(after.mappings <= before.mappings + 8, "mappings are left");
    let status = card.status().functions.swap_remove(VICTIM);
    assert_eq!((status.counts.failed, status.counts.refused_chains, status.counts.connections), (0, 0, 1));
}

/// All of them, until so many chains were tried; what was met, and how the victim fared.
fn round(
    card: &Arc<Card>,
    socket: &(impl Fn(usize) -> std::path::PathBuf + Sync),
    victim: &mut Victim,
    wanted: u64,
    seed: u64,
) -> (Tally, Waits) {
    let (chains, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let is_over = || stop.load(Ordering::Relaxed);
    thread::scope(|scope| {
        let attacker = |mut attacker: Attacker, seed: u64| {
            let (chains, stop) = (&chains, &stop);
            scope.spawn(move || {
                let _stops = Stops(stop);
                attack(&mut attacker, seed, chains, wanted)
            })
        };
        let attackers = [
            attacker(Attacker::connect(card, AT_A_SOCKET, &socket(AT_A_SOCKET)), seed << 8),
            attacker(Attacker::inside(card, INSIDE[0]), seed << 8 | 1),
            attacker(Attacker::inside(card, INSIDE[1]), seed << 8 | 2),
        ];
        let storm = Attacker::connect(card, STORM, &socket(STORM));
        let storm = scope.spawn(move || storm.storm(is_over));
        let holes = scope.spawn(|| punches_holes(&socket(HOLES), card, is_over));
        let killed = scope.spawn(|| kills(&socket(KILLED), card, is_over));
        let victim = scope.spawn(|| {
            let _stops = Stops(&stop);
            victim.ask(is_over)
        });
        let mut tally = Tally::default();
        attackers.into_iter().for_each(|attacker| tally.add(attacker.join().unwrap()));
        stop.store(true, Ordering::Relaxed);
        let (kicks, holes, killed) = (storm.join().unwrap(), holes.join().unwrap(), killed.join().unwrap());
        println!("{kicks} kicks for nothing, {holes} holes, {killed} processes killed");
        assert!(kicks > 0 && holes > 0 && killed > 0);
        (tally, victim.join().unwrap())
    })
}

/// Ends the others if this thread ends, however it does.
struct Stops<'s>(&'s AtomicBool);

impl Drop for Stops<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

/// Plays until all together have played as many chains as are wanted.
fn attack(attacker: &mut Attacker, seed: u64, chains: &AtomicU64, wanted: u64) -> Tally {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let (mut all, mut data) = (Tally::default(), vec![0; 16 << 10]);
    while chains.load(Ordering::Relaxed) < wanted {
        let len = 512 + (random.next_u32() as usize) % (data.len() - 512);
        random.fill_bytes(&mut data[..len]);
        let mut tally = Tally::default();
        attacker.play(&data[..len], &mut tally, thread::yield_now);
        chains.fetch_add(tally.chains(), Ordering::Relaxed);
        all.add(tally);
        if random.next_u32() % 256 == 0 {
            has_nothing_of_the_victims(attacker);
        }
    }
    has_nothing_of_the_victims(attacker);
    all
}

fn has_nothing_of_the_victims(attacker: &Attacker) {
    assert!(!attacker.has(KEY) && !attacker.has(TEXT), "it has what is another's");
}

/// Bytes of a request of those who ask for much, and how many they have on their way.
const BYTES: usize = 64 << 10;
const DEPTH: usize = 8;

/// A tenant that asks for much.
struct Large {
    driver: Driver,
    session: Handle,
}

impl Large {
    fn connect(socket: &Path) -> Large {
        let options = Options { bytes: 2 * DEPTH * BYTES, ..Options::default() };
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
            let operation = Operation {
                session: self.session,
                work: Work::Encrypt,
                iv: &[1; 16],
                source: &source,
                associated: &[],
                result: &result,
                digest: 0,
            };
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

/// Gives memory back to the kernel while the card reads and writes it; how often. When it has kept the others waiting for too
/// long, its queue is given up: it comes anew.
fn punches_holes(socket: &Path, card: &Card, stop: impl Fn() -> bool) -> u64 {
    let given_up = || card.status().functions[HOLES].counts.refused_chains;
    let mut holes = 0;
    while !stop() {
        let (mut large, before) = (Large::connect(socket), given_up());
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
                punch().unwrap();
                holes += 1;
            }
            // The others are to have the processors, too.
            thread::sleep(Duration::from_millis(1));
        }
    }
    holes
}

/// Kills one process after the other in the middle of its requests; how many.
fn kills(socket: &Path, card: &Card, stop: impl Fn() -> bool) -> u64 {
    struct Killed(Child);
    impl Drop for Killed {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }
    let requests = || card.status().functions[KILLED].counts.requests;
    let mut killed = 0;
    while !stop() || killed == 0 {
        let before = requests();
        let child = Command::new(env::current_exe().unwrap())
            .args(["--exact", "crowd::asks_until_it_is_killed", "--ignored", "--quiet"])
            .env(SOCKET, socket)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let child = Killed(child);
        let deadline = Instant::now() + Duration::from_secs(60);
        while requests() < before + 100 {
            assert!(Instant::now() < deadline, "it does not ask");
            thread::sleep(Duration::from_millis(1));
        }
        drop(child);
        killed += 1;
    }
    killed
}

/// No test of its own: a process that the test above starts and kills. It is ignored because run by itself it does nothing.
#[test]
#[ignore = "a test of this file starts it, to kill it"]
fn asks_until_it_is_killed() {
    let Some(socket) = env::var_os(SOCKET) else { return };
    let mut large = Large::connect(socket.as_ref());
    loop {
        large.submit();
        while !large.take() {
            thread::yield_now();
        }
    }
}

/// What this process has, with the card in it and without those that came and went.
#[derive(Debug)]
struct Resources {
    kilobytes: u64,
    descriptors: usize,
    mappings: usize,
    sessions: usize,
}

impl Resources {
    fn now(card: &Card) -> Resources {
        let deadline = Instant::now() + Duration::from_secs(60);
        let is_left = || card.status().functions[1..].iter().all(|function| !function.connected);
        while !is_left() {
            assert!(Instant::now() < deadline, "somebody is still there: {:?}", card.status());
            thread::sleep(Duration::from_millis(1));
        }
        // Whoever gives memory back does so in a thread of its own.
        thread::sleep(Duration::from_millis(200));
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        Resources {
            kilobytes: line.trim().trim_end_matches(" kB").parse().unwrap(),
            descriptors: fs::read_dir("/proc/self/fd").unwrap().count(),
            mappings: fs::read_to_string("/proc/self/maps").unwrap().lines().count(),
            sessions: card.status().functions.iter().map(|function| function.sessions).sum(),
        }
    }
}
