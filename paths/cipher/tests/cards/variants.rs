//! The variants played by threads of this process: each can be planned, made, run and verified; the figures are the laboratory's.

use std::path::Path;

use tollway_cipher::engine::kernel::{DevCrypto, own};
use tollway_core::{Error, Plan, Result, Spread, Tally, Value};
use tollway_host::af_alg::AfAlg;
use tollway_host::clock::hz;
use tollway_host::requirement::skip_test;

use crate::in_threads::{self, Times};
use crate::quiet::is_quiet;

fn plan(name: &str, axes: &[(&str, Value)]) -> Plan {
    in_threads::point(&tollway_cipher::path(), name, axes).unwrap().0
}

/// What the measured role recorded, and what all counted.
fn play(name: &str, axes: &[(&str, Value)]) -> Result<(Spread, Tally)> {
    in_threads::play(&tollway_cipher::path(), name, axes, &Times { lead: 20.0, window: 40.0 })
}

/// The same in a window that is so long that each has the processors in it, whoever else wants them.
fn played_for_long(name: &str, axes: &[(&str, Value)]) -> (Spread, Tally) {
    let times = Times { lead: 20.0, window: LONG };
    in_threads::play(&tollway_cipher::path(), name, axes, &times)
        .unwrap_or_else(|e| panic!("{name} {axes:?}: {e}"))
}

/// Milliseconds of a long window.
const LONG: f64 = 400.0;

fn played(name: &str, axes: &[(&str, Value)]) -> (Spread, Tally) {
    let (spread, tally) = play(name, axes).unwrap_or_else(|error| panic!("{name} {axes:?}: {error}"));
    assert!(spread.ops > 0, "{name} {axes:?}: nothing was recorded");
    (spread, tally)
}

#[test]
fn every_way_of_telling_tells() {
    for way in ["interrupt", "coalesced", "capped", "adaptive", "epoll", "periodic", "hybrid", "busy"] {
        let is_told = || {
            let (_, tally) = played_for_long(way, &[("depth", 4.into())]);
            let count = |name: &str| tally.counters[name];
            assert_eq!(count("operations"), count("card_requests"), "{way}");
            assert!(count("work") > 0 && count("card_interrupts") <= count("operations"));
            // But for the answer to the request for a session.
            count("card_interrupts") > 1
        };
        match way {
            "periodic" | "busy" => assert!(!is_told(), "{way} is told"),
            // Who looks first need not be.
            "hybrid" => drop(is_told()),
            _ => assert!(is_told(), "{way} is not told"),
        }
    }
}

