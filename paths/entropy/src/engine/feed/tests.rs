//! What is credited, when, and that nothing is fed of a source that fails; into this machine's kernel where that is allowed.

use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use tollway_host::requirement::skip_test;

use super::*;
use crate::engine::condition::Conditioned;
use crate::engine::health::{Monitored, Settings};
use crate::engine::source::{Claim, Counts, Device, Fault, Getrandom, Planted, Seeded, Source};
use crate::engine::source::{Error as SourceError, Kind};

/// A source that is trusted as somebody says.
struct Trusted<S>(S, f64);

impl<S: Source> Source for Trusted<S> {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn fill(&mut self, into: &mut [u8]) -> Result<(), SourceError> {
        self.0.fill(into)
    }

    fn counts(&self) -> Counts {
        self.0.counts()
    }

    fn claim(&self) -> Claim {
        Claim { evenness: 8.0, entropy: self.1 }
    }
}

fn feeder(entropy: f64, bytes: Option<usize>) -> Result<Feeder<impl Source, Recording>, String> {
    let source = Trusted(Seeded::new(1), entropy);
    Feeder::new(source, Recording::default(), bytes).map_err(|e| e.to_string())
}

#[test]
fn no_more_is_credited_than_is_claimed() {
    for (entropy, bytes, portion) in [
        (8.0, None, (64, 512)),
        (1.0, None, (512, 512)),
        (8.0 / 512.0, None, (32_768, 512)),
        (8.0 / 512.0, Some(64), (64, 1)),
        (8.0 / 512.0, Some(127), (127, 1)),
        (3.3, Some(10), (10, 33)),
        (1000.0, Some(10), (10, 80)),
        (0.001, None, (65_536, 65)),
    ] {
        let mut feeder = feeder(entropy, bytes).unwrap();
        assert_eq!(feeder.portion(), Portion { bytes: portion.0, bits: portion.1 }, "{entropy}");
        let receipt = feeder.feed().unwrap();
        assert_eq!((receipt.bytes, receipt.bits), portion);
        feeder.feed().unwrap();
        let taken = &feeder.sink().taken;
        assert!(taken.iter().all(|(bytes, bits)| (bytes.len(), *bits) == portion));
        assert_ne!(taken[0].0, taken[1].0, "the same bytes were fed twice");
        let fed = Fed { portions: 2, bytes: 2 * portion.0 as u64, bits: 2 * u64::from(portion.1) };
        assert_eq!(feeder.fed(), fed);
    }
    let mut expected = vec![0; 64];
    Seeded::new(1).fill(&mut expected).unwrap();
    let mut feeder = feeder(8.0, None).unwrap();
    feeder.feed().unwrap();
    assert_eq!(feeder.sink().taken[0].0, expected);
}

#[test]
fn what_cannot_be_credited_is_refused() {
    let reason = |entropy, bytes| feeder(entropy, bytes).err().unwrap();
    assert!(reason(8.0 / 512.0, Some(63)).contains("give at least 64 bytes"));
    assert!(reason(8.0, Some(1 << 17)).contains("give 65536 at most"));
    assert!(reason(0.0, None).contains("nothing of it can be credited"));
    let own = Feeder::new(Getrandom::default(), Recording::default(), None).err().unwrap().to_string();
    assert!(own.contains("getrandom") && own.contains("this kernel's own generator"), "{own}");
    for path in ["/dev/random", "/dev/urandom"] {
        let source = Device::open(Path::new(path)).unwrap();
        let own = Feeder::new(source, Recording::default(), None).err().unwrap().to_string();
        assert!(own.contains(path) && own.contains("rdrand"), "{own}");
    }
}

/// Bytes and bits of each feeding.
type Portions = Vec<(Vec<u8>, u32)>;

