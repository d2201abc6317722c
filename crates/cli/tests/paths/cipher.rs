//! The path `cipher` through the laboratory: requests by several ways of telling, and the bill of one.

use std::fs;
use std::process::Output;

use crate::eventually::eventually;
use crate::program::turn::turn;
use crate::program::{Bench, SHORT, checked};
use crate::quiet::is_quiet;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tollway_core::{Error, Requirement};
use tollway_host::requirement::{check, skip_test, test_has};
use tollway_tenant::linux::{Boot, vhost_user_crypto};

/// What most need: a core for the card, and one for its tenants.
const CORES: &[(Requirement, &str)] = &[(Requirement::Cores(2), "cores")];

/// The bill of a request of 64 bytes, by a way of telling. Only who judges how near it comes needs more than short windows.
fn bill(bench: &Bench, way: &str, planted: &str) -> Value {
    let time = if is_quiet() { "30" } else { "5" };
    let arguments = ["bill", "cipher", "--json", "--variant", way, "--time", time, "size=64", planted];
    let output = bench.tollway(&arguments).output().unwrap();
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let bill = document["bills"][0].clone();
    let gates = match way {
        "busy" => 9,
        "periodic" => 10,
        "capped" => 14,
        _ => 13,
    };
    assert!(bill["gates"].as_array().is_some_and(|all| all.len() == gates), "{document}");
    bill
}

fn estimate(bill: &Value, what: &str) -> f64 {
    bill[what]["ticks"]["estimate"].as_f64().unwrap_or_else(|| panic!("{what}: {bill}"))
}

/// Fails where a bill leaves more than this part of the whole unexplained, on a machine that has nothing else to do.
fn is_explained(bench: &Bench, way: &str, most: f64) {
    let bill = bill(bench, way, "planted=0");
    let off = estimate(&bill, "unexplained") / estimate(&bill, "measured");
    assert!(!is_quiet() || off.abs() < most, "{way}: {off}");
}

/// At low load the gates come to within a fifth of the work of all, beside other tests; alone and with more trials, to within a tenth
/// (README of the path).
#[test]
fn the_gates_of_a_request_explain_it() {
    if !test_has(CORES) {
        return;
    }
    let _turn = turn();
    is_explained(&Bench::with(SHORT), "interrupt", 0.2);
}

/// So they do where the card sets itself a deadline, where the tenant does, and where it looks.
/// If each wait of the card were charged as a sleep, it would be at twice the work where its tenant looks.
#[test]
fn the_gates_explain_a_request_however_it_is_told() {
    if !test_has(CORES) {
        return;
    }
    let _turn = turn();
    let bench = Bench::with(SHORT);
    for way in ["capped", "periodic", "hybrid", "busy"] {
        is_explained(&bench, way, 0.25);
    }
}

/// Many times what a request costs, which no gate owns: it is unexplained, and about as long as it is.
#[test]
fn a_planted_delay_is_unexplained() {
    if !test_has(CORES) {
        return;
    }
    let _turn = turn();
    let rest = estimate(&bill(&Bench::with(SHORT), "interrupt", "planted=2000000"), "unexplained") / 2e6;
    assert!((0.7..1.4).contains(&rest), "{rest:?}");
}

