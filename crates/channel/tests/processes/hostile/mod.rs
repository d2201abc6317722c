//! Ends that lie: in the shared memory, in it while the other looks at it, and when they meet. Whoever is honest has no message that it may not have,
//! does not panic, does not hang, and its neighbours notice nothing. `TOLLWAY_LIES` says how many lies (`make soak lies`: 10^8).

mod meeting;
mod memory;
mod racing;

use std::fs;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use tollway_channel::linux::{Client, Limits, Options, Server};
use tollway_host::shared::SharedPages;

/// How many lies, if that is asked for.
fn lies() -> Option<u64> {
    std::env::var("TOLLWAY_LIES").ok().map(|lies| lies.parse().expect("TOLLWAY_LIES is a number"))
}

/// The seeds of a fuzz target.
fn seeds(target: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(target);
    let seeds: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(seeds.len() >= 8, "{seeds:?}");
    seeds
}

#[test]
fn seeds_are_played() {
    let mut tally = memory::Tally::default();
    for seed in seeds("channel-memory") {
        memory::play(&fs::read(seed).unwrap(), &mut tally);
    }
    assert!(tally.believed > 30 && tally.noticed > 4, "{tally:?}");
    let mut tally = meeting::Tally::default();
    for seed in seeds("channel-meeting") {
        meeting::play(&fs::read(seed).unwrap(), &mut tally);
    }
    assert!(tally.agreed >= 4 && tally.met >= tally.agreed + 4, "{tally:?}");
}

#[test]
fn whatever_is_written_is_believed_by_nobody_who_may_not() {
    let lies = lies().unwrap_or(500_000);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut tally = memory::Tally::default();
    let mut input = [0; 600];
    while tally.operations < lies {
        random.fill_bytes(&mut input);
        let long = 1 + random.next_u64() as usize % input.len();
        memory::play(&input[..long], &mut tally);
    }
    println!("{tally:?}");
    assert!(tally.believed > lies / 200 && tally.noticed > lies / 1000, "{tally:?}");
}

#[test]
fn nor_by_who_looks_while_it_is_written() {
    let lies = lies().unwrap_or(1_000_000);
    for (seed, is_server) in [(2, true), (3, false)] {
        let seen = racing::race(seed, lies / 2, is_server);
        println!("{} believed, {} noticed", seen.believed, seen.noticed);
        assert!(seen.believed + seen.noticed > 0);
    }
}

/// Random greetings and answers, of which some are nearly right.
fn greeting(random: &mut Xoshiro256PlusPlus) -> Vec<u8> {
    let mut input = vec![0; 2 + random.next_u64() as usize % 24];
    random.fill_bytes(&mut input);
    let dice = random.next_u64();
    if dice.is_multiple_of(4) {
        return input;
    }
    // Descriptors, then the greeting: for a server; or the answer, for a client.
    let notice = (dice >> 8 & 1) as u8;
    let to_server = [&[0, 1 + notice, 0][..], &[5][..usize::from(notice)], b"TWch\x01\0"].concat();
    let sizes = [[notice, 0, 4, 0, 0, 0, 64, 0, 0, 0], [notice, 0, 64, 0, 0, 0, 0, 4, 0, 0]];
    let mut near = match dice >> 9 & 3 {
        0 => vec![1 + 128 * notice, notice, 5, 0],
        which => [&to_server[..], &sizes[which as usize % 2]].concat(),
    };
    for _ in 0..dice >> 20 & 3 {
        let at = random.next_u64() as usize % near.len();
        near[at] = random.next_u64() as u8;
    }
    near
}

/// Tells a process how many meetings are its own, and by which seed.
const PART: &str = "TOLLWAY_CHANNEL_MEETINGS";

