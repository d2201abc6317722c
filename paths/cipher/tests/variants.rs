//! The variants played by threads of this process: each can be planned, made, run and verified; the figures are the laboratory's.

use std::sync::mpsc;
use std::thread;

use tollway_core::{Clock, Params, Place, Recorder, Result, Spread, Tally, TenantKind, Value, Window};
use tollway_host::clock::{RunClock, hz};

/// What the measured role recorded, and what all counted.
fn play(name: &str, axes: &[(&str, Value)]) -> Result<(Spread, Tally)> {
    let path = tollway_cipher::path();
    let variant = path.variant(name)?;
    let params = axes.iter().fold(Params::new(), |p, (axis, value)| p.with(*axis, value.clone()));
    let params = params.complete(&variant.axes())?;
    let plan = variant.plan(&params)?;
    let mut actors = Vec::new();
    for role in &plan.roles {
        for _ in 0..role.count {
            actors.push((role.measured, variant.actor(&role.name, &params)?));
        }
    }
    // All are made ready, one after the other; then all run in one window.
    let mut place =
        Place { tenant: TenantKind::Thread, peers: Vec::new(), doorbells: Vec::new(), exits: None };
    for (_, actor) in &mut actors {
        let address = actor.ready(&place)?;
        place.peers.push(address);
    }
    let ms = |n: f64| (n * hz().unwrap() / 1000.0) as u64;
    let warm = RunClock::chosen().now() + ms(20.0);
    let window = Window { warm, open: warm + ms(5.0), close: warm + ms(45.0), batch: 0, planted: 0 };
    let (send, ended) = mpsc::channel();
    thread::scope(|scope| {
        for (measured, actor) in actors {
            let send = send.clone();
            let mut actor = actor;
            scope.spawn(move || {
                let mut recorder = Recorder::new();
                let outcome = actor.run(&window, &mut recorder).and_then(|()| {
                    actor.park();
                    actor.verify()
                });
                let spread = if measured { recorder.spread() } else { Spread::default() };
                send.send(outcome.map(|()| (spread, actor.tally()))).unwrap();
            });
        }
    });
    drop(send);
    let mut all = (Spread::default(), Tally::default());
    for outcome in ended {
        let (spread, tally) = outcome?;
        all.0.merge(&spread);
        all.1.merge(&tally);
    }
    Ok(all)
}

fn played(name: &str, axes: &[(&str, Value)]) -> (Spread, Tally) {
    let (spread, tally) = play(name, axes).unwrap_or_else(|error| panic!("{name} {axes:?}: {error}"));
    assert!(spread.ops > 0, "{name} {axes:?}: nothing was recorded");
    (spread, tally)
}

#[test]
fn every_way_of_telling_tells() {
    for way in ["interrupt", "coalesced", "capped", "adaptive", "epoll", "periodic", "hybrid", "busy"] {
        let (_, tally) = played(way, &[("depth", 4.into())]);
        let count = |name: &str| tally.counters[name];
        assert_eq!(count("operations"), count("card_requests"), "{way}");
        // Who is never told is never interrupted, but for the answer to the request for a session.
        assert_eq!(count("card_interrupts") <= 1, ["periodic", "busy"].contains(&way), "{way}: {tally:?}");
        assert!(count("work") > 0 && count("card_interrupts") <= count("operations"));
    }
}

#[test]
fn each_gate_alone_is_measured() {
    for (name, axes) in [
        ("request-submit", vec![("depth", 4.into())]),
        ("request-turn", vec![("kind", "aes-128-gcm".into()), ("depth", 4.into())]),
        ("request-take", vec![("kind", "sha256".into())]),
        ("cipher-work", vec![("kind", "aes-128-xts".into())]),
        ("queue-look", vec![]),
        ("kick-asleep", vec![("kind", "poll-20us-woken".into())]),
        ("sleep-wake", vec![("kind", "epoll-100us-awake".into())]),
        ("sleep-wake", vec![("kind", "nap-100us".into())]),
        ("library", vec![("size", 4096.into())]),
    ] {
        played(name, &axes);
    }
}

#[test]
fn tasks_tenants_and_streams_are_counted_whole() {
    let (spread, tally) = played("interrupt", &[("tasks", 3.into()), ("tenants", 2.into())]);
    assert_eq!(tally.counters["operations"], tally.counters["card_requests"]);
    assert!(spread.ops <= tally.counters["operations"]);
    // 2000 a second for 45 ms: 90 of them, give or take five standard deviations, each in its time.
    for arrivals in ["poisson", "regular", "bursts"] {
        let (_, tally) = played("busy", &[("rate", 2000.into()), ("arrivals", arrivals.into())]);
        let done = tally.counters["operations"];
        assert!((40..=140).contains(&done), "{arrivals}: {done}");
    }
}

/// A closed loop: what is on its way is with the card or with its tenant, who looks without end.
#[test]
fn the_cards_queue_is_as_long_as_what_is_on_its_way() {
    let standing = |depth: u64| {
        let (_, tally) = played("busy", &[("depth", depth.into()), ("size", 65_536.into())]);
        let count = |name: &str| tally.counters[name] as f64;
        assert!(count("card_nanoseconds") > 45e6, "{tally:?}");
        count("card_queue_nanoseconds") / count("card_nanoseconds")
    };
    let (one, sixteen) = (standing(1), standing(16));
    assert!(one > 0.0 && one <= 1.0 && sixteen <= 16.0, "{one} and {sixteen}");
    assert!(sixteen > 4.0 * one, "{one} and {sixteen}");
}

#[test]
fn what_cannot_be_is_refused() {
    for (name, axes, place) in [
        ("interrupt", vec![("size", Value::from(17))], "axis `size`"),
        ("coalesced", vec![("count", 0.into()), ("hold", 0.into())], "axes `count` and `hold`"),
        ("capped", vec![("cap", 0.into())], "axis `cap`"),
        ("af-alg", vec![("driver", "card".into())], "axis `driver`, value `card`"),
        ("af-alg", vec![("driver", "kernel".into()), ("spin", 5.into())], "axis `spin`"),
    ] {
        let error = play(name, &axes).unwrap_err().to_string();
        assert!(error.contains(place), "{name}: {error}");
    }
}
