//! The live variants, each with its two actors in threads of this process: what was sent is accounted for to the frame,
//! with filters wherever they run, and when the application is too slow.

use tollway_core::{Address, Lot, Place, TenantKind, Value};

use crate::live_trial::{Trial, can_run, params, play, play_until, word};
use crate::quiet::is_quiet;

const VARIANTS: [&str; 5] = ["live-recv", "live-recvmmsg", "live-v2", "live-v3", "live-xdp"];

fn packets_a_read(trial: &Trial) -> f64 {
    trial.count("operations") as f64 / trial.count("reads") as f64
}

#[test]
fn every_variant_accounts_for_every_frame() {
    if !can_run() {
        return;
    }
    for variant in VARIANTS {
        for (rate, immediate) in [(148_809, "no"), (20_000, "yes"), (0, "no")] {
            let settings = [("rate", Value::Int(rate)), ("immediate", word(immediate))];
            let trial = play_until(variant, 50.0, &settings, |trial| trial.spread.ops > 0);
            // With the time to warm up.
            let expected = rate as f64 * (trial.milliseconds + 10.0) / 1e3;
            let (sent, delivered) = (trial.count("sent"), trial.count("delivered"));
            assert!(delivered > 0 && delivered <= sent && trial.count("reads") > 0, "{variant}");
            assert!((1..=delivered).contains(&trial.spread.ops) && trial.cost() > 1.0, "{variant}");
            assert_eq!(
                trial.count("operations"),
                trial.spread.ops,
                "{variant}: visits are of what was recorded"
            );
            assert!(rate == 0 || (sent as f64) < 1.1 * expected, "{variant}: {sent}");
        }
    }
}

#[test]
fn a_window_that_is_too_short_for_a_sample_has_one() {
    if !can_run() {
        return;
    }
    for variant in VARIANTS {
        // Some 20 frames; a sample has 64.
        let trial = play(variant, 400.0, &[("rate", Value::Int(50))]).unwrap();
        assert!((1..64).contains(&trial.count("delivered")), "{variant}");
        assert_eq!((trial.spread.samples(), trial.spread.ops), (1, trial.count("delivered")), "{variant}");
    }
}

#[test]
fn filters_are_accounted_for_wherever_they_run() {
    if !can_run() {
        return;
    }
    for variant in VARIANTS {
        for place in ["user", "kernel", "both"] {
            for (filter, share, size) in [("ports", 100, 60), ("addresses", 30, 300), ("ip", 50, 1514)] {
                let settings = [
                    ("filter", word(filter)),
                    ("where", word(place)),
                    ("share", Value::Int(share)),
                    ("size", Value::Int(size)),
                    ("rate", Value::Int(50_000)),
                ];
                if variant == "live-xdp" && place != "user" {
                    assert!(params(variant, &settings).is_err());
                    continue;
                }
                // Enough for what is drawn to come near its share.
                let trial = play_until(variant, 20.0, &settings, |trial| trial.count("operations") > 100);
                let (delivered, refused) = (trial.count("delivered"), trial.count("filtered_out"));
                assert_eq!(refused > 0, share < 100, "{variant} {place} {filter}");
                let passed = trial.visits.get("filter").copied();
                // Visits are those of the packets that were recorded.
                let recorded = trial.count("operations");
                match place {
                    "user" => {
                        let a_packet = (delivered + refused) as f64 / delivered as f64;
                        let ratio = passed.unwrap() as f64 / recorded as f64 / a_packet;
                        assert!((0.5..2.0).contains(&ratio), "{variant}: {ratio}");
                        assert!(passed.unwrap() >= recorded, "{variant}");
                    }
                    "kernel" => assert_eq!(passed, None, "{variant}"),
                    _ => assert_eq!(passed, Some(recorded), "{variant}"),
                }
            }
        }
    }
}

#[test]
fn what_is_cut_and_what_is_long_arrives_as_it_should() {
    if !can_run() {
        return;
    }
    for variant in VARIANTS {
        for (size, snapshot) in [(1514, 262_144), (1514, 98), (60, 14)] {
            let settings = [
                ("size", Value::Int(size)),
                ("snapshot", Value::Int(snapshot)),
                ("rate", Value::Int(50_000)),
            ];
            play_until(variant, 20.0, &settings, |trial| trial.count("delivered") > 0);
        }
    }
}