#[test]
fn each_gate_alone_is_measured() {
    for (name, axes) in [
        ("request-submit", vec![("depth", 4.into())]),
        ("request-turn", vec![("kind", "aes-128-gcm".into()), ("depth", 4.into())]),
        ("request-take", vec![("kind", "sha256".into())]),
        ("cipher-work", vec![("kind", "aes-128-xts".into())]),
        ("table-take", vec![]),
        ("table-take", vec![("kind", "linux".into()), ("size", 131_072.into())]),
        ("queue-look", vec![]),
        ("request-round", vec![("depth", 4.into())]),
        ("request-submit", vec![("warmth", "cold".into())]),
        ("kick-asleep", vec![("kind", "poll-20us-woken".into())]),
        ("kick-asleep", vec![("kind", "poll-0us-before".into())]),
        ("sleep-wake", vec![("kind", "epoll-0us-before".into())]),
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
    // 2000 a second for 45 ms: 90 of them, give or take five standard deviations, each in its time. Where others have the processors
    // fewer can be asked for.
    for arrivals in ["poisson", "regular", "bursts"] {
        let (_, tally) = played("busy", &[("rate", 2000.into()), ("arrivals", arrivals.into())]);
        let done = tally.counters["operations"];
        assert!(done <= 140 && done >= if is_quiet() { 40 } else { 1 }, "{arrivals}: {done}");
    }
}

/// A closed loop: what is on its way is with the card or with its tenant, who looks without end.
#[test]
fn the_cards_queue_is_as_long_as_what_is_on_its_way() {
    let standing = |depth: u64| {
        let (_, tally) = played_for_long("busy", &[("depth", depth.into()), ("size", 65_536.into())]);
        let count = |name: &str| tally.counters[name] as f64;
        count("card_queue_nanoseconds") / count("card_nanoseconds")
    };
    let (one, sixteen) = (standing(1), standing(16));
    assert!(one > 0.0 && one <= 1.0 && sixteen <= 16.0, "{one} and {sixteen}");
    assert!(sixteen > if is_quiet() { 4.0 } else { 1.0 } * one, "{one} and {sixteen}");
}

/// By count alone, by time alone, and by whichever is first: no interrupt for fewer, none sooner. How late they are is the machine's.
#[test]
fn interrupts_are_coalesced_by_count_by_time_or_by_both() {
    let told = |count: u64, hold: u64| {
        let axes = [("count", count.into()), ("hold", hold.into()), ("rate", 5000.into())];
        let (spread, tally) = played_for_long("coalesced", &axes);
        // Of those that were left at the end nobody told, and yet nobody waited for long.
        assert!(spread.quantile(1.0).unwrap() < hz().unwrap(), "{count} {hold}");
        // One is the answer to the request for a session.
        let of = |name: &str| tally.counters[name];
        (of("operations"), of("card_interrupts").saturating_sub(1), of("card_nanoseconds") / 1000)
    };
    let (done, interrupts, _) = told(8, 0);
    assert!(interrupts > 0 && interrupts <= done / 8, "{interrupts} for {done}");
    let (_, interrupts, us) = told(0, 1000);
    assert!(interrupts > 0 && interrupts <= us / 1000 + 1, "{interrupts} in {us} µs");
    // Of both it is here the time, there the count, that is first.
    let (done, interrupts, us) = told(1000, 1000);
    assert!(interrupts > done / 1000 && interrupts <= us / 1000 + 1, "{interrupts} for {done} in {us} µs");
    let (done, interrupts, _) = told(8, 1_000_000);
    assert!(interrupts > 0 && interrupts <= done / 8, "{interrupts} for {done}");
}

#[test]
fn requests_of_several_sizes_are_counted_by_their_bytes() {
    // What each has must come of it, else the trial fails; of hashes, that each has its own.
    for cipher in ["aes-128-cbc", "aes-256-gcm", "sha256"] {
        let axes = [("mix", "64:2,1024:1,16384:1".into()), ("cipher", cipher.into()), ("depth", 8.into())];
        let (_, tally) = played("epoll", &axes);
        let of = |bytes: u64| tally.visits[&format!("submit: {bytes} bytes")];
        let (done, bytes) = (tally.counters["operations"], tally.counters["bytes"]);
        assert_eq!([64, 1024, 16384].map(of).iter().sum::<u64>(), done, "{cipher}: {tally:?}");
        assert_eq!([64, 1024, 16384].map(|size| of(size) * size).iter().sum::<u64>(), bytes, "{cipher}");
        // Half of them, give or take five standard deviations.
        let half = done as f64 / 2.0;
        assert!((of(64) as f64 - half).abs() < 5.0 * (half / 2.0).sqrt(), "{cipher}: {} of {done}", of(64));
    }
    let (_, tally) = played("busy", &[("size", 4096.into())]);
    assert_eq!(tally.counters["bytes"], 4096 * tally.counters["operations"]);
}

#[test]
fn a_trace_is_played_at_its_own_rate_or_at_another() {
    let (_, own) = played_for_long("busy", &[("arrivals", "trace".into())]);
    let (_, fast) = played_for_long("busy", &[("arrivals", "trace".into()), ("rate", 20_000.into())]);
    // 0.4 s of bursts at some 2000 a second, and of the same at 20,000.
    let done = [&own, &fast].map(|tally| tally.counters["operations"]);
    assert!((50..=3600).contains(&done[0]) && (done[0] + 900..=16_000).contains(&done[1]), "{done:?}");
    // All its sizes are there, and gates know them.
    let gates = plan("busy", &[("arrivals", "trace".into())]).gates;
    let ciphers: Vec<_> = gates.iter().filter(|gate| gate.name.starts_with("cipher: ")).collect();
    assert_eq!(ciphers.len(), 5);
    assert!(ciphers.iter().all(|gate| gate.toll.is_some()));
    // Of one with more sizes than a bill has tolls those gates are left open.
    let many: String = (1..40).map(|n| format!("{n},{}\n", 16 * n)).collect();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), many).unwrap();
    let name = file.path().to_str().unwrap();
    let gates = plan("busy", &[("arrivals", "trace".into()), ("trace", name.into())]).gates;
    assert!(gates.iter().filter(|gate| gate.name == "cipher").all(|gate| gate.toll.is_none()), "{gates:?}");
    // And it is played: 39 requests in 39 seconds are few, so the rate is another.
    let axes = [("arrivals", "trace".into()), ("trace", name.into()), ("rate", 5000.into())];
    let (_, tally) = played("busy", &axes);
    let (done, bytes) = (tally.counters["operations"], tally.counters["bytes"]);
    assert!(bytes > 16 * done && bytes < 640 * done, "{bytes} bytes of {done}");
}

