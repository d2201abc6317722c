//! Planted figures, and the advice that they must give.

use std::time::Duration;

use tollway_capture::engine::source::Kind;
use tollway_stats::Interval;

use super::apply::{Outcome, outcome};
use super::capacity::{Limit, Predicted, cycles_at, patience, predict, price_of_wake_up};
use super::choice::{Advice, Part, Worth, advise};
use super::measured::{CONFIDENCE, Load, Measured, Way, exactly};
use super::room::Room;
use super::setup::{Asked, Setup};

const MIB: u64 = 1 << 20;

/// An estimate, give or take a hundredth.
fn about(estimate: f64) -> Interval {
    Interval { estimate, lo: estimate * 0.99, hi: estimate * 1.01, confidence: CONFIDENCE }
}

fn load(cycles: f64, carried: f64, packets_a_read: f64) -> Load {
    Load { cycles: about(cycles), carried: about(carried), packets_a_read, pause: 1e-4, dropped: 0 }
}

/// A machine of 2 GHz with a quiet processor: recv for 2000 cycles a packet, V3 for 50, a sender of 1.5 million frames/s; a
/// wake-up for 10,000 cycles.
fn measured() -> Measured {
    let way = |kind, immediate, each: f64| {
        let batch = if immediate { 10.0 } else { 1000.0 };
        let light = load(each + 10_000.0 / batch, 100_000.0, batch);
        Way { kind, immediate, buffer: 16 * MIB, light, full: load(each, 1.5e6, 4000.0) }
    };
    let kinds = [(Kind::Recv, 2000.0, 1000.0), (Kind::TpacketV3, 50.0, 150.0), (Kind::AfXdp, 30.0, 2048.0)];
    Measured {
        hz: 2e9,
        share: about(1.0),
        pause: exactly(1e-4),
        work: exactly(1.0),
        ways: [false, true]
            .iter()
            .flat_map(|now| kinds.map(|(kind, each, _)| way(kind, *now, each)))
            .collect(),
        rooms: kinds.map(|(kind, _, bytes)| (kind, Room::of(kind, bytes))).to_vec(),
        left_out: Vec::new(),
    }
}

fn asked() -> Asked {
    let now = Setup { kind: Kind::Recv, buffer: 256 << 10, immediate: false, patience: 10, cores: 1 };
    Asked {
        rate: None,
        size: 60,
        filter: "none",
        work: 0,
        stall: Duration::ZERO,
        delay: 10,
        cores: 1,
        bypass: false,
        now,
        buffers: vec![64 << 10, 256 << 10, MIB, 4 * MIB, 16 * MIB, 64 * MIB],
    }
}

fn advice(asked: &Asked) -> Advice {
    advise(asked, &measured()).unwrap().unwrap()
}

fn predicted(setup: Setup, asked: &Asked) -> Predicted {
    predict(setup, asked, &measured()).unwrap().unwrap()
}

fn near(figure: f64, expected: f64) {
    assert!((figure / expected - 1.0).abs() < 1e-6, "{figure} for {expected}");
}

#[test]
fn the_largest_rate_is_the_least_of_processor_buffer_and_sender() {
    let recv = Setup { buffer: 16 * MIB, ..asked().now };
    // 2e9 / 2000 of the processor; 16 MiB / 1000 bytes in 0.1 ms of the buffer; 1.5e6 of the sender.
    let one = predicted(recv, &asked());
    assert_eq!(one.limit, Limit::Processor);
    near(one.rate.estimate, 1e6);
    assert!(one.rate.lo < 0.99e6 && one.rate.hi > 1.01e6 && one.rate.hi < 1.03e6, "{:?}", one.rate);
    let busy = predicted(recv, &Asked { work: 6000, ..asked() });
    near(busy.rate.estimate, 0.25e6);
    near(busy.cycles.estimate, 8000.0);
    let stalling = predicted(recv, &Asked { stall: Duration::from_millis(100), ..asked() });
    assert_eq!(stalling.limit, Limit::Buffer);
    near(stalling.rate.estimate, (16.0 * MIB as f64 / 1000.0).floor() / 0.1001);
    let two = predicted(Setup { cores: 2, ..recv }, &asked());
    assert_eq!(two.limit, Limit::Sender);
    near(two.rate.estimate, 1.5e6);
    // A tenth of the time goes by without it, and half of the pause of 0.1 ms with each stall.
    let short = predicted(recv, &Asked { stall: Duration::from_millis(1), ..asked() });
    near(short.rate.estimate, (1.0 - 1.05 / 10.0) * 1e6);
}