/// Runs it in a thread of its own for a while, or until so many events have come; what happened.
fn run(
    mut feeder: Feeder<impl Source, Recording>,
    pace: Pace,
    events: usize,
) -> (Vec<String>, Portions, Result<(), String>) {
    let (stop, mut stopper) = UnixStream::pair().unwrap();
    thread::scope(|scope| {
        let mut told = Vec::new();
        let ran = scope
            .spawn(move || {
                let outcome = feeder.run(&pace, stop.as_fd(), |event| {
                    told.push(match event {
                        Event::Fed(receipt, _) => format!("fed {}", receipt.bits),
                        Event::Failed { retry_in, .. } => format!("failed {}", retry_in.as_millis()),
                        Event::Recovered => "recovered".into(),
                    });
                    if told.len() == events {
                        stopper.write_all(b".").unwrap();
                    }
                });
                (told, feeder, outcome.map_err(|e| e.to_string()))
            })
            .join()
            .unwrap();
        (ran.0, ran.1.sink().taken.clone(), ran.2)
    })
}

fn quick() -> Pace {
    Pace {
        interval: Duration::from_millis(20),
        pause: Duration::from_millis(1),
        retry: Duration::from_millis(1),
        longest_retry: Duration::from_millis(4),
    }
}

#[test]
fn it_feeds_at_once_then_as_wanted_then_once_in_a_while() {
    let fed = |interval: Duration, events: usize| {
        let wanting = Recording { wants: 256, ..Recording::default() };
        let feeder = Feeder::new(Trusted(Seeded::new(1), 8.0), wanting, Some(10)).unwrap();
        let begun = Instant::now();
        let (feedings, taken, outcome) = run(feeder, Pace { interval, ..quick() }, events);
        outcome.unwrap();
        assert_eq!((feedings, taken.len()), (vec!["fed 80".to_string(); events], events));
        begun.elapsed()
    };
    // Four of 80 bits until it has enough: none of these waits for the interval.
    let minute = Duration::from_secs(60);
    assert!(fed(minute, 4) < minute);
    // And two more an interval apart.
    let took = fed(Duration::from_millis(150), 6);
    assert!(took >= Duration::from_millis(300), "{took:?}");
}

#[test]
fn nothing_of_a_source_that_fails_is_fed() {
    let settings =
        Settings { hold_off: Duration::ZERO, longest_hold_off: Duration::ZERO, ..Settings::default() };
    let clocked = Settings { least_rate: Some(20e3), rate_over: Duration::from_millis(40), ..settings };
    for (fault, until, settings) in [
        (Fault::Stuck(7), 40_000, settings),
        (Fault::Repeating { period: 32 }, 40_000, settings),
        (Fault::Repeating { period: 4096 }, 40_000, settings),
        (Fault::Biased { of: 4 }, 40_000, settings),
        (Fault::Dry, 40_000, settings),
        (Fault::Slow(Duration::from_millis(100)), 20_000, clocked),
    ] {
        // The start-up test, some feedings, a fault for some start-up tests, and good bytes again.
        let planted = Planted::new(Seeded::new(2), fault, 10_000, until);
        let source = Trusted(Monitored::new(planted, settings).unwrap(), 8.0);
        let feeder = Feeder::new(source, Recording::default(), Some(1000)).unwrap();
        let pace = Pace { interval: Duration::from_millis(1), ..quick() };
        let (told, taken, outcome) = run(feeder, pace, 60);
        outcome.unwrap();
        let failed = told.iter().position(|event| event.starts_with("failed")).expect("it failed");
        let recovered = told.iter().position(|event| event == "recovered").expect("it recovered");
        assert!(told[failed..recovered].iter().all(|event| event.starts_with("failed")), "{told:?}");
        assert_eq!(told[failed], "failed 1");
        if recovered - failed > 3 {
            assert_eq!(told[failed + 1..failed + 4], ["failed 2", "failed 4", "failed 4"]);
        }
        let fed = told.iter().filter(|event| event.starts_with("fed")).count();
        assert_eq!(taken.len(), fed);
        // What a fault made and was fed before the alarm: the tests' own delay, no more.
        let good = |bytes: &[u8]| bytes.iter().filter(|byte| **byte == 0 || **byte == 7).count() < 100;
        let bad = taken.iter().filter(|(bytes, _)| !good(bytes)).count();
        assert!(bad <= 5, "{fault:?}: {bad} portions");
        assert!(fed > 10, "{told:?}");
    }
}