#[test]
fn dev_crypto_is_tried_where_there_is_one_and_named_as_missing_elsewhere() {
    let axes = [("size", 131_072.into()), ("cipher", "aes-256-ctr".into())];
    match DevCrypto::check(Path::new("/")) {
        Ok(()) => {
            played("dev-crypto", &axes);
        }
        Err(missing) => {
            let error = play("dev-crypto", &axes).unwrap_err();
            assert!(matches!(&error, Error::Missing(told) if *told == missing), "{error}");
            skip_test(&["dev-crypto"], &missing);
        }
    }
}

/// By its own name the driver that the kernel takes does the same; another's name is refused with those there are.
#[test]
fn a_driver_is_asked_by_its_name() {
    if let Err(missing) = AfAlg::check() {
        return skip_test(&["af-alg"], &missing);
    }
    for (algorithm, cipher) in [("cbc(aes)", "aes-128-cbc"), ("ctr(aes)", "aes-128-ctr")] {
        let own = own(algorithm).unwrap();
        played("af-alg", &[("driver", own.name.as_str().into()), ("cipher", cipher.into())]);
    }
    let other = own("ctr(aes)").unwrap().name;
    let error = play("af-alg", &[("driver", other.as_str().into())]).unwrap_err();
    assert!(matches!(&error, Error::Missing(told) if told.reason.contains("does ctr(aes)")), "{error}");
}

/// As the kernel counts them, for a request of a closed loop. Who is displaced before it sleeps may find that it need not, as a card is by
/// the tenant that it calls where both share a core: so there are fewer where others have the processors.
#[test]
fn who_sleeps_for_each_request_is_switched_away_from_once_and_who_looks_never() {
    let per_request = |name: &str, axes: &[(&str, Value)]| {
        let (_, tally) = played_for_long(name, axes);
        let of = |counter: &str| tally.counters[counter] as f64 / tally.counters["operations"] as f64;
        let card = [of("card_switches_waiting"), of("card_switches_displaced")];
        ([of("tenant_switches_waiting"), of("tenant_switches_displaced")], card)
    };
    let tried = |name: &str, axes: &[(&str, Value)], fits: fn([f64; 2], [f64; 2]) -> bool| {
        let (tenant, card) = per_request(name, axes);
        assert!(fits(tenant, card), "{name}: {tenant:?} and {card:?}");
    };
    tried("interrupt", &[("size", 16_384.into())], |tenant, card| {
        // For what is on its way when the window ends it sleeps again and again, for a millisecond at most.
        let (least, most) = if is_quiet() { (0.9, 1.1) } else { (0.1, 1.9) };
        (least..most).contains(&tenant[0]) && (least / 2.0..2.5).contains(&(card[0] + card[1]))
    });
    tried("interrupt", &[("size", 16_384.into()), ("tasks", 2.into())], |tenant, _| {
        (0.1..if is_quiet() { 1.1 } else { 1.9 }).contains(&tenant[0])
    });
    tried("busy", &[("size", 16_384.into()), ("card", "awake".into())], |tenant, card| {
        tenant[0] < 0.01 && card[0] < 0.01
    });
}

