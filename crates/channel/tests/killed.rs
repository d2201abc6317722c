//! Ends killed at any moment: the other is told, by an error that says so, and keeps nothing of it. `TOLLWAY_DEATHS` says how many are killed
//! (`make deaths`: 24,000).

use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use tollway_channel::Failed;
use tollway_channel::coroutine::{Executor, Lost, Stopped};
use tollway_channel::linux::{Client, Limits, Notice, Options, Server};
use tollway_channel::wait::Patience;
use tollway_host::descriptor::{accept, connect, listen_anonymously};

/// Tells the process that will be killed where to connect.
const NAME: &str = "TOLLWAY_CHANNEL_KILLED";

/// And how patient it is.
const SPIN: &str = "TOLLWAY_CHANNEL_SPIN";

fn link() -> UnixStream {
    connect(&env::var(NAME).unwrap()).unwrap()
}

fn patience() -> Option<Patience> {
    Some(Patience { spin: env::var(SPIN).unwrap().parse().unwrap(), yields: 1 })
}

#[test]
#[ignore = "the other test starts it, as a process of its own, and kills it"]
fn serves() {
    let mut server = Server::over(link(), &Limits { patience: patience(), ..Limits::default() }).unwrap();
    server
        .serve(|tag, request, reply| {
            reply[..request.len()].copy_from_slice(request);
            (tag, request.len())
        })
        .unwrap();
}

#[test]
#[ignore = "the other test starts it, as a process of its own, and kills it"]
fn asks() {
    let notice =
        if env::var_os("TOLLWAY_CHANNEL_EVENTFD").is_some() { Notice::Eventfd } else { Notice::Futex };
    let options = Options { slots: 4, bytes: 64, notice, patience: patience() };
    let mut client = Client::over(link(), &options).unwrap();
    loop {
        while client.in_flight() < 3 {
            client.send(0, &[1; 64]).unwrap();
        }
        client.wait().unwrap();
        while let Some(reply) = client.take().unwrap() {
            client.release(reply);
        }
    }
}

/// How the end that is not killed works.
#[derive(Clone, Copy, Debug)]
enum Way {
    Calls,
    Tasks,
    Threads,
    Serves,
    Answers,
}

const WAYS: [Way; 5] = [Way::Calls, Way::Tasks, Way::Threads, Way::Serves, Way::Answers];

/// How long an end looks before it sleeps: not at all; for some microseconds; without end.
const SPINS: [u64; 3] = [0, 10_000, u64::MAX];

/// What of the process a channel may keep: descriptors, mappings of shared memory, threads.
fn kept() -> [usize; 3] {
    let entries = |folder: &str| fs::read_dir(folder).unwrap().count();
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let shared = maps.lines().filter(|line| line.contains("memfd:")).count();
    [entries("/proc/self/fd"), shared, entries("/proc/self/task")]
}

fn starts(way: Way, notice: Notice, spin: u64) -> (Child, UnixStream) {
    let (listener, name) = listen_anonymously().unwrap();
    let role = if matches!(way, Way::Serves | Way::Answers) { "asks" } else { "serves" };
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--ignored", "--exact", role]).env(NAME, name).env(SPIN, spin.to_string());
    if notice == Notice::Eventfd {
        command.env("TOLLWAY_CHANNEL_EVENTFD", "1");
    }
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    (child, accept(&listener).unwrap())
}

/// Until it is told that the other is gone. If they had not met by then there is nothing to be told.
fn works(way: Way, notice: Notice, spin: u64, link: UnixStream) {
    let patience = Some(Patience { spin, yields: 1 });
    let options = Options { slots: 4, bytes: 64, notice, patience };
    match way {
        Way::Calls => {
            let Ok(mut client) = Client::over(link, &options) else { return };
            let failed = loop {
                if let Err(failed) = client.call(7, &[2; 64], &mut [0; 64]) {
                    break failed;
                }
            };
            assert_eq!(failed, Failed::Gone);
        }
        Way::Tasks => {
            let Ok(client) = Client::over(link, &options) else { return };
            let (calls, mut dispatcher) = client.into_calls();
            let mut executor = Executor::new(6, dispatcher.rouser());
            for task in 0..6 {
                let calls = &calls;
                executor.spawn(task, async move {
                    let lost = loop {
                        if let Err(lost) = calls.call(7, &[2; 64], &mut [0; 64]).await {
                            break lost;
                        }
                    };
                    assert_eq!(lost, Lost::Stopped(Stopped::Gone));
                });
            }
            executor.run(&mut dispatcher).unwrap();
        }
        Way::Threads => {
            let Ok(client) = Client::over(link, &options) else { return };
            let caller = client.into_caller();
            thread::scope(|scope| {
                for _ in 0..3 {
                    let caller = &caller;
                    scope.spawn(move || {
                        let failed = loop {
                            if let Err(failed) = caller.call(7, &[2; 64], &mut [0; 64]) {
                                break failed;
                            }
                        };
                        assert_eq!(failed, Failed::Gone);
                    });
                }
            });
        }
        Way::Serves => {
            let Ok(mut server) = Server::over(link, &Limits { patience, ..Limits::default() }) else {
                return;
            };
            server.serve(|tag, request, reply| (tag, request.len().min(reply.len()))).unwrap();
        }
        Way::Answers => {
            let Ok(server) = Server::over(link, &Limits { patience, ..Limits::default() }) else { return };
            let (incoming, mut dispatcher) = server.into_incoming();
            let mut executor = Executor::new(2, dispatcher.rouser());
            for _ in 0..2 {
                executor.spawn(0, async {
                    while let Some(request) = incoming.next().await {
                        incoming.answer(request, 0, &[]);
                    }
                });
            }
            executor.run(&mut dispatcher).unwrap();
        }
    }
}

/// Only one test runs in this process: what it keeps is the channels'.
#[test]
fn who_is_left_is_told_at_once_and_keeps_nothing() {
    let deaths: usize =
        env::var("TOLLWAY_DEATHS").map_or(60, |n| n.parse().expect("TOLLWAY_DEATHS is a number"));
    let mut random = Xoshiro256PlusPlus::seed_from_u64(4);
    let mut longest = Duration::ZERO;
    // What is made once in a process is there by then.
    let (mut child, there) = starts(Way::Calls, Notice::Futex, 0);
    child.kill().unwrap();
    works(Way::Calls, Notice::Futex, 0, there);
    child.wait().unwrap();
    let before = kept();
    for death in 0..deaths {
        let way = WAYS[death % 5];
        let notice = if death / 5 % 2 == 0 { Notice::Futex } else { Notice::Eventfd };
        let spin = SPINS[death / 10 % 3];
        let (mut child, link) = starts(way, notice, spin);
        let moment = Duration::from_micros(random.next_u64() % 3000);
        let killing = thread::spawn(move || {
            thread::sleep(moment);
            child.kill().unwrap();
            child.wait().unwrap();
            Instant::now()
        });
        works(way, notice, spin, link);
        let told = Instant::now().saturating_duration_since(killing.join().unwrap());
        assert!(told < Duration::from_secs(10), "{way:?} by {notice:?}: told after {told:?}");
        longest = longest.max(told);
        if death % 20 == 19 || death + 1 == deaths {
            is_as(before);
        }
    }
    println!("{deaths} killed; told after {longest:?} at most");
}

/// A thread that was waited for is listed for a moment longer.
fn is_as(before: [usize; 3]) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while kept() != before {
        assert!(Instant::now() < deadline, "descriptors, mappings, threads: {:?} after {before:?}", kept());
        thread::sleep(Duration::from_millis(1));
    }
}
