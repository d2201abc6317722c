//! Every fault that can be planted is found soon, nothing of the block is given out, and what has recovered is used again.

use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use super::super::{Monitored, Settings, State, Test};
use crate::engine::source::{Claim, Counts, Error, Fault, Kind, Planted, Seeded, Source};
use crate::eventually::eventually;

/// Bytes before the fault, counted with those of the start-up test.
const BEFORE: u64 = 20_000;

/// Tries again at once.
fn impatient() -> Settings {
    Settings {
        hold_off: Duration::ZERO,
        longest_hold_off: Duration::ZERO,
        rate_over: Duration::from_millis(5),
        ..Settings::default()
    }
}

/// Draws so many bytes at a time until it fails; how many came after the fault had begun, and who found it.
fn found_after(fault: Fault, portion: usize, settings: Settings) -> (u64, Test) {
    let planted = Planted::new(Seeded::new(11), fault, BEFORE, u64::MAX);
    let mut source = Monitored::new(planted, settings).unwrap();
    let (mut bytes, mut given) = (vec![0; portion], 0);
    loop {
        bytes.fill(1);
        if source.fill(&mut bytes).is_err() {
            break;
        }
        given += portion as u64;
        assert!(given < 1 << 20, "{fault:?} in portions of {portion} goes by unseen");
    }
    assert!(bytes.iter().all(|byte| *byte == 0), "what the alarm was about was given out");
    let State::Failed { test, .. } = source.health().state else {
        panic!("it failed and says {:?}", source.health().state);
    };
    assert!(source.health().alarms.of(test) > 0);
    ((given + source.limits().start_up() as u64).saturating_sub(BEFORE), test)
}

#[test]
fn each_fault_is_found_soon() {
    // The first window that begins after the fault, and the one in which that happened.
    let two_windows = 2 * 4112;
    for portion in [8, 64, 1000, 4096] {
        let allowed = |bytes: u64| bytes + 2 * portion as u64;
        for byte in [0, 9, 255] {
            let (after, _) = found_after(Fault::Stuck(byte), portion, impatient());
            assert!(after <= allowed(8), "stuck, {portion}: {after}");
        }
        for of in [1, 2, 3, 4, 7, 8, 16] {
            let (after, test) = found_after(Fault::Biased { of }, portion, impatient());
            assert!(after <= allowed(8192), "one of {of}, {portion}: {after} by {test:?}");
        }
        for period in (1..70).chain([127, 128, 500, 512, 1000, 2047, 4095, 4096]) {
            let (after, test) = found_after(Fault::Repeating { period }, portion, impatient());
            assert!(after <= allowed(two_windows), "period {period}, {portion}: {after} by {test:?}");
        }
        let (after, test) = found_after(Fault::Dry, portion, impatient());
        assert!(after <= allowed(0) && test == Test::Supply, "{after}");
        let slow = Settings { least_rate: Some(100e3), ..impatient() };
        let (after, test) = found_after(Fault::Slow(Duration::from_millis(45)), portion, slow);
        assert!(after <= allowed(0) && test == Test::Rate, "slow, {portion}: {after} by {test:?}");
    }
}

/// What the module says of periods: by chance alone, nothing but the recurrence finds one beyond 20 bytes, and nothing one beyond
/// 4096.
#[test]
fn periods_are_found_by_whom_it_is_told() {
    for period in [5, 13, 17, 19, 20] {
        let (_, test) = found_after(Fault::Repeating { period }, 512, impatient());
        assert!(test == Test::Proportion || test == Test::Recurrence, "{period}: {test:?}");
    }
    for period in [101, 1001, 4096] {
        assert_eq!(found_after(Fault::Repeating { period }, 512, impatient()).1, Test::Recurrence);
    }
    let planted = Planted::new(Seeded::new(11), Fault::Repeating { period: 4096 + 16 + 1 }, 0, u64::MAX);
    let mut source = Monitored::new(planted, impatient()).unwrap();
    (0..100).for_each(|_| source.fill(&mut [0; 1000]).unwrap());
}

#[test]
fn it_recovers_by_the_start_up_test_alone() {
    let planted = Planted::new(Seeded::new(5), Fault::Stuck(3), 8192, 12_000);
    let mut source = Monitored::new(planted, impatient()).unwrap();
    let watch = source.watch();
    assert_eq!(watch.health().state, State::Starting);
    assert_eq!(watch.health().tested, 0, "nothing is drawn before it is asked for");
    let mut bytes = [0; 1000];
    while source.fill(&mut bytes).is_ok() {}
    let failed = watch.health();
    assert!(matches!(failed.state, State::Failed { test: Test::Repetition, .. }), "{failed:?}");
    let mut tries = 0;
    while source.fill(&mut bytes).is_err() {
        tries += 1;
        assert!(tries < 20);
        assert_eq!(bytes, [0; 1000]);
    }
    let health = watch.health();
    assert_eq!((health.state, health.started), (State::Healthy, 2));
    assert!(tries >= 1, "it was used while it was stuck");
    assert!(source.recover().is_ok());
    assert_eq!(watch.health().started, 3, "on demand");
}