#[test]
fn each_class_is_counted_apart() {
    for order in ["rank", "arrival", "fair"] {
        let classes = if order == "fair" { "8,1" } else { "0,1" };
        let axes = [("order", order.into()), ("classes", classes.into()), ("tenants", 3.into())];
        let (spread, tally) = played("interrupt", &axes);
        let of =
            |class: &str| ["requests", "ticks"].map(|what| tally.counters[&format!("class_{class}_{what}")]);
        let [first, others] = [of(&classes[..1]), of("1")];
        // What was recorded is of the one or the others.
        assert_eq!(
            [first[0] + others[0], first[1] + others[1]],
            [spread.ops, spread.ticks],
            "{order}: {tally:?}"
        );
        assert!(first[0] > 0 && others[0] > 0, "{order}: {tally:?}");
    }
    // The laboratory joins what they recorded by these.
    let classes = |axes: &[(&str, Value)]| {
        plan("interrupt", axes).roles.into_iter().find(|role| role.measured).unwrap().classes
    };
    let some = [("order", "rank".into()), ("classes", "0,1".into()), ("tenants", 3.into())];
    assert_eq!(classes(&some), ["0", "1", "1"]);
    assert!(classes(&[("tenants", 3.into())]).is_empty());
    let (_, tally) = played("interrupt", &[("tenants", 2.into())]);
    assert!(!tally.counters.keys().any(|name| name.starts_with("class_")));
}

/// Three tenants that each keep the card busy: the one with the first rank waits for itself alone.
#[test]
fn the_first_rank_is_served_before_the_others() {
    let axes = [
        ("order", "rank".into()),
        ("classes", "0,1".into()),
        ("tenants", 3.into()),
        ("depth", 64.into()),
        ("size", 16_384.into()),
    ];
    let (_, tally) = played_for_long("epoll", &axes);
    let mean = |class: u8| {
        let of = |what: &str| tally.counters[&format!("class_{class}_{what}")] as f64;
        of("ticks") / of("requests")
    };
    // While the first tenant waits for a processor the others are served: in which order is told by `orders`, by no time.
    assert!(mean(0) < 0.8 * mean(1) || !is_quiet(), "{} and {}", mean(0), mean(1));
}

#[test]
fn what_cannot_be_is_refused() {
    for (name, axes, place) in [
        ("interrupt", vec![("size", Value::from(17))], "axis `size`"),
        ("coalesced", vec![("count", 0.into()), ("hold", 0.into())], "axes `count` and `hold`"),
        ("coalesced", vec![("count", 8.into()), ("hold", 0.into()), ("depth", 7.into())], "a task has 7"),
        ("capped", vec![("cap", 0.into())], "axis `cap`"),
        ("busy", vec![("mix", "64".into())], "axis `mix`"),
        ("busy", vec![("mix", 64.into())], "it takes a text: BYTES:WEIGHT"),
        ("busy", vec![("classes", "1,2".into())], "axis `classes`"),
        ("busy", vec![("trace", "x.csv".into())], "axis `trace`"),
        ("busy", vec![("arrivals", "trace".into()), ("mix", "64:1".into())], "axes `mix` and `trace`"),
        (
            "busy",
            vec![("arrivals", "trace".into()), ("trace", "Cargo.toml".into())],
            "trace Cargo.toml, header: ",
        ),
        ("af-alg", vec![("driver", "card".into())], "axis `driver`, value `card`"),
        ("af-alg", vec![("driver", "virtio".into())], "axis `driver`, value `virtio`"),
        ("af-alg", vec![("driver", "two words".into())], "no driver has such a name"),
        ("af-alg", vec![("driver", "x".repeat(64).as_str().into())], "no driver has such a name"),
        ("af-alg", vec![("driver", "kernel".into()), ("spin", 5.into())], "axis `spin`"),
        ("af-alg", vec![("driver", "qat_aes_cbc".into()), ("spin", 5.into())], "axis `spin`"),
    ] {
        let error = play(name, &axes).unwrap_err().to_string();
        assert!(error.contains(place), "{name}: {error}");
    }
}