#[test]
fn the_source_that_costs_least_is_advised_with_the_smallest_buffer() {
    let advice = advice(&asked());
    let best = advice.best.setup;
    assert_eq!((best.kind, best.cores), (Kind::TpacketV3, 1));
    // 0.2 ms of 1.5 million frames/s are 300; the smallest ring has two blocks of 128 KiB, of which one holds 873.
    assert_eq!(best.buffer, 64 << 10);
    assert_eq!(advice.best.limit, Limit::Sender);
    assert!(advice.sources.iter().any(|s| s.setup.kind == Kind::AfXdp), "it is shown");
    let bypassing = advise(&Asked { bypass: true, ..asked() }, &measured()).unwrap().unwrap();
    assert_eq!(bypassing.best.setup.kind, Kind::AfXdp);
}

#[test]
fn stalls_want_memory_and_none_wants_none() {
    let buffer = |stall: u64, rate: f64| {
        let asked = Asked { stall: Duration::from_millis(stall), rate: Some(rate), ..asked() };
        advice(&asked).best.setup.buffer
    };
    assert_eq!(buffer(0, 100_000.0), 64 << 10);
    // 500,000 frames/s with headroom for 50 ms are 31,250 frames of 150 bytes: 4.5 MiB.
    assert_eq!(buffer(50, 500_000.0), 16 * MIB);
    assert!(buffer(20, 500_000.0) < buffer(200, 500_000.0));
}

#[test]
fn blocks_are_given_time_enough_to_bridge_a_stall_at_low_rates() {
    let asked = Asked { stall: Duration::from_millis(150), rate: Some(10_000.0), ..asked() };
    let setup = Setup { kind: Kind::TpacketV3, buffer: 16 * MIB, ..asked.now };
    // Of 32 blocks 30 have to last for 150 ms.
    assert_eq!(patience(setup, &asked, &measured()).unwrap(), Some(10));
    let best = advice(&asked).best.setup;
    assert_eq!(best.kind, Kind::TpacketV3);
    assert!(best.patience >= 5, "{best}");
}

#[test]
fn a_slow_application_is_told_to_take_cores_and_what_its_own_work_costs() {
    let asked = Asked { work: 10_000, cores: 4, rate: Some(500_000.0), ..asked() };
    let advice = advice(&asked);
    // 625,000 frames/s at 10,050 cycles each are 3.14 processors.
    assert_eq!(advice.best.setup.cores, 4);
    let first = &advice.changes[0];
    assert_eq!((first.what, first.worth), (Part::Cores, Worth::Yes));
    let last = advice.changes.last().unwrap();
    assert_eq!(last.what, Part::Application);
    let alone = Asked { cores: 1, ..asked };
    let stuck = advise(&alone, &measured()).unwrap().unwrap();
    assert_eq!((stuck.best.setup.cores, stuck.best.limit), (1, Limit::Processor));
    assert!(stuck.best.rate.hi < 500_000.0, "it does not promise what one core cannot do");
    let application = stuck.changes.last().unwrap();
    assert_eq!((application.what, application.worth), (Part::Application, Worth::Yes));
    assert!((1.9..2.0).contains(&application.gain.estimate), "{:?}", application.gain);
}

#[test]
fn changes_stand_in_the_order_of_what_they_bring() {
    // Today: recv at 1 million/s by its processor, with a buffer of 256 KiB that takes 2.6 million/s.
    let advice = advice(&asked());
    let what: Vec<Part> = advice.changes.iter().map(|change| change.what).collect();
    assert_eq!(what, [Part::Source, Part::Buffer]);
    let source = &advice.changes[0];
    assert_eq!(source.worth, Worth::Yes);
    near(source.gain.estimate, 1.5);
    assert_eq!(advice.changes[1].worth, Worth::No);
    // Where the rate is nothing to it, the gain is in cycles.
    let asked = Asked { rate: Some(100_000.0), ..asked() };
    let source = &advise(&asked, &measured()).unwrap().unwrap().changes[0];
    near(source.gain.estimate, 2010.0 / 60.0);
    // Whoever has it already has nothing to change.
    let now = Setup { buffer: 64 << 10, ..advice.best.setup };
    assert!(advise(&Asked { now, ..asked }, &measured()).unwrap().unwrap().changes.is_empty());
}