/// A tenant that is interrupted for each request sleeps once for each, unless other programs have the cores and the request is done
/// first; a tenant that polls never sleeps. Counted, not computed.
#[test]
fn crossings_are_counted_by_the_way_of_telling() {
    if !test_has(CORES) {
        return;
    }
    let bench = Bench::with(
        "[preset]\nname = \"short\"\npath = \"cipher\"\n\
         [trial]\nwindow_ms = 40.0\nwarmup_ms = 5.0\nruns = 3\nrepeats = 1\n\
         [[case]]\nvariant = [\"interrupt\", \"busy\"]\nsize = 64\n\
         [[case]]\nvariant = \"coalesced\"\nsize = 64\ndepth = 8\ncount = 8\nhold = 0\n",
    );
    let (out, _) = bench.ends(&["measure", "--preset-file", "short.toml", "--json"], 0);
    let document: Value = serde_json::from_str(&out).unwrap();
    let of = |variant: &str, counter: &str| {
        let points = document["points"].as_array().unwrap();
        let point = points.iter().find(|point| point["variant"] == variant).unwrap();
        let count =
            |name: &str| point["counters"][name].as_f64().unwrap_or_else(|| panic!("{name}: {point}"));
        (count(counter), count("operations"))
    };
    // An operation at either edge of a window may be counted in part: there are few where others have the cores.
    let edges = 6.0;
    let least = if is_quiet() { 0.95 } else { 0.1 };
    let (sleeps, wakes) = (of("interrupt", "sleeps").0, of("interrupt", "wakes").0);
    for (counter, is_certain) in [("sleeps", is_quiet()), ("wakes", true), ("card_interrupts", true)] {
        let (count, operations) = of("interrupt", counter);
        // For what is on its way when the window ends it sleeps again and again, for a millisecond at most.
        let most = if is_certain { 1.05 * operations + edges } else { f64::INFINITY };
        let expected = least * operations - edges..most;
        assert!(count > 0.0 && expected.contains(&count), "{counter}: {count} in {operations}");
    }
    assert!(wakes <= sleeps, "{wakes} of {sleeps}");
    assert_eq!(of("busy", "sleeps").0, 0.0);
    // Eight are told together.
    let (count, operations) = of("coalesced", "card_interrupts");
    assert!(
        (0.115 * operations - edges..0.14 * operations + edges).contains(&count),
        "{count} in {operations}"
    );
}

/// A bench that measures cases with Linux guests.
fn with_guests(cases: &str) -> Bench {
    Bench::with(&format!(
        "[preset]\nname = \"short\"\npath = \"cipher\"\n\
         [trial]\nwindow_ms = 50.0\nwarmup_ms = 10.0\nruns = 3\nrepeats = 2\n{cases}"
    ))
}

/// A guest by QEMU's own back end and one by the card, in turns.
const GUESTS: &str = r#"
[[case]]
variant = "af-alg"
tenant  = "linux-guest"
driver  = ["virtio", "card"]
size    = [64, 65536]
"#;

/// Measures the guests, while something is done to those who take part: every request's result is the library's.
fn in_guests(disturb: impl FnOnce(&Bench)) {
    match Boot::prepare(Some(tollway_agent::BUILD)) {
        Err(Error::Missing(missing)) => return skip_test(&["qemu", "qemu8"], &missing),
        Err(error) => panic!("{error}"),
        Ok(boot) => {
            if let Err(missing) = vhost_user_crypto(&boot.found().qemu) {
                return skip_test(&["qemu8"], &missing);
            }
        }
    }
    let _turn = turn();
    let bench = with_guests(GUESTS);
    let running = bench.tollway(&["measure", "--preset-file", "short.toml", "--json"]).spawn().unwrap();
    disturb(&bench);
    let output: Output = running.wait_with_output().unwrap();
    let (out, err) = checked(&output, 0);
    let document: Value = serde_json::from_str(&out).unwrap();
    let points = document["points"].as_array().unwrap();
    assert_eq!(points.len(), 4);
    for point in points {
        assert_eq!(point["trials"], 6, "{err}\n{point}");
        assert!(point["counters"]["operations"].as_f64().is_some_and(|done| done >= 6.0), "{point}");
    }
    bench.nothing_stays_behind();
}

#[test]
fn a_guest_has_the_card_for_a_device_as_another_has_qemus() {
    in_guests(|_| {});
}

/// The card of a guest is killed: the guest waits in vain, and the point is played again, by another card in another guest.
#[test]
fn a_guests_card_that_dies_is_replaced_with_its_guest() {
    in_guests(|bench| {
        // A thread has the name of the role that it plays.
        let is_card = |pid: &String| {
            fs::read_dir(format!("/proc/{pid}/task")).is_ok_and(|tasks| {
                tasks.flatten().any(|task| {
                    fs::read_to_string(task.path().join("comm")).is_ok_and(|name| name.trim_end() == "card")
                })
            })
        };
        let card = || bench.processes().into_iter().find(is_card);
        eventually("it begins", || bench.trials().len() >= 3);
        let mut killed = None;
        eventually("a card is killed", || {
            // It may end by itself meanwhile, with its block.
            killed = card();
            let pid = killed.as_deref().and_then(|pid| Pid::from_raw(pid.parse().unwrap()));
            pid.is_some_and(|pid| kill_process(pid, Signal::KILL).is_ok())
        });
        eventually("another card is started", || card().is_some_and(|other| Some(other) != killed));
    });
}