#[test]
fn a_source_that_has_ended_ends_it() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    let mut bytes = vec![0; 1000];
    Seeded::new(1).fill(&mut bytes).unwrap();
    file.write_all(&bytes).unwrap();
    let source = Device::open(file.path()).unwrap();
    let feeder = Feeder::new(source, Recording::default(), Some(400)).unwrap();
    let (told, _, outcome) = run(feeder, Pace { interval: Duration::ZERO, ..quick() }, 10);
    assert_eq!(told, ["fed 400", "fed 400"]);
    assert!(outcome.unwrap_err().contains("ended after 1000 bytes"));
}

#[test]
fn waiting_takes_no_processor_time() {
    // A twentieth of that time: a hypervisor that has the processor for itself may be counted as the thread.
    let takes = waiting_takes();
    assert!(takes < WAITED / 20, "{takes:?}");
}

/// How long it waits.
const WAITED: Duration = Duration::from_millis(500);

/// Processor time of a feeder that feeds once and waits.
fn waiting_takes() -> Duration {
    let mut feeder = feeder(8.0, None).unwrap();
    let (stop, mut stopper) = UnixStream::pair().unwrap();
    thread::scope(|scope| {
        let waiting = scope.spawn(move || {
            feeder.run(&Pace::default(), stop.as_fd(), |_| {}).unwrap();
            (feeder.fed(), tollway_host::samplers::thread_time::thread())
        });
        crate::pause::pause(WAITED);
        stopper.write_all(b".").unwrap();
        let (fed, time) = waiting.join().unwrap();
        assert_eq!(fed.portions, 1);
        time
    })
}

#[test]
fn flooding_counts_what_it_credits() {
    let mut feeder = feeder(8.0, Some(64)).unwrap();
    feeder.feed().unwrap();
    let ended = feeder.flood(Duration::from_millis(5)).unwrap();
    assert_eq!(ended.fed.portions + 1, feeder.sink().taken.len() as u64);
    assert_eq!(ended.fed.bits, 8 * ended.fed.bytes);
    assert!(ended.seconds >= 0.005 && ended.bits_per_second() > 0.0);
}

/// This machine's kernel, where it may be fed.
fn kernel() -> Option<Kernel> {
    match Kernel::open() {
        Ok(kernel) => Some(kernel),
        Err(error) => {
            skip_test(&["root"], &error);
            None
        }
    }
}

#[test]
fn this_kernel_is_fed() {
    let Some(kernel) = kernel() else {
        return;
    };
    let source = match Kind::Rdrand.open() {
        Ok(source) => source,
        Err(error) => return println!("skipped: {error}"),
    };
    let source = Conditioned::of(Monitored::new(source, Settings::default()).unwrap()).unwrap();
    let mut feeder = Feeder::new(source, kernel, None).unwrap();
    assert_eq!(feeder.portion(), Portion { bytes: 64, bits: 512 });
    let receipt = feeder.feed().unwrap();
    let (before, after) = receipt.available.expect("RNDGETENTCNT is as old as the device");
    // Every kernel has at least as much afterwards, but for what others read meanwhile from one before 5.18.
    println!("entropy_avail {before} before, {after} after");
    assert!(Kernel::is_initialised(), "512 bits were credited");
    let said = std::fs::read_to_string("/proc/sys/kernel/random/entropy_avail").unwrap();
    if before == 256 && said.trim() == "256" {
        assert_eq!(after, 256, "since 5.18 it is 256 for ever");
        let wants = feeder.sink().wait(Duration::from_millis(30), None).unwrap();
        assert_eq!(wants, Woken::TimedOut, "and it wants nothing");
    }
    let ended = feeder.flood(Duration::from_millis(50)).unwrap();
    assert!(ended.fed.bits > 0);
    println!("{:.0} bits a second", ended.bits_per_second());
}

#[test]
fn a_kernel_is_not_told_of_more_bits_than_there_are() {
    let Some(mut kernel) = kernel() else {
        return;
    };
    assert!(kernel.credit(&[1; 4], 33).is_err());
    assert!(kernel.credit(&vec![1; MOST_BYTES + 1], 1).is_err());
    // Bytes without credit are always welcome.
    kernel.credit(&[1; 4], 0).unwrap();
    kernel.credit(&vec![1; MOST_BYTES], 0).unwrap();
}
