//! The path `entropy` through the laboratory: a curve of many tenants with its frozen predictions, in threads and in
//! micro-guests, and the published chain in a guest with Linux.

use crate::program::Bench;
use crate::program::turn::turn;
use crate::quiet::is_quiet;
use serde_json::Value;
use tollway_core::{CpuFeature, Requirement};
use tollway_host::requirement::{check, skip_test};

fn measured(preset: &str) -> Value {
    let bench = Bench::with(preset);
    let (out, _) = bench.ends(&["measure", "--preset-file", "short.toml", "--json"], 0);
    serde_json::from_str(&out).unwrap()
}

fn preset(window_ms: u32, case: &str) -> String {
    format!(
        "[preset]\nname = \"short\"\npath = \"entropy\"\n\
         [trial]\nwindow_ms = {window_ms}.0\nwarmup_ms = 5.0\nruns = 3\nrepeats = 1\n[[case]]\n{case}"
    )
}

/// A curve of 1, 2 and 6 tenants that draw RDRAND is predicted and measured; and, on a machine that leaves it alone, as predicted.
fn curve(tenant: &str) {
    let _turn = turn();
    let case =
        format!("variant = \"scale\"\nkind = \"rdrand\"\ntenant = \"{tenant}\"\ntenants = [1, 2, 6]\n");
    let document = measured(&preset(100, &case));
    let curves = document["sharing"].as_array().unwrap();
    assert_eq!(curves.len(), 1, "{}", document["points"]);
    let curve = &curves[0];
    assert!(curve["alone"].as_f64().unwrap() > 0.0 && curve["together"].as_f64().unwrap() > 0.0);
    let points = curve["points"].as_array().unwrap();
    assert_eq!(points.iter().map(|p| p["tenants"].as_u64().unwrap()).collect::<Vec<_>>(), [1, 2, 6]);
    for point in points {
        let tenants = point["tenants"].as_u64().unwrap();
        assert_eq!(point["each"].as_array().unwrap().len() as u64, tenants);
    }
    // Predictions were frozen before their points' first trials.
    for point in document["points"].as_array().unwrap().iter().filter(|p| p["variant"] == "scale") {
        assert_eq!(point["prediction"]["of"], "pace", "{point}");
    }
    // With the share of a processor that they got, however busy this machine is, and only a few slices to share.
    for point in points {
        let (error, starved) = (point["error"].as_f64().unwrap(), &point["starved_trials"]);
        assert!(!is_quiet() || error.abs() < 0.5 && *starved == 0, "{point}");
    }
}

fn has_rdrand() -> bool {
    match check(&Requirement::Cpu(CpuFeature::Rdrand)) {
        Ok(()) => true,
        Err(missing) => {
            skip_test(&["rdrand"], &missing);
            false
        }
    }
}

#[test]
fn threads_share_a_generator_as_predicted() {
    if has_rdrand() {
        curve("thread");
    }
}

#[test]
fn micro_guests_share_a_generator_as_predicted() {
    if !has_rdrand() {
        return;
    }
    match check(&Requirement::Kvm) {
        Ok(()) => curve("micro-guest"),
        Err(missing) => skip_test(&["micro-guest", "kvm"], &missing),
    }
}

#[test]
fn a_linux_guest_is_fed_and_read_and_the_blocks_are_good() {
    if let Err(missing) = tollway_tenant::linux::check(Some(tollway_agent::BUILD)) {
        return skip_test(&["qemu"], &missing);
    }
    let kinds = if has_rdrand() { "[\"rdrand-512\", \"hwrng\"]" } else { "\"hwrng\"" };
    let document = measured(&preset(300, &format!("variant = \"guest-chain\"\nkind = {kinds}\n")));
    for point in document["points"].as_array().unwrap() {
        assert_eq!(point["trials"], 3, "{point}");
        let counted = |name: &str| point["counters"][name].as_u64().unwrap();
        // Each operation is 128 bits, those of the warm-up too.
        assert_eq!(counted("bits_credited"), 128 * counted("operations"), "{point}");
        assert!(counted("bits_credited") > 0 && counted("fips_blocks") > 0, "{point}");
        assert!(counted("bytes_read") >= 2500 * counted("fips_blocks"), "{point}");
    }
}