#[test]
fn an_application_that_is_too_slow_reads_more_at_once_then_drops_and_still_balances() {
    if !can_run() {
        return;
    }
    let trial = |variant: &str, rate: u64, buffer: &str, work: u64, is_good: &dyn Fn(&Trial) -> bool| {
        let settings = [
            ("immediate", word("yes")),
            ("buffer", word(buffer)),
            ("work", Value::Int(work)),
            ("rate", Value::Int(rate)),
        ];
        play_until(variant, 50.0, &settings, is_good)
    };
    for variant in ["live-v2", "live-v3", "live-recv"] {
        let slow = trial(variant, 100_000, "256KiB", 100_000, &|slow| {
            slow.count("dropped") > slow.count("sent") / 4
        });
        assert!(slow.cost() > 60_000.0, "{variant}");
    }
    // A block of TPACKET_V3 is read when its time is up, however fast the application.
    for variant in ["live-v2", "live-recv"] {
        let slow = trial(variant, 20_000, "64KiB", 400_000, &|slow| slow.count("dropped") > 0);
        assert!(packets_a_read(&slow) > 2.0, "{variant}");
        if is_quiet() {
            let fast = trial(variant, 20_000, "64KiB", 0, &|fast| fast.count("delivered") > 0);
            assert!(packets_a_read(&slow) > 2.0 * packets_a_read(&fast), "{variant}");
        }
    }
}

#[test]
fn settings_that_do_not_go_together_are_refused_with_a_remedy() {
    let path = tollway_capture::path();
    let refused = |settings: &[(&str, Value)]| {
        let variant = path.variant("live-v3").unwrap();
        variant.plan(&params("live-v3", settings).unwrap()).unwrap_err().to_string()
    };
    assert!(refused(&[("share", Value::Int(50))]).contains("choose a `filter`"));
    let half_of_ip = [("share", Value::Int(50)), ("filter", word("ip"))];
    assert!(refused(&half_of_ip).contains("`size` 76"));
    assert!(refused(&[("share", Value::Int(0)), ("filter", word("ip"))]).contains("1 to 100"));
}

#[test]
fn a_generator_without_a_capture_says_so() {
    let path = tollway_capture::path();
    let variant = path.variant("live-v3").unwrap();
    let params = params("live-v3", &[]).unwrap();
    let mut generator = variant.actor("generator", &params).unwrap();
    let place = |address: &str| Place {
        tenant: TenantKind::Process,
        peers: vec![Address(address.into())],
        doorbells: Vec::new(),
        exits: None,
        lot: Lot::default(),
    };
    for (address, says) in
        [("", "no address"), ("1 2", "no address"), ("4294967295 3 4", "/proc/4294967295/fd/3")]
    {
        let error = generator.ready(&place(address)).unwrap_err().to_string();
        assert!(error.contains(says), "{address}: {error}");
    }
    assert!(variant.actor("tap", &params).err().unwrap().to_string().contains("capture, generator"));
}

#[test]
fn an_application_that_stops_now_and_then_needs_the_memory_for_it() {
    if !can_run() {
        return;
    }
    // One stall of 50 ms in a window of 500: 5,000 frames, for which 256 KiB have no room and 16 MiB have.
    let trial = |buffer: &str, is_long_enough: &dyn Fn(&Trial) -> bool| {
        let settings = [
            ("buffer", word(buffer)),
            ("stall", Value::Int(50)),
            ("rate", Value::Int(100_000)),
            ("patience", Value::Int(1)),
        ];
        let stalls = |trial: &Trial| trial.count("longest_between_reads_ns") >= 50_000_000;
        play_until("live-v2", 500.0, &settings, |trial| stalls(trial) && is_long_enough(trial))
    };
    let small = trial("256KiB", &|small| small.count("dropped") > 0);
    let large = trial("16MiB", &|large| large.count("delivered") > 0);
    let share = |trial: &Trial| trial.count("dropped") as f64 / trial.count("sent") as f64;
    assert!(share(&large) < share(&small), "{} of {}", share(&large), share(&small));
    if is_quiet() {
        assert!(share(&large) < share(&small) / 2.0, "{} of {}", share(&large), share(&small));
        assert!(small.count("dropped") > 3_000);
        // It sleeps: the packets cost no more for it.
        assert!(large.cost() < 10_000.0);
        assert!(large.count("read_late") < large.count("delivered") / 10);
    }
}
