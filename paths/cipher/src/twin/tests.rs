//! Against formulas, where there are some: what is built from steps comes to what queueing theory says of the same.

use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tollway_model::Distribution;
use tollway_model::general::{Mg1, Mg1Setup};
use tollway_model::priority::Mg1Preemptive;

use super::*;

/// A service of 50 µs on average, exponential: its quantiles at the middle of equal shares.
fn exponential(mean: f64) -> Law {
    let shares = 4096;
    let value = |i: i32| -mean * (1.0 - (f64::from(i) + 0.5) / f64::from(shares)).ln();
    Law::seen((0..shares).map(|i| (value(i), 1)))
}

fn question(rate: f64) -> Question {
    Question {
        delivery: Delivery::Never,
        waiting: Waiting::Busy,
        awake: true,
        tenants: 1,
        rate,
        requests: 400_000,
        seed: 1,
    }
}

#[track_caller]
fn close(got: f64, want: f64, tolerance: f64) {
    assert!((got / want - 1.0).abs() < tolerance, "{got} for {want}");
}

#[test]
fn where_all_else_takes_nothing_it_is_mm1() {
    let parts = Parts { serve: exponential(50_000.0), ..Parts::default() };
    for load in [0.3, 0.8] {
        let answer = run(&parts, &question(load / 50e-6));
        // R = s/(1 − ρ), exponential.
        let mean = 50_000.0 / (1.0 - load);
        close(answer.mean(), mean, 0.03);
        close(answer.quantile(0.99), mean * 100f64.ln(), 0.05);
        close(answer.seconds, 400_000.0 * 50e-6 / load, 0.01);
        assert_eq!((answer.interrupts, answer.card_sleeps, answer.sleeps), (0, 0, 0));
        close(answer.tenant_busy, answer.seconds, 1e-3);
    }
}

#[test]
fn a_card_that_sleeps_is_mg1_with_setups() {
    let parts = Parts {
        serve: Law::constant(50_000.0),
        card: vec![(1e5, Law::constant(30_000.0))],
        ..Parts::default()
    };
    for load in [0.1, 0.5, 0.8] {
        let answer = run(&parts, &Question { awake: false, ..question(load / 50e-6) });
        let constant = |value| Distribution::constant(value).unwrap();
        let model = Mg1Setup::new(load / 50e-6, constant(50e-6), constant(30e-6)).unwrap();
        close(answer.mean(), 1e9 * model.mean_wait() + 50_000.0, 0.02);
        close(answer.card_sleeps as f64 / answer.seconds, model.setups(), 0.02);
        close(answer.card_busy / answer.seconds, load, 0.01);
        // Little, but for those that wait for the card to wake up, of which it does not know.
        let unknown = model.setups() * 30e-6 * (1.0 + load / 50e-6 * 15e-6);
        close(answer.queue, load / 50e-6 * (model.mean_wait() + 50e-6) - unknown, 0.03);
    }
}

#[test]
fn who_loops_is_one_of_a_finite_source() {
    // They think for 20 µs each on one core, and the card is at work for 50 µs: a queue at each, all of them in one or the other.
    let parts = Parts { submit: Law::constant(20_000.0), serve: exponential(50_000.0), ..Parts::default() };
    let loops = Question { tenants: 8, rate: 0.0, waiting: Waiting::Epoll, ..question(0.0) };
    let answer = run(&parts, &Question { delivery: Delivery::Each, ..loops });
    // The card is the narrow place: it hardly rests, and all responses are a round of eight services.
    close(answer.mean(), 8.0 * 50_000.0, 0.02);
    close(400_000.0 / answer.seconds, 1.0 / 50e-6, 0.02);
    // Little: who is not at the card is on the core, for 20 µs and what it waits there.
    assert!((7.2..7.6).contains(&answer.queue), "{}", answer.queue);
    let alone = run(&parts, &Question { tenants: 1, rate: 0.0, ..question(0.0) });
    close(alone.mean(), 70_000.0, 0.02);
    close(alone.queue, 5.0 / 7.0, 0.02);
}

#[test]
fn a_cold_service_is_a_longer_setup() {
    let parts = Parts {
        serve: Law::constant(50_000.0),
        cold: 20_000.0,
        card: vec![(1e5, Law::constant(30_000.0))],
        ..Parts::default()
    };
    let answer = run(&parts, &Question { awake: false, ..question(0.5 / 50e-6) });
    let constant = |value| Distribution::constant(value).unwrap();
    let model = Mg1Setup::new(0.5 / 50e-6, constant(50e-6), constant(50e-6)).unwrap();
    close(answer.mean(), 1e9 * model.mean_wait() + 50_000.0, 0.02);
}

#[test]
fn what_the_machine_takes_is_served_before_requests() {
    let rate = 0.6 / 50e-6;
    // Two independent cores: the card's, which delays as customers of a higher class do, and the tenant's, on which one waits
    // twice for what is left of an interruption: when a request is due, and when its result is there.
    let services = [Distribution::exponential(200e-6).unwrap(), Distribution::constant(50e-6).unwrap()];
    let card = Mg1Preemptive::new(&[200.0, rate], &services).unwrap().class(2).unwrap().response;
    let left = 200.0 * 200e-6 * 200e-6;
    let drawn = Interruptions { rate: 200.0, lengths: exponential(200_000.0), windows: Vec::new() };
    // The same as a watcher of both cores would have seen it, in 40 s.
    let mut random = StdRng::seed_from_u64(11);
    let mut core = || {
        let (mut pieces, mut at) = (Vec::new(), 0.0_f64);
        loop {
            at -= f64::ln(1.0 - random.random::<f64>()) * 1e9 / 200.0;
            if at >= 1e8 {
                return pieces;
            }
            let long = -f64::ln(1.0 - random.random::<f64>()) * 200_000.0;
            pieces.push((at, long));
            at += long;
        }
    };
    let windows = (0..400).map(|_| Watched { long: 1e8, cores: [core(), core()] }).collect();
    for interruptions in [drawn, Interruptions { windows, ..Interruptions::default() }] {
        let parts = Parts { serve: Law::constant(50_000.0), interruptions, ..Parts::default() };
        let answer = run(&parts, &question(rate));
        close(answer.mean(), 1e9 * (card + 2.0 * left), 0.06);
    }
}