#[test]
#[ignore = "the next test starts it, in processes of its own"]
fn meets() {
    let part = std::env::var(PART).unwrap();
    let (meetings, seed) = part.split_once(' ').unwrap();
    let meetings: u64 = meetings.parse().unwrap();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed.parse().unwrap());
    let mut tally = meeting::Tally::default();
    while tally.met < meetings {
        meeting::play(&greeting(&mut random), &mut tally);
    }
    println!("\nmet {} {}", tally.met, tally.agreed);
}

/// In processes, two for each processor: threads of one would wait for each other at every mapping and descriptor, and a meeting waits now and then.
#[test]
fn whatever_is_said_when_ends_meet() {
    let meetings = lies().map_or(3000, |lies| lies / 10);
    let processes = 2 * thread::available_parallelism().map_or(2, usize::from) as u64;
    let parts: Vec<_> = (0..processes)
        .map(|part| {
            let mut command = Command::new(std::env::current_exe().unwrap());
            command.args(["--ignored", "--exact", "hostile::meets", "--nocapture"]);
            command.env(PART, format!("{} {}", meetings.div_ceil(processes), 10 + part));
            command.stdout(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    let (mut met, mut agreed) = (0, 0);
    for part in parts {
        let output = part.wait_with_output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{said}");
        let line =
            said.lines().find_map(|line| line.strip_prefix("met ")).unwrap_or_else(|| panic!("{said}"));
        let counts: Vec<u64> = line.split(' ').map(|count| count.parse().unwrap()).collect();
        met += counts[0];
        agreed += counts[1];
    }
    println!("{met} met, {agreed} agreed");
    assert!(met >= meetings && agreed > met / 20 && agreed < met, "{agreed} of {met} agreed");
}

/// One thread serves a liar and an honest client in turns, and the liar scribbles all the while.
#[test]
fn an_honest_neighbour_is_served_as_ever() {
    let options = Options { slots: 8, ..Options::default() };
    let is_over = AtomicBool::new(false);
    let (mut honest, neighbours) = UnixStream::pair().map(|(here, there)| (Some(here), there)).unwrap();
    thread::scope(|scope| {
        let serving = scope.spawn(|| {
            let limits = Limits::default();
            let mut neighbour = Server::over(neighbours, &limits).unwrap();
            let mut lied = 0;
            while !is_over.load(Ordering::Relaxed) {
                let (liar, there) = UnixStream::pair().unwrap();
                let pages = SharedPages::new(geometry_bytes()).unwrap();
                let mut hello = *b"TWch\x01\0\0\0\x08\0\0\0\x40\0\0\0";
                hello[8] = 8;
                tollway_host::descriptor::send_with(&liar, &hello, &[&pages]).unwrap();
                let mut server = Server::over(there, &limits).unwrap();
                let mut random = Xoshiro256PlusPlus::seed_from_u64(lied);
                for _ in 0..200 {
                    let dice = random.next_u64();
                    let entry = dice & 7 | (dice >> 8 & 127) << 16 | (1 + (dice >> 20 & 1)) << 48;
                    pages.words()[32 + (dice as usize >> 32) % 40].store(entry, Ordering::Relaxed);
                    for end in [&mut server, &mut neighbour] {
                        while let Ok(Some(request)) = end.take() {
                            let mut bytes = [0; 64];
                            let long = end.read(&request, &mut bytes);
                            let tag = request.tag();
                            end.answer(request, tag, &bytes[..long]);
                        }
                        end.flush();
                    }
                }
                lied += 1;
            }
            lied
        });
        let mut client = Client::over(honest.take().unwrap(), &options).unwrap();
        for number in 0..3000u64 {
            let mut reply = [0; 8];
            assert_eq!(client.call(number as u16, &number.to_le_bytes(), &mut reply), Ok((number as u16, 8)));
            assert_eq!(u64::from_le_bytes(reply), number);
        }
        is_over.store(true, Ordering::Relaxed);
        assert!(serving.join().unwrap() > 0);
    });
}

fn geometry_bytes() -> usize {
    tollway_channel::ring::layout::Geometry::new(8, 64).unwrap().words() * 8
}
