//! The whole path in one process: what comes out, what is counted, what is refused.

use tollway_capture::engine::buffer::room_for;
use tollway_capture::engine::in_process::{ClockKind, Design, Driver, InProcess, Locking, TransferBy};
use tollway_core::{Params, Recorder, Value, Window};

const DESIGN: Design = Design {
    clock: ClockKind::Tsc,
    transfer: TransferBy::Copy,
    locking: Locking::None,
    group: 50,
    batch: 1 << 18,
    buffer: 1 << 20,
    snapshot: 262_144,
};

/// Frames of many sizes; the first byte of every third is 1.
fn frames() -> Vec<Vec<u8>> {
    (0..256usize).map(|i| vec![u8::from(i.is_multiple_of(3)); 60 + 7 * i % 1400]).collect()
}

fn driver(frames: &[Vec<u8>]) -> Driver {
    Driver::new(frames.iter().map(|f| &f[..])).unwrap()
}

#[test]
fn every_design_delivers_the_same_packets() {
    let frames = frames();
    let mut sums = Vec::new();
    for transfer in [TransferBy::Copy, TransferBy::Driver] {
        for locking in [Locking::None, Locking::PerFrame] {
            for (group, batch) in [(1, 0), (1, 1 << 18), (50, 1 << 18), (7, 1 << 16)] {
                let design = Design { clock: ClockKind::None, transfer, locking, group, batch, ..DESIGN };
                let mut path = InProcess::new(driver(&frames), design).unwrap();
                for _ in 0..700 / group * 7 {
                    path.step(&mut |bytes, _| u32::from(bytes[0]) * 98).unwrap();
                }
                path.drain().unwrap();
                let account = path.accounting();
                assert_eq!(account.balances(), Some(true), "{account:?}");
                assert_eq!(account.dropped, Some(0));
                let offered = account.offered.unwrap();
                let wanted = (0..offered).filter(|i| (i % 256).is_multiple_of(3)).count() as u64;
                assert_eq!(account.delivered, wanted);
                sums.push((offered, path.application().clone()));
            }
        }
    }
    for (offered, application) in &sums {
        let (_, same) = sums.iter().find(|(o, _)| o == offered).unwrap();
        assert_eq!(application, same);
    }
}

#[test]
fn what_finds_no_room_is_counted_as_dropped() {
    let frames = vec![vec![1; 1000]; 256];
    // A group fills the buffer four times over; the application reads after each group.
    let design = Design { group: 256, buffer: 1 << 16, batch: 1 << 18, ..DESIGN };
    let mut path = InProcess::new(driver(&frames), design).unwrap();
    for _ in 0..20 {
        path.step(&mut |_, length| length).unwrap();
    }
    path.drain().unwrap();
    let account = path.accounting();
    assert_eq!(account.balances(), Some(true), "{account:?}");
    let fit = (1 << 16) / room_for(1000) as u64;
    assert_eq!((account.delivered, account.dropped), (20 * fit, Some(20 * (256 - fit))));
}

#[test]
fn a_batch_is_as_large_as_it_may_be() {
    let frames = vec![vec![1; 60]; 256];
    let mut path = InProcess::new(driver(&frames), DESIGN).unwrap();
    let packets = DESIGN.packets_a_read(room_for(60));
    assert_eq!(packets, (1 << 18) / (50 * 80) * 50);
    for _ in 0..10 * packets / 50 {
        path.step(&mut |_, length| length).unwrap();
    }
    assert_eq!(path.application().packets as usize, 10 * packets);
    // A read across the buffer's end takes two calls.
    assert!((10..=13).contains(&path.reads()), "{}", path.reads());
}

#[test]
fn a_driver_without_frames_is_refused() {
    assert!(Driver::new([]).unwrap_err().to_string().contains("give at least one"));
    assert!(Driver::new([&[0u8; 3000][..]]).unwrap_err().to_string().contains("frame 0"));
}

/// Runs a variant for some milliseconds, in this thread. Returns a low quantile, which other work on the machine does not
/// move much, and how many operations there were.
fn run(variant: &str, settings: &[(&str, Value)]) -> (f64, u64) {
    let path = tollway_capture::path();
    let variant = path.variant(variant).unwrap();
    let mut params = Params::new();
    for (name, value) in settings {
        params.set(*name, value.clone());
    }
    let params = params.complete(&variant.axes()).unwrap();
    let role = variant.plan(&params).unwrap().roles[0].name.clone();
    let mut actor = variant.actor(&role, &params).unwrap();
    let place = tollway_core::Place {
        tenant: tollway_core::TenantKind::Process,
        peers: Vec::new(),
        doorbells: Vec::new(),
        exits: None,
        lot: tollway_core::Lot::default(),
    };
    actor.ready(&place).unwrap();
    let now = tollway_core::Clock::now(&tollway_host::clock::RunClock::chosen());
    let window = Window { warm: now, open: now, close: now + 20_000_000, batch: 0, planted: 0 };
    let mut recorder = Recorder::new();
    actor.run(&window, &mut recorder).unwrap();
    actor.park();
    actor.verify().unwrap();
    (recorder.spread().quantile(0.1).unwrap(), actor.tally().counters["operations"])
}

#[test]
fn every_variant_runs_and_verifies() {
    for variant in tollway_capture::path().variants {
        // Those that need a network have tests of their own.
        let plan = variant.plan(&Params::new().complete(&variant.axes()).unwrap()).unwrap();
        if plan.requires.is_empty() {
            let (ticks, operations) = run(variant.name(), &[]);
            assert!(ticks > 0.0 && operations > 0, "{}", variant.name());
        }
    }
}

#[test]
fn an_interrupt_is_served_for_each_group() {
    let settings = |word: &str| [("interrupt", Value::Text(word.into())), ("group", Value::Int(1))];
    let (without, with) = (run("after", &settings("none")).0, run("after", &settings("signal")).0);
    assert!(with > without + 300.0, "{without} without, {with} with a signal for each frame");
}

#[test]
fn a_planted_delay_is_in_the_whole() {
    // A sample is as long as a batch takes: a short one, so that most are not interrupted.
    let batch = ("batch", Value::Int(4096));
    let pair = || {
        let without = run("after", std::slice::from_ref(&batch)).0;
        (without, run("after", &[batch.clone(), ("planted", Value::Int(1000))]).0)
    };
    // Of three pairs on a busy machine one at least.
    let pairs: Vec<(f64, f64)> = (0..3).map(|_| pair()).collect();
    let planted = |(without, with): &(f64, f64)| (800.0..1600.0).contains(&(with - without));
    assert!(pairs.iter().any(planted), "without, and with 1000 cycles planted: {pairs:?}");
}

#[test]
fn settings_that_do_not_go_together_are_refused_with_a_remedy() {
    let path = tollway_capture::path();
    let variant = path.variant("before").unwrap();
    let refused = |settings: &[(&str, Value)]| {
        let mut params = Params::new();
        settings.iter().for_each(|(name, value)| params.set(*name, value.clone()));
        let params = params.complete(&variant.axes()).unwrap();
        variant.plan(&params).unwrap_err().to_string()
    };
    assert!(refused(&[("batch", Value::Int(100))]).contains("or 0 to read each packet on its own"));
    let small = [("size", Value::Int(1514)), ("buffer", Value::Text("64KiB".into()))];
    assert!(refused(&small).contains("a larger buffer"));
}