#[test]
fn what_cannot_be_told_apart_is_not_called_worth_it() {
    let mut measured = measured();
    for way in measured.ways.iter_mut().filter(|way| way.kind == Kind::TpacketV3) {
        for load in [&mut way.light, &mut way.full] {
            load.cycles = Interval { estimate: 1800.0, lo: 1000.0, hi: 3000.0, confidence: CONFIDENCE };
        }
    }
    let asked = Asked { rate: Some(100_000.0), ..asked() };
    let advice = advise(&asked, &measured).unwrap().unwrap();
    let source = advice.changes.iter().find(|change| change.what == Part::Source).unwrap();
    assert_eq!(source.worth, Worth::NotSeparable, "{source:?}");
}

#[test]
fn packets_share_wake_ups_until_these_cost_little() {
    let measured = measured();
    let recv = Setup { buffer: 16 * MIB, ..asked().now };
    let light = |immediate| &measured.way(recv.kind, immediate, recv.buffer).unwrap().light;
    let (wake_up, each) = price_of_wake_up(light(false), light(true)).unwrap();
    near(wake_up, 10_000.0);
    near(each, 2000.0);
    assert_eq!(price_of_wake_up(light(true), light(true)), None);
    // A batch of 100 makes 10,000 cycles a twentieth of 2000: at 20,000 frames/s that is 5 ms.
    let asked = Asked { rate: Some(20_000.0), ..asked() };
    assert_eq!(patience(recv, &asked, &measured).unwrap(), Some(5));
    assert_eq!(patience(recv, &Asked { delay: 2, ..asked.clone() }, &measured).unwrap(), Some(2));
    let at_once = Asked { delay: 0, ..asked };
    assert_eq!(patience(recv, &at_once, &measured).unwrap(), None);
    assert!(advise(&at_once, &measured).unwrap().unwrap().best.setup.immediate);
}

#[test]
fn a_cost_between_two_rates_and_below_goes_by_shared_wake_ups() {
    let measured = measured();
    let way = measured.way(Kind::Recv, false, 16 * MIB).unwrap();
    near(cycles_at(way, 100_000.0).estimate, 2010.0);
    near(cycles_at(way, 1.5e6).estimate, 2000.0);
    // 10 cycles at 100,000/s but none at 1.5 million/s: 10.71 × (100,000 / rate) - 0.71.
    near(cycles_at(way, 10_000.0).estimate, 2000.0 + 10.0 * (150.0 - 1.0) / 14.0);
    let at = cycles_at(way, 10_000.0);
    assert!(at.lo <= at.estimate && at.estimate <= at.hi, "{at:?}");
    // Had packets cost nothing but wake-ups, ten times as many cycles.
    near(at.lo, 2010.0 * 0.99);
    near(at.hi, 20_100.0 * 1.01);
}

#[test]
fn a_prediction_is_judged_by_where_loss_begins() {
    let of = |lo: f64, hi: f64, limit| {
        let rate = Interval { estimate: (lo + hi) / 2.0, lo, hi, confidence: CONFIDENCE };
        Predicted { rate, limit, ..predicted(asked().now, &asked()) }
    };
    let processor = of(90.0, 110.0, Limit::Processor);
    let is = |without, with, expected| {
        assert_eq!(outcome(&processor, without, with), expected, "{without:?} {with:?}");
    };
    is(Some(95.0), Some(105.0), Outcome::Holds);
    is(Some(80.0), Some(92.0), Outcome::Holds);
    is(Some(70.0), Some(80.0), Outcome::Missed);
    is(Some(120.0), Some(130.0), Outcome::Missed);
    is(None, Some(50.0), Outcome::Missed);
    // Never more than the sender gave.
    is(Some(100.0), None, Outcome::NotReached);
    is(Some(130.0), None, Outcome::Missed);
    assert_eq!(outcome(&of(90.0, 110.0, Limit::Sender), Some(100.0), None), Outcome::Holds);
    assert_eq!(outcome(&of(90.0, 110.0, Limit::Sender), Some(50.0), Some(60.0)), Outcome::Missed);
    assert_eq!(outcome(&of(40.0, 110.0, Limit::Processor), Some(50.0), Some(60.0)), Outcome::SaysNothing);
}
