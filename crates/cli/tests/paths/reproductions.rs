//! `tollway reproduce` and `tollway capture profile`: real presets, real verdicts, a page of each.

use std::fs;

use crate::program::turn::turn;
use crate::program::{Bench, SHORT, checked};
use serde_json::Value;

fn verdicts(text: &str) -> Vec<(String, String)> {
    let document: Value = serde_json::from_str(text).unwrap();
    let claims = document["paths"][0]["claims"].as_array().unwrap();
    let text = |claim: &Value, field: &str| claim[field].as_str().unwrap().to_string();
    claims.iter().map(|c| (text(c, "id"), text(c, "verdict"))).collect()
}

#[test]
fn claims_are_measured_judged_and_written_down() {
    let _turn = turn();
    let bench = Bench::with(SHORT);
    let page = bench.file("R.md");
    let page = page.to_str().unwrap();
    let claims = ["capture.batched-read", "capture.driver-is-half-of-the-rest"];
    let measured = ["reproduce", claims[0], claims[1], "--runs", "4", "--json", "--page", page];
    let (out, _) = checked(&bench.tollway(&measured).output().unwrap(), 0);
    // A read of 256 KiB would have to cost 32,500 cycles.
    let expected = [(claims[0], "reproduced"), (claims[1], "not-testable")];
    let expected: Vec<(String, String)> =
        expected.iter().map(|(id, verdict)| (id.to_string(), verdict.to_string())).rev().collect();
    let mut found = verdicts(&out);
    found.sort_by_key(|(id, _)| id.len());
    found.reverse();
    assert_eq!(found, expected);
    let written = fs::read_to_string(page).unwrap();
    assert!(written.starts_with("# Reproduction\n") && written.contains("not testable here"), "{written}");

    // Of the store, with the other claims that the run can judge, and no more.
    let (again, _) =
        checked(&bench.tollway(&["reproduce", "--of", "1", "--page", page, "--json"]).output().unwrap(), 0);
    let again = verdicts(&again);
    let judged = |id: &str| again.iter().any(|(found, _)| found == id);
    assert!(judged(claims[0]) && judged("capture.read-call"), "{again:?}");
    assert!(!judged("capture.jit-21"), "{again:?}");
}

#[test]
fn what_cannot_be_reproduced_is_refused_with_the_remedy() {
    let bench = Bench::with(SHORT);
    let refused = |arguments: &[&str], says: &[&str]| {
        let (_, err) = checked(&bench.tollway(arguments).output().unwrap(), 2);
        for word in says {
            assert!(err.contains(word), "{arguments:?} does not say `{word}`:\n{err}");
        }
    };
    refused(&["reproduce", "capture.nonsense"], &["`capture.nonsense`", "capture.timestamp"]);
    refused(&["reproduce", "null"], &["`null`", "capture."]);
    refused(&["reproduce", "capture.driver-is-half-of-the-rest"], &["none of them can be tested"]);
    checked(&bench.tollway(&["measure", "null", "--runs", "2"]).output().unwrap(), 0);
    refused(&["reproduce", "--of", "1"], &["run 1", "nothing was measured there that a claim"]);
    let (out, _) = checked(&bench.tollway(&["list", "claims"]).output().unwrap(), 0);
    assert!(out.contains("capture.timestamp") && out.contains("not testable: there is no adapter"), "{out}");
}

#[test]
fn a_profile_is_drawn_sampled_and_written() {
    let bench = Bench::with(SHORT);
    let page = bench.file("profile.html");
    let arguments = [
        "capture",
        "profile",
        "--runs",
        "3",
        "--samples",
        "10000",
        "--page",
        page.to_str().unwrap(),
        "batch=16384",
    ];
    let (out, _) = checked(&bench.tollway(&arguments).output().unwrap(), 0);
    for part in
        ["Where the cycles go", "Bill of capture before", "sampled while it ran", "read: the call + copy 2"]
    {
        assert!(out.contains(part), "`{part}` is not in\n{out}");
    }
    let html = fs::read_to_string(&page).unwrap();
    assert!(html.contains("class=\"bill\"") && html.contains("Sampled while it ran"));
    let (_, err) =
        checked(&bench.tollway(&["capture", "profile", "--design", "sideways"]).output().unwrap(), 2);
    assert!(err.contains("`sideways`") && err.contains("tollway list capture"), "{err}");
    let (_, err) = checked(&bench.tollway(&["capture", "profile", "size"]).output().unwrap(), 2);
    assert!(err.contains("AXIS=VALUE"), "{err}");
}

#[test]
fn a_page_of_some_claims_leaves_that_of_all_alone() {
    let bench = Bench::with(SHORT);
    let page = bench.file("REPRODUCTION.md");
    fs::write(&page, "all").unwrap();
    let (out, _) =
        checked(&bench.tollway(&["reproduce", "capture.batched-read", "--runs", "2"]).output().unwrap(), 0);
    assert!(out.contains("capture.batched-read") && !out.contains("REPRODUCTION.md"), "{out}");
    assert_eq!(fs::read_to_string(&page).unwrap(), "all");
    let (_, err) = checked(&bench.tollway(&["reproduce", "--of", "999"]).output().unwrap(), 1);
    assert!(err.contains("999") && !err.contains("nothing was measured"), "{err}");
}
