//! Ends killed at any moment: the other is told, by an error that says so, and keeps nothing of it. `TOLLWAY_DEATHS` says how many are killed
//! (`make soak deaths`: 24,000).

#[path = "../../../host/testing/asleep.rs"]
mod asleep;
mod at_both;
mod by_rings;
#[path = "../../../host/testing/eventually.rs"]
mod eventually;
#[path = "../../../host/testing/pause.rs"]
mod pause;
mod plainly;
#[cfg(feature = "tokio")]
mod under_tokio;
#[path = "../suite/watched.rs"]
mod watched;

use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use asleep::others_fall_asleep;
use eventually::eventually;
use pause::pause;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use tollway_channel::linux::{Limits, Notice, Options};
use tollway_channel::wait::Patience;
use tollway_host::descriptor::{accept, connect, listen_anonymously};
use watched::watched;

/// Tells the process that will be killed where to connect.
const NAME: &str = "TOLLWAY_CHANNEL_KILLED";

/// And how patient it is.
const SPIN: &str = "TOLLWAY_CHANNEL_SPIN";

/// And by what it is woken, or what kind of plain requests it makes.
const KIND: &str = "TOLLWAY_CHANNEL_KIND";

fn link() -> UnixStream {
    connect(&env::var(NAME).unwrap()).unwrap()
}

fn patience() -> Option<Patience> {
    Some(Patience { spin: env::var(SPIN).unwrap().parse().unwrap(), yields: 1 })
}

/// Whether the process that will be killed is of the second kind: woken by an eventfd; a client by the fast path.
fn is_second() -> bool {
    env::var(KIND).unwrap() == "1"
}

fn options(notice: Notice, patience: Option<Patience>) -> Options {
    Options { slots: 4, bytes: 64, notice, patience, ..Options::default() }
}

fn limits(patience: Option<Patience>) -> Limits {
    Limits { patience, ..Limits::default() }
}

/// How the end that is not killed works.
#[derive(Clone, Copy)]
struct Way {
    name: &'static str,
    /// Which of the ignored tests the process is that will be killed.
    other: &'static str,
    is_second: bool,
    /// Works until it is told that the other is gone. If they had not met by then there is nothing to be told.
    works: fn(bool, Option<Patience>, UnixStream),
}

/// The same by futexes and by eventfds.
fn by_notices(name: &'static str, other: &'static str, works: Works) -> [Way; 2] {
    [false, true].map(|is_second| Way { name, other, is_second, works })
}

type Works = fn(bool, Option<Patience>, UnixStream);

fn notice(is_second: bool) -> Notice {
    if is_second { Notice::Eventfd } else { Notice::Futex }
}

fn ways() -> Vec<Way> {
    let mut ways = by_rings::ways();
    ways.extend(plainly::ways());
    ways.extend(at_both::ways());
    #[cfg(feature = "tokio")]
    ways.extend(under_tokio::ways());
    ways
}

/// How long an end looks before it sleeps: not at all; for some microseconds; without end.
const SPINS: [u64; 3] = [0, 10_000, u64::MAX];

/// What of the process a channel may keep: descriptors, mappings of memory that is shared with processes or the kernel, threads.
fn kept() -> [usize; 3] {
    let entries = |folder: &str| fs::read_dir(folder).unwrap().count();
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let shared = maps.lines().filter(|line| line.contains("memfd:") || line.contains("io_uring")).count();
    [entries("/proc/self/fd"), shared, entries("/proc/self/task")]
}

fn starts(way: Way, spin: u64) -> (Child, UnixStream) {
    let (listener, name) = listen_anonymously().unwrap();
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--ignored", "--exact", way.other]).env(NAME, name).env(SPIN, spin.to_string());
    command.env(KIND, u8::from(way.is_second).to_string());
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    (child, accept(&listener).unwrap())
}

fn works(way: Way, spin: u64, link: UnixStream) {
    (way.works)(way.is_second, Some(Patience { spin, yields: 1 }), link);
}

/// Only one test runs in this process: what it keeps is the channels'.
#[test]
fn who_is_left_is_told_and_keeps_nothing() {
    let ways = ways();
    let deaths: usize = env::var("TOLLWAY_DEATHS")
        .map_or(ways.len() * SPINS.len(), |n| n.parse().expect("TOLLWAY_DEATHS is a number"));
    let mut random = Xoshiro256PlusPlus::seed_from_u64(4);
    let (mut longest, mut slowest) = (Duration::ZERO, "");
    // What is made once in a process is there by then.
    for way in &ways {
        let (mut child, there) = starts(*way, 0);
        child.kill().unwrap();
        works(*way, 0, there);
        child.wait().unwrap();
    }
    let before = settled();
    for death in 0..deaths {
        let watched = watched();
        let (way, spin) = (ways[death % ways.len()], SPINS[death / ways.len() % SPINS.len()]);
        let (mut child, link) = starts(way, spin);
        let moment = Duration::from_micros(random.next_u64() % 3000);
        let killing = thread::spawn(move || {
            pause(moment);
            child.kill().unwrap();
            child.wait().unwrap();
            Instant::now()
        });
        works(way, spin, link);
        let noticed_after = Instant::now().saturating_duration_since(killing.join().unwrap());
        (longest, slowest) = (longest, slowest).max((noticed_after, way.name));
        drop(watched);
        if death % 20 == 19 || death + 1 == deaths {
            is_as(before);
        }
    }
    println!(
        "{deaths} killed in {} ways; the longest until the other end noticed: {longest:?} ({slowest})",
        ways.len()
    );
}

/// What is kept when nothing more goes: a thread that was waited for is listed for a moment longer, in which it does not sleep.
fn settled() -> [usize; 3] {
    others_fall_asleep();
    kept()
}

/// Nothing more is kept than before.
fn is_as(before: [usize; 3]) {
    eventually("no more descriptors, mappings and threads than before", || {
        kept().iter().zip(before).all(|(now, before)| *now <= before)
    });
}
