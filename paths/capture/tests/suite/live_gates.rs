//! The gates of live capture alone: each does what it is timed for, in every kind, and each gate of a live variant finds
//! the variant that measures its toll.

use tollway_core::{Axis, Params, Role, TollKey, Value};

use crate::live_trial::{Trial, can_run, params, play_until, word};
use crate::quiet::is_quiet;

const SOURCES: [&str; 5] = ["recv", "recvmmsg", "tpacket-v2", "tpacket-v3", "af-xdp"];
const LIVE: [(&str, &str); 5] = [
    ("live-recv", "recv"),
    ("live-recvmmsg", "recvmmsg"),
    ("live-v2", "tpacket-v2"),
    ("live-v3", "tpacket-v3"),
    ("live-xdp", "af-xdp"),
];

#[test]
fn frames_that_lie_ready_are_taken_and_a_look_that_finds_none_is_cheaper() {
    if !can_run() {
        return;
    }
    for source in SOURCES {
        let take = |buffer: &str, size: u64, depth: u64| {
            let settings = [
                ("kind", word(&format!("{source}-{buffer}"))),
                ("size", Value::Int(size)),
                ("depth", Value::Int(depth)),
            ];
            play_until("packet-take", 20.0, &settings, |trial| trial.spread.ops >= depth)
        };
        let many = take("16MiB", 60, 1024);
        assert!(many.spread.ops.is_multiple_of(1024), "{source}");
        assert!(many.count("sent") >= many.spread.ops && many.cost() > 1.0, "{source}");
        let one = take("16MiB", 60, 1);
        let nothing = take("16MiB", 60, 0);
        assert!(nothing.spread.ops >= 256, "{source}");
        if is_quiet() {
            // A frame after a sleep has nobody to share with.
            assert!(one.cost() > many.cost() && nothing.cost() < one.cost(), "{source}");
        }
        take("64KiB", 1514, 8);
    }
}

#[test]
fn a_wait_that_sleeps_slept_and_costs_more_than_one_that_need_not() {
    if !can_run() {
        return;
    }
    let wait =
        |kind: &str| play_until("packet-wait", 20.0, &[("kind", word(kind))], |trial| trial.spread.ops > 0);
    for source in SOURCES {
        let (asleep, ready) = (wait(&format!("{source}-asleep-100us")), wait(&format!("{source}-ready")));
        assert!(asleep.count("sent") >= asleep.spread.ops, "{source}: a frame wakes it each time");
        assert!(!is_quiet() || asleep.cost() > ready.cost(), "{source}: a sleep costs nothing");
    }
    wait("nap-64KiB");
    wait("nap-16MiB");
}

#[test]
fn what_is_sent_arrives_where_a_socket_hears_it() {
    if !can_run() {
        return;
    }
    for kind in
        ["none", "recv-16MiB", "recvmmsg-1MiB", "tpacket-v2-16MiB", "tpacket-v3-16MiB", "af-xdp-16MiB"]
    {
        let settings = [("kind", word(kind)), ("depth", Value::Int(128))];
        let trial = play_until("packet-send", 20.0, &settings, |trial| trial.spread.ops >= 128);
        assert!(trial.count("sent") >= trial.spread.ops, "{kind}");
        assert!(trial.cost() > 100.0, "{kind}: a system call's share at the least: {}", trial.cost());
    }
}

#[test]
fn waits_that_slept_naps_and_frames_are_counted_apart() {
    if !can_run() {
        return;
    }
    for (variant, _) in LIVE {
        let of = |trial: &Trial, gate: &str| trial.visits[gate];
        let slept = |trial: &Trial| of(trial, "wait: sleep and wake-up") + of(trial, "nap for more");
        let trial = |rate: u64, immediate: &str| {
            let settings = [("rate", Value::Int(rate)), ("immediate", word(immediate))];
            let first = |trial: &Trial| of(trial, "read: first frame after sleep");
            play_until(variant, 60.0, &settings, |trial| trial.count("operations") > 0 && first(trial) > 0)
        };
        let (alone, together) = (trial(2_000, "yes"), trial(148_809, "no"));
        assert_eq!(of(&alone, "nap for more"), 0, "{variant}");
        let waits_in_kernel = variant == "live-v3";
        assert!(of(&together, "nap for more") == 0 || !waits_in_kernel, "{variant} naps");
        for trial in [&alone, &together] {
            let first = of(trial, "read: first frame after sleep");
            assert_eq!(first + of(trial, "read: further frames"), trial.count("operations"), "{variant}");
            assert!(first <= slept(trial), "{variant}");
        }
        if is_quiet() {
            // At 2000 a second it sleeps for each of them, or for each block.
            let [alone_a_packet, together_a_packet] =
                [&alone, &together].map(|trial| slept(trial) as f64 / trial.count("operations") as f64);
            assert!(slept(&alone) <= alone.count("operations") + 64, "{variant}: {alone_a_packet}");
            assert!(
                slept(&together) > 0 && together_a_packet < 0.1_f64.min(0.5 * alone_a_packet),
                "{variant}"
            );
        }
    }
}