#[test]
fn it_holds_off_longer_and_longer() {
    let planted = Planted::new(Seeded::new(5), Fault::Stuck(3), 0, u64::MAX);
    let settings = Settings {
        hold_off: Duration::from_secs(1000),
        longest_hold_off: Duration::from_secs(3000),
        ..Settings::default()
    };
    let mut source = Monitored::new(planted, settings).unwrap();
    assert_eq!(source.retry_in(), None);
    let error = source.fill(&mut [0; 16]).unwrap_err();
    let Error::Unhealthy { source_name, test, detail } = &error else { panic!("{error}") };
    assert_eq!((&source_name[..], *test), ("planted", "repetition"));
    assert!(detail.contains("9 times in a row"), "{detail}");
    let tested = source.health().tested;
    assert!(source.fill(&mut [0; 16]).is_err());
    assert_eq!(source.health().tested, tested, "nothing is drawn while it holds off");
    let mut waits = Vec::new();
    for _ in 0..3 {
        waits.push(source.retry_in().unwrap().as_secs_f64().round());
        assert!(source.recover().is_err());
    }
    assert_eq!(waits, [1000.0, 2000.0, 3000.0]);
}

#[test]
fn a_source_that_is_dry_says_so_itself() {
    let planted = Planted::new(Seeded::new(5), Fault::Dry, 0, u64::MAX);
    let mut source = Monitored::new(planted, Settings::default()).unwrap();
    assert!(matches!(source.fill(&mut [0; 16]), Err(Error::Dry { .. })));
    assert!(matches!(source.fill(&mut [0; 16]), Err(Error::Unhealthy { test: "supply", .. })));
}

#[test]
fn what_this_machine_has_is_healthy() {
    for kind in ["rdrand", "rdseed", "getrandom"] {
        match kind.parse::<Kind>().unwrap().open() {
            Ok(source) => {
                let mut source = Monitored::new(source, Settings::default()).unwrap();
                source.fill(&mut [0; 10_000]).unwrap();
                assert_eq!(source.health().tested, 14_608, "{kind}");
                assert_eq!(source.health().state, State::Healthy, "{kind}");
            }
            Err(Error::Missing(missing)) => println!("skipped: {missing}"),
            Err(other) => panic!("{other}"),
        }
    }
}

/// Gives while it is let, and waits in between.
struct Let(Seeded, Receiver<usize>, usize);

impl Source for Let {
    fn name(&self) -> &str {
        "let"
    }

    fn fill(&mut self, into: &mut [u8]) -> Result<(), Error> {
        while self.2 < into.len() {
            self.2 += self.1.recv().unwrap();
        }
        self.2 -= into.len();
        self.0.fill(into)
    }

    fn counts(&self) -> Counts {
        self.0.counts()
    }

    fn claim(&self) -> Claim {
        self.0.claim()
    }
}

#[test]
fn a_source_that_stops_has_failed_while_it_is_waited_for() {
    for at_start in [false, true] {
        let (allow, allowed) = channel();
        let settings =
            Settings { least_rate: Some(1000.0), rate_over: Duration::from_millis(100), ..impatient() };
        let mut source = Monitored::new(Let(Seeded::new(3), allowed, 0), settings).unwrap();
        let (watch, start_up) = (source.watch(), source.limits().start_up());
        // Where it stops: in the first test, or after it and two portions.
        let first = if at_start { 1000 } else { start_up + 200 };
        allow.send(first).unwrap();
        let begun = Instant::now();
        let drawing = thread::spawn(move || {
            let mut draw = |_| source.fill(&mut [0; 100]).map_err(|error| error.to_string());
            let outcomes: Vec<Result<(), String>> = (0..4).map(&mut draw).collect();
            (outcomes, source)
        });
        eventually("it is seen", || watch.stalled().is_some());
        assert!(begun.elapsed() >= Duration::from_millis(100));
        let health = watch.health();
        let State::Failed { test: Test::Rate, detail } = health.state else { panic!("{health:?}") };
        assert!(detail.contains("have not come in"), "{detail}");
        assert_eq!(health.alarms.of(Test::Rate), 1);
        assert!(!drawing.is_finished());
        // What comes too late counts as the alarm that was announced, and is not given out.
        allow.send(100_000).unwrap();
        let (outcomes, source) = drawing.join().unwrap();
        let failed: Vec<&String> = outcomes.iter().filter_map(|outcome| outcome.as_ref().err()).collect();
        assert!(failed.len() == 1 && failed[0].contains("are the least"), "{outcomes:?}");
        assert_eq!(outcomes.iter().position(Result::is_err), Some(if at_start { 0 } else { 2 }));
        let health = source.health();
        assert_eq!((health.state, health.alarms.of(Test::Rate)), (State::Healthy, 1));
        assert_eq!(watch.stalled(), None);
    }
}
