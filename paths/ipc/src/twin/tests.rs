//! The twin against closed forms, and what must hold of it whatever steps take.

use proptest::prelude::*;

use super::*;

const PARTS: Parts = Parts {
    ask: 110.0,
    answer: 90.0,
    beside: 0.0,
    round: 0.0,
    passage: 300.0,
    switch: 1400.0,
    call: 350.0,
    wake: 2000.0,
    late: 9000.0,
    sleep: 1500.0,
};

const LOOKS: Patience = Patience { spin: 1e9, yields: 4 };
const SLEEPS: Patience = Patience { spin: 0.0, yields: 0 };
const LEARNT: Patience = Patience { spin: 9000.0, yields: 4 };

fn asked(cores: Cores, patience: Patience, requests: u32, service: f64) -> Answer {
    run(&PARTS, &Question { requests, service, cores, patience, hints: false })
}

fn near(answer: f64, exact: f64) -> bool {
    (answer - exact).abs() <= 1e-9 * exact.abs().max(1.0)
}

/// One request: each step follows the other.
#[test]
fn one_request_costs_the_sum_of_its_steps() {
    for service in [0.0, 5_000.0, 1e6] {
        let work = 200.0 + service;
        let awake = asked(Cores::Two, LOOKS, 1, service);
        assert!(near(awake.cost, work + 600.0) && awake.notices() == 0.0, "{awake:?}");
        let asleep = asked(Cores::Two, SLEEPS, 1, service);
        assert!(near(asleep.cost, work + 18_000.0), "{asleep:?}");
        assert_eq!((asleep.request_notices, asleep.reply_notices, asleep.sleeps), (1.0, 1.0, 2.0));
        let shared = asked(Cores::One, SLEEPS, 1, service);
        assert!(near(shared.cost, work + 7_000.0) && shared.notices() == 2.0, "{shared:?}");
        let given = asked(Cores::One, Patience { spin: 0.0, yields: 4 }, 1, service);
        assert!(
            near(given.cost, work + 2_800.0) && given.notices() == 0.0 && given.yields == 2.0,
            "{given:?}"
        );
    }
}

/// Many requests: the slower end's pace on two cores, and on one a share of the switches.
#[test]
fn many_requests_cost_what_the_slower_end_takes() {
    for (service, slower) in [(0.0, 110.0), (20.0, 110.0), (50.0, 140.0), (10_000.0, 10_090.0)] {
        let answer = asked(Cores::Two, LOOKS, 64, service);
        assert!(near(answer.cost, slower), "{service}: {answer:?}");
    }
    for requests in [2, 16, 256] {
        let answer = asked(Cores::One, Patience { spin: 0.0, yields: 4 }, requests, 0.0);
        assert!(near(answer.cost, 200.0 + 2_800.0 / f64::from(requests)), "{answer:?}");
        assert!(near(answer.yields, 2.0 / f64::from(requests)));
    }
}

/// With some on their way an end finds the next before it has looked for long, and with many always.
#[test]
fn notices_fall_silent_under_load() {
    // The server takes longer than its client looks, which therefore sleeps; but what it is woken for is more than one reply.
    let notices = |requests, service| asked(Cores::Two, LEARNT, requests, service).notices();
    assert_eq!(notices(1, 0.0), 0.0);
    assert_eq!(notices(1, 50_000.0), 1.0);
    assert!(notices(64, 0.0) < 0.01);
    let loaded: Vec<f64> = [8, 16, 32, 128].map(|requests| notices(requests, 50_000.0)).into();
    assert!(loaded.is_sorted_by(|a, b| a >= b) && loaded[3] < 0.02, "{loaded:?}");
}

/// The server tells of each reply, where it looks after each; its client is the sooner at work again.
#[test]
fn hints_wake_for_each_reply() {
    let hinted = |hints| {
        run(&PARTS, &Question { requests: 8, service: 50_000.0, cores: Cores::Two, patience: SLEEPS, hints })
    };
    assert!((hinted(true).reply_notices - 1.0).abs() < 1e-3, "{:?}", hinted(true));
    assert!(hinted(false).reply_notices < 0.3, "{:?}", hinted(false));
}

/// Where no more are on their way than a cache line has entries, two ends that are at work all the time keep it from each other; one that waits
/// keeps nothing from anybody.
#[test]
fn ends_that_work_on_one_line_hinder_each_other() {
    let parts = Parts { ask: 110.0, answer: 110.0, beside: 60.0, ..PARTS };
    let cost = |requests, service| {
        run(&parts, &Question { requests, service, cores: Cores::Two, patience: LOOKS, hints: false }).cost
    };
    assert!(near(cost(1, 0.0), 220.0 + 600.0), "{}", cost(1, 0.0));
    assert!(near(cost(OF_A_LINE, 0.0), 170.0), "{}", cost(OF_A_LINE, 0.0));
    assert!(near(cost(OF_A_LINE + 1, 0.0), 110.0), "{}", cost(OF_A_LINE + 1, 0.0));
    assert!(near(cost(OF_A_LINE, 10_000.0), 10_110.0), "{}", cost(OF_A_LINE, 10_000.0));
}

fn parts() -> impl Strategy<Value = Parts> {
    prop::array::uniform10(0.0f64..20_000.0).prop_map(
        |[ask, answer, beside, round, passage, switch, call, wake, late, sleep]| Parts {
            ask: ask + 1.0,
            answer: answer + 1.0,
            beside,
            round: round / 10.0,
            passage: passage / 10.0,
            switch,
            call,
            wake,
            late: wake + late,
            sleep,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Nothing is done faster than the slower end does it, nor than one after the other with so many on their way; and nothing is lost.
    #[test]
    fn bounds_hold_whatever_steps_take(
        parts in parts(), requests in 1u32..200, service in 0.0f64..1e5, spin in 0.0f64..3e4, yields in 0u32..5,
        hints in any::<bool>(), is_one in any::<bool>(),
    ) {
        let cores = if is_one { Cores::One } else { Cores::Two };
        let question = Question { requests, service, cores, patience: Patience { spin, yields }, hints };
        let answer = run(&parts, &question);
        let (client, server) = (parts.ask, parts.answer + service);
        let least = if is_one { client + server } else { client.max(server) };
        let alone = if is_one { 0.0 } else { client + server + 2.0 * parts.passage };
        prop_assert!(answer.cost >= least * 0.99, "{:?}", answer);
        prop_assert!(answer.cost * f64::from(requests) >= alone * 0.99, "{:?}", answer);
        let waits = parts.late + parts.wake + parts.sleep + parts.switch + parts.round + spin + 5.0 * parts.call;
        prop_assert!(answer.cost <= 1.01 * (client + server + 2.0 * (parts.beside + parts.passage + waits)), "{:?}", answer);
        prop_assert!(answer.request_notices <= 1.01 && answer.reply_notices <= 1.01, "{:?}", answer);
        prop_assert_eq!(run(&parts, &question), answer);
    }
}