#[test]
fn a_tenant_that_sleeps_pays_for_each_end_of_a_sleep() {
    // Rare requests: each finds both asleep.
    let parts = Parts {
        submit: Law::constant(1000.0),
        serve: Law::constant(10_000.0),
        take: Law::constant(2000.0),
        kick: vec![(1e5, Law::constant(500.0))],
        call: vec![(1e5, Law::constant(500.0))],
        card: vec![(1e5, Law::constant(30_000.0))],
        tenant: vec![(1e5, Law::constant(20_000.0))],
        nap_idle: vec![(1e5, Law::constant(40_000.0))],
        ..Parts::default()
    };
    let rare =
        |waiting, delivery| Question { awake: false, waiting, delivery, requests: 2000, ..question(10.0) };
    let called = run(&parts, &rare(Waiting::Interrupt, Delivery::Each));
    // Late for its start; the card's wake-up counts from before the kick, and so does the tenant's.
    close(called.quantile(0.5), 40_000.0 + 1000.0 + 30_000.0 + 10_000.0 + 20_000.0 + 2000.0, 1e-6);
    assert_eq!((called.interrupts, called.card_sleeps), (2000, 2000));
    let epoll = run(&parts, &rare(Waiting::Epoll, Delivery::Each));
    assert_eq!(epoll.responses, called.responses);
    // Looking, it is in time, and finds the result when it is there.
    let busy = run(&parts, &rare(Waiting::Busy, Delivery::Never));
    close(busy.quantile(0.5), 1000.0 + 30_000.0 + 10_000.0 + 2000.0, 1e-6);
    let hybrid = run(&parts, &rare(Waiting::Hybrid(Duration::from_millis(1)), Delivery::Each));
    close(hybrid.quantile(0.5), 40_000.0 + 43_000.0, 1e-6);
    // Held back for as long as a hold is; then both have slept.
    let held = Delivery::Coalesced { count: 8, hold: Some(Duration::from_millis(1)) };
    let coalesced = run(&parts, &rare(Waiting::Interrupt, held));
    close(coalesced.quantile(0.5), 103_000.0 + 1_000_000.0 + 40_000.0, 1e-6);
}

#[test]
fn who_was_called_is_not_called_again_before_it_has_looked() {
    let parts = Parts {
        serve: Law::constant(10_000.0),
        tenant: vec![(1e5, Law::constant(100_000.0))],
        ..Parts::default()
    };
    for waiting in [Waiting::Interrupt, Waiting::Epoll] {
        let answer = run(&parts, &Question { waiting, delivery: Delivery::Each, ..question(0.9 / 10e-6) });
        // It wakes up for 100 µs each time.
        let most = answer.seconds / 100e-6;
        let interrupts = answer.interrupts as f64;
        assert!((0.5 * most..=most + 1.0).contains(&interrupts), "{interrupts} of {most}");
    }
}

#[test]
fn who_wakes_up_by_itself_is_called_for_nothing() {
    let parts = Parts {
        serve: Law::constant(1e6),
        call: vec![(1e6, Law::constant(400_000.0))],
        nap: vec![(1e6, Law::constant(5e6))],
        nap_idle: vec![(1e6, Law::constant(5e6))],
        ..Parts::default()
    };
    let sleeper = Question { waiting: Waiting::Interrupt, delivery: Delivery::Each, ..question(100.0) };
    let answer = run(&parts, &Question { awake: false, requests: 50_000, ..sleeper });
    let paid = (answer.card_busy - 50.0) / 400e-6;
    // It is due again before the result is there in so many cases at least, and those that came meanwhile are sent together.
    let free = 1.0 - paid / answer.interrupts as f64;
    assert!((1.0 - (-0.1f64).exp()..0.5).contains(&free), "{free}");
}

#[test]
fn a_cap_is_kept_and_what_is_told_together_is_counted_once() {
    let parts = Parts { serve: Law::constant(10_000.0), ..Parts::default() };
    let capped = Delivery::Capped { gap: Duration::from_millis(1) };
    let answer =
        run(&parts, &Question { waiting: Waiting::Interrupt, delivery: capped, ..question(20_000.0) });
    let rate = answer.interrupts as f64 / answer.seconds;
    assert!((900.0..=1000.5).contains(&rate), "{rate}");
}

#[test]
fn tenants_share_their_core_and_the_card() {
    let parts = Parts {
        submit: Law::constant(1000.0),
        serve: exponential(10_000.0),
        take: Law::constant(2000.0),
        ..Parts::default()
    };
    let many = Question { waiting: Waiting::Epoll, delivery: Delivery::Each, tenants: 8, ..question(5000.0) };
    let answer = run(&parts, &many);
    close(400_000.0 / answer.seconds, 40_000.0, 0.02);
    close(answer.tenant_busy / answer.seconds, 40_000.0 * 3e-6, 0.02);
    let mm1 = Mg1::new(40_000.0, Distribution::exponential(10e-6).unwrap()).unwrap();
    assert!(answer.mean() > 1e9 * mm1.mean_response(), "{}", answer.mean());
    close(answer.mean(), 1e9 * mm1.mean_response() + 3000.0, 0.1);
}