/// The point at which a variant of this path measures that toll: as the laboratory finds it.
fn measures(key: &TollKey) -> Option<TollKey> {
    let path = tollway_capture::path();
    let variant = path.variant(key.crossing.name()).ok()?;
    let of = |axis: &Axis| match axis.name {
        "kind" => key.kind.clone().map(Value::Text),
        "size" => key.size.map(Value::Int),
        "depth" => key.depth.map(|depth| Value::Int(depth.into())),
        _ => None,
    };
    let mut params = Params::new();
    let axes = variant.axes();
    axes.iter()
        .filter_map(|axis| Some((axis.name, of(axis)?)))
        .for_each(|(name, value)| params.set(name, value));
    variant.plan(&params.complete(&axes).ok()?).ok()?.provides
}

#[test]
fn every_toll_of_a_live_variant_is_measured_by_a_variant() {
    let path = tollway_capture::path();
    for (variant, source) in LIVE {
        for buffer in ["64KiB", "256KiB", "1MiB", "4MiB", "16MiB", "64MiB"] {
            for (size, filter, work, immediate) in
                [(60, "none", 0, "no"), (1514, "ports", 0, "yes"), (300, "ip", 1000, "no")]
            {
                let settings = [
                    ("buffer", word(buffer)),
                    ("size", Value::Int(size)),
                    ("filter", word(filter)),
                    ("where", word("user")),
                    ("work", Value::Int(work)),
                    ("immediate", word(immediate)),
                ];
                let variant = path.variant(variant).unwrap();
                let plan = variant.plan(&params(variant.name(), &settings).unwrap()).unwrap();
                let mut keys = plan.gates.iter().flat_map(|gate| gate.toll.iter().chain(&gate.less));
                assert!(
                    keys.all(|key| measures(key).as_ref() == Some(key)),
                    "{} {:?}",
                    variant.name(),
                    plan.gates
                );
                let payer = |role: &Role| plan.gates.iter().any(|g| g.role == role.name && !g.apart);
                assert!(plan.roles.iter().all(|role| payer(role) == role.measured), "{source}");
                let alone = |gate: &&tollway_core::Gate| !gate.apart;
                assert!(
                    plan.gates.iter().filter(alone).all(|g| g.toll.is_some() && !g.knock_out),
                    "{source}"
                );
            }
        }
    }
}

#[test]
fn what_was_not_done_is_not_verified() {
    let path = tollway_capture::path();
    for name in ["packet-take", "packet-wait", "packet-send", "packet-check", "packet-work"] {
        let variant = path.variant(name).unwrap();
        let params = params(name, &[]).unwrap();
        for role in variant.plan(&params).unwrap().roles.iter().filter(|role| role.measured) {
            assert!(variant.actor(&role.name, &params).unwrap().verify().is_err(), "{name}");
        }
    }
}

#[test]
fn frames_that_find_no_room_are_refused_with_a_remedy() {
    let path = tollway_capture::path();
    let refused = |name: &str, kind: &str, depth: u64| {
        let variant = path.variant(name).unwrap();
        let params = params(name, &[("kind", word(kind)), ("depth", Value::Int(depth))]).unwrap();
        variant.plan(&params).unwrap_err().to_string()
    };
    assert!(refused("packet-take", "recv-64KiB", 17).contains("take 16 or fewer"));
    assert!(refused("packet-send", "none", 0).contains("take 1 or more"));
}

#[test]
fn the_toll_of_a_wait_is_that_of_a_sleep_about_as_long() {
    let path = tollway_capture::path();
    for (variant, rate, immediate, kind) in [
        ("live-recv", 148_809, "no", "recv-asleep-10us"),
        ("live-recv", 0, "no", "recv-asleep-10us"),
        ("live-xdp", 900, "yes", "af-xdp-asleep-1ms"),
        ("live-v2", 1, "yes", "tpacket-v2-asleep-10ms"),
        ("live-v3", 148_809, "no", "tpacket-v3-asleep-10ms"),
        ("live-v3", 148_809, "yes", "tpacket-v3-asleep-1ms"),
    ] {
        let settings = [("rate", Value::Int(rate)), ("immediate", word(immediate))];
        let variant = path.variant(variant).unwrap();
        let plan = variant.plan(&params(variant.name(), &settings).unwrap()).unwrap();
        let wait = plan.gates.iter().find(|gate| gate.name == "wait: sleep and wake-up").unwrap();
        assert_eq!(wait.toll.as_ref().unwrap().kind.as_deref(), Some(kind));
    }
}