/// A guest's device by the name of its driver, its kernel's own code, and a driver that nobody has; and here /dev/crypto.
const NAMES: &str = r#"
[[case]]
variant = "af-alg"
tenant  = "linux-guest"
driver  = ["virtio_crypto_aes_cbc", "kernel", "cbc-aes-of-nobody"]
size    = 4096

[[case]]
variant = "dev-crypto"
"#;

#[test]
fn a_guests_drivers_are_measured_by_their_names_and_what_is_not_there_is_skipped() {
    match Boot::prepare(Some(tollway_agent::BUILD)) {
        Err(Error::Missing(missing)) => return skip_test(&["qemu"], &missing),
        Err(error) => panic!("{error}"),
        Ok(_) => {}
    }
    let _turn = turn();
    let bench = with_guests(NAMES);
    let (out, err) = bench.ends(&["measure", "--preset-file", "short.toml", "--json"], 0);
    let document: Value = serde_json::from_str(&out).unwrap();
    let points = document["points"].as_array().unwrap();
    for driver in ["virtio_crypto_aes_cbc", "kernel"] {
        let point = points.iter().find(|point| point["params"]["driver"] == driver).unwrap();
        assert_eq!((&point["state"], &point["trials"]), (&"done".into(), &6.into()), "{err}\n{point}");
    }
    let of_nobody = points.iter().find(|point| point["params"]["driver"] == "cbc-aes-of-nobody").unwrap();
    let reason = of_nobody["skipped"]["reason"].as_str().unwrap_or_else(|| panic!("{of_nobody}"));
    assert!(reason.contains("this kernel has ") && reason.contains("virtio_crypto_aes_cbc"), "{reason}");
    let device = points.iter().find(|point| point["variant"] == "dev-crypto").unwrap();
    let lacks = device["skipped"]["remedy"].as_str().is_some_and(|remedy| remedy.contains("cryptodev"));
    assert!(lacks || device["state"] == "done", "{device}");
    bench.nothing_stays_behind();
}

/// Exits of a tenant in a micro-guest: to ring and to idle, to ring alone, none at all. Counted on both sides, by the actor itself.
#[test]
fn exits_of_a_micro_guest_are_counted_by_the_way_of_telling() {
    if !test_has(CORES) {
        return;
    }
    if let Err(missing) = check(&Requirement::Kvm) {
        return skip_test(&["micro-guest", "kvm"], &missing);
    }
    let bench = Bench::with(
        "[preset]\nname = \"short\"\npath = \"cipher\"\n\
         [trial]\nwindow_ms = 40.0\nwarmup_ms = 5.0\nruns = 3\nrepeats = 1\n\
         [axes]\ntenant = \"micro-guest\"\nsize = 64\n\
         [[case]]\nvariant = [\"interrupt\", \"coalesced\"]\n\
         [[case]]\nvariant = \"busy\"\ntenants = 2\ncard = \"awake\"\n",
    );
    let (out, _) = bench.ends(&["measure", "--preset-file", "short.toml", "--json"], 0);
    let document: Value = serde_json::from_str(&out).unwrap();
    let counts = |variant: &str| {
        let points = document["points"].as_array().unwrap();
        let point = points.iter().find(|point| point["variant"] == variant).unwrap();
        let count =
            |name: &str| point["counters"][name].as_f64().unwrap_or_else(|| panic!("{name}: {point}"));
        assert_eq!(count("operations"), count("card_requests"), "{variant}");
        (count("exits"), count("operations"))
    };
    // Who finds its result when it comes back from ringing need not idle; who was rung for that may idle in vain.
    for variant in ["interrupt", "coalesced"] {
        let (exits, operations) = counts(variant);
        assert!((0.5..=3.0).contains(&(exits / operations)), "{variant}: {exits} of {operations}");
    }
    // Each of two tenants rings once in each of three trials, before the card has said that it looks; hardly ever later. A busy machine
    // leaves them few requests.
    let (exits, operations) = counts("busy");
    assert!(exits < 6.0 + 0.05 * operations, "{exits} of {operations}");
}
